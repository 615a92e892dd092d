// SPDX-License-Identifier: MIT
#include "sampler/perf_rings/task_events.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "sampler/perf_rings/perf_records.h"
#include "sampler/proc/cpu_mask.h"

namespace stallprof {
namespace {

// 64 pages hold about 4,500 records: 1,500 processes of one CPU between two drains 20 ms apart.
// Less is tried where an ordinary user may not lock that much (RingBudget).
constexpr std::size_t kTaskPages = 64;
constexpr std::size_t kMinTaskPages = 8;
constexpr double kTaskShare = 2.0 / 3;  // of the budget: the rest is the native samples'

perf_event_attr describe() {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.task = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.inherit = 1;
  attr.exclude_kernel = 1;  // without it an ordinary user is refused at perf_event_paranoid 2
  attr.exclude_hv = 1;
  attr.sample_id_all = 1;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return attr;
}

std::optional<TaskEvent::Kind> kindOf(PerfRecord::Kind kind) {
  switch (kind) {
    case PerfRecord::Kind::kFork:
      return TaskEvent::Kind::kFork;
    case PerfRecord::Kind::kExit:
      return TaskEvent::Kind::kExit;
    case PerfRecord::Kind::kExec:
      return TaskEvent::Kind::kExec;
    case PerfRecord::Kind::kName:
      return TaskEvent::Kind::kName;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool TaskEvents::openCpu(pid_t command, int cpu, std::size_t pages) {
  PerfRing ring;
  if (!ring.open(describe(), command, cpu, pages, kMinTaskPages, budget_)) return false;
  rings_.push_back(std::move(ring));
  return true;
}

bool TaskEvents::open(pid_t command) {
  rings_.clear();
  const int cpus = static_cast<int>(onlineCpus().count());
  // Above kMaxCpus the tax on thread creation is too high for inherited events; system-wide ones do
  // not have it, but need more rights.
  systemWide_ = cpus > kMaxCpus;
  const pid_t target = systemWide_ ? -1 : command;
  const std::vector<int> running = eventCpus(command);
  const std::size_t pages =
      budget_.dataPages(running.size(), kTaskPages, kMinTaskPages, kTaskShare);
  for (const int cpu : running) {
    if (openCpu(target, cpu, pages) || errno == ENODEV) continue;  // ENODEV: CPU is offline
    refuse(errno, cpus);
    rings_.clear();
    return false;
  }
  if (rings_.empty()) {
    refuse(ENODEV, cpus);
    return false;
  }
  scratch_ = std::make_unique<std::uint8_t[]>(PerfRing::kMaxRecord);
  state_ = Coverage::kFull;
  why_.clear();
  return true;
}

void TaskEvents::refuse(int error, int cpus) {
  state_ = Coverage::kAbsent;
  why_ = cpus > kMaxCpus && (error == EACCES || error == EPERM)
             ? "more than 32 CPUs: only system-wide task events are cheap enough, and they need "
               "'sysctl kernel.perf_event_paranoid=0' on the host, or CAP_PERFMON at a level of 2 "
               "(in a container --cap-add=PERFMON)"
             : perfRefusal(error, "would show every child");
}

void TaskEvents::take(std::span<const std::uint8_t> bytes) {
  auto record = readPerfRecord(bytes);
  if (!record) return;
  if (record->kind == PerfRecord::Kind::kLost) lost_ += record->count;
  if (const auto kind = kindOf(record->kind))
    waiting_.push_back(
        {*kind, record->pid, record->tid, record->parentPid, record->at, std::move(record->comm)});
}

void TaskEvents::drain(std::vector<TaskEvent>& events) {
  const Nanos settled = now() - kSettled;
  for (PerfRing& ring : rings_)
    ring.drain(std::span<std::uint8_t, PerfRing::kMaxRecord>(scratch_.get(), PerfRing::kMaxRecord),
               [this](std::span<const std::uint8_t> record) { take(record); });
  takeSettled(waiting_, settled, events);
}

std::uint64_t TaskEvents::takeLost() { return std::exchange(lost_, 0); }

}  // namespace stallprof
