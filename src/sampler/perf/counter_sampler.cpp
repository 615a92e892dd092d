// SPDX-License-Identifier: MIT
#include "sampler/perf/counter_sampler.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sampler/perf_rings/perf_ring.h"
#include "sampler/proc/perf_event.h"
#include "sampler/proc/proc_file.h"

namespace stallprof {
namespace {

Fd openCounter(const CounterCode& code, pid_t command, bool kernel) {
  perf_event_attr attr{};
  attr.type = code.type;
  attr.config = code.config;
  attr.config1 = code.config1;
  attr.config2 = code.config2;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.inherit = 1;
  attr.exclude_kernel = !kernel;
  attr.exclude_hv = 1;
  return openPerfEvent(attr, command, -1);
}

}  // namespace

bool CounterSampler::open(pid_t command, const std::vector<CounterCode>& codes) {
  asked_ = true;
  int error = ENOENT;
  for (const CounterCode& code : codes) {
    Fd fd = openCounter(code, command, kernel_);
    if (!fd.valid() && (errno == EACCES || errno == EPERM) && kernel_) {
      kernel_ = false;
      fd = openCounter(code, command, kernel_);
    }
    if (fd.valid()) {
      counters_.push_back({code.name, std::move(fd)});
    } else {
      missing_.push_back(code.name);
      if (missing_.size() == 1) error = errno;
    }
  }
  if (counters_.empty()) refuse(error);
  return !counters_.empty();
}

void CounterSampler::refuse(int error) {
  why_ = error == ENOENT || error == ENODEV || error == EOPNOTSUPP
             ? "this CPU shows no counters: a virtual machine needs a virtual PMU for them"
             : perfRefusal(error, "would count them");
}

void CounterSampler::sample(Nanos now, EventOut& out) {
  if (!asked_) return;
  if (!std::exchange(reported_, true)) {
    const bool part = !missing_.empty() || !kernel_;
    std::string why = why_;
    if (!counters_.empty() && !kernel_) why = "user side only";
    for (const std::string& name : counters_.empty() ? std::vector<std::string>() : missing_)
      why += (why.empty() ? "not counted here: " : ", ") + name;
    emitSource(out, now, "hardware_counters",
               counters_.empty() ? Coverage::kAbsent
               : part            ? Coverage::kPartial
                                 : Coverage::kFull,
               why);
  }
  for (const Counter& counter : counters_) {
    std::uint64_t values[3] = {};  // count, enabled, running
    if (::read(counter.fd.get(), values, sizeof values) != sizeof values) continue;
    out.emit(now, CounterUsage{out.intern(counter.name), values[0],
                               Nanos(static_cast<Nanos::rep>(values[1])),
                               Nanos(static_cast<Nanos::rep>(values[2]))});
  }
}

}  // namespace stallprof
