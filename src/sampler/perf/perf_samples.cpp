// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_samples.h"

#include <asm/perf_regs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/time.h"
#include "event/native_events.h"
#include "sampler/perf_rings/task_events.h"
#include "sampler/proc/cpu_mask.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

// Of the stack, for who called a library: a function of libc that calls no other has its caller's
// address within 64 bytes, malloc within 200.
constexpr std::uint32_t kCopiedStackBytes = 256;
// A sample takes 320 bytes, a mapping about 200: 32 pages hold 20 ms of samples 200 times over, and
// a program that loads 600 libraries at once. Less where an ordinary user may not lock that much.
constexpr std::size_t kDataPages = 32, kMinPages = 4;
constexpr std::size_t kThreadPages = 4;  // of a thread's own event: 50 samples, 500 ms
// The many CPUs of a large host, on any host: for tests.
constexpr const char* kEachVariable = "STALLPROF_EVENT_PER_THREAD";
// Each takes a descriptor a CPU: with 32 CPUs half of what an ordinary user may have open at most.
constexpr std::size_t kMaxTasks = 256;
// Another period as often: of 100 samples, so that what is lost where it begins is half a percent.
constexpr Nanos kDrawEvery{1'000'000'000};
// An ioctl that may interrupt another CPU, some 2 us, for each event: at most 250 a second.
constexpr Nanos kEachDraw{4'000'000};

perf_event_attr describe(Nanos period, bool inherited, bool kernel, bool buildIds) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = static_cast<std::uint64_t>(period.count());
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
                     PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr.sample_regs_user = 1u << PERF_REG_X86_IP;
  attr.sample_stack_user = kCopiedStackBytes;
  attr.sample_id_all = 1;
  attr.inherit = inherited;
  attr.exclude_kernel = !kernel;
  attr.exclude_hv = 1;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.task = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
#ifdef PERF_RECORD_MISC_MMAP_BUILD_ID  // Linux 5.12
  attr.build_id = buildIds;
#else
  (void)buildIds;
#endif
  return attr;
}

// The threads of a process and of its descendants; not many more than kMaxTasks. A held command
// has one. Without the kernel's children files the descendants are missing.
std::vector<pid_t> tasksOf(pid_t command) {
  std::vector<pid_t> tasks;
  std::vector<std::uint32_t> processes = {static_cast<std::uint32_t>(command)};
  for (std::size_t i = 0; i < processes.size() && tasks.size() <= kMaxTasks; ++i)
    forEachNumber(processPath("/", processes[i], "task"), [&](std::uint32_t tid) {
      if (tasks.size() > kMaxTasks) return;
      tasks.push_back(static_cast<pid_t>(tid));
      const std::string children = contentOf(threadPath("/", processes[i], tid, "children"), 65536);
      for (const std::string_view word : splitWords(children))
        if (const auto child = parseNumber(word))
          processes.push_back(static_cast<std::uint32_t>(*child));
    });
  if (tasks.empty()) tasks.push_back(command);  // gone: let the kernel say so
  return tasks;
}

}  // namespace

PerfSamples::PerfSamples(RingBudget& budget)
    : budget_(budget), threadLimit_(std::min(kMaxThreads, keptFdLimit(0.20))) {}

// One event a task, all into the ring of the first. 0, or the errno of who refused.
int PerfSamples::openCpu(std::span<const pid_t> tasks, const perf_event_attr& attributes, int cpu,
                         std::size_t pages) {
  PerfRing ring;
  bool opened = false;
  for (const pid_t task : tasks) {
    if (opened ? ring.add(attributes, task, cpu)
               : ring.open(attributes, task, cpu, pages, kMinPages, budget_))
      opened = true;
    else if (errno != ESRCH)
      return errno;
  }
  if (!opened) return ESRCH;
  ring.setPeriod(current_);
  rings_.emplace(cpu, std::move(ring));
  return 0;
}

// 0, or the errno of the first thread that refused for another reason than that it is gone.
int PerfSamples::openEach(std::span<const pid_t> tasks, Nanos period, bool kernel, bool buildIds) {
  attributes_ = describe(period, false, kernel, buildIds);
  rings_.clear();
  for (const pid_t task : tasks) {
    if (rings_.size() == threadLimit_) break;  // follow() says that the others have none
    const int error = openThread(task);
    if (error == PerfRing::kOverBudget && !rings_.empty()) break;  // likewise
    if (error != 0 && error != ESRCH) return error;
  }
  return rings_.empty() ? ESRCH : 0;
}

int PerfSamples::openThread(pid_t thread) {
  PerfRing ring;
  if (!ring.open(*attributes_, thread, -1, kThreadPages, 1, budget_)) return errno;
  ring.setPeriod(current_);
  rings_.emplace(thread, std::move(ring));
  return 0;
}

bool PerfSamples::follow(std::span<const pid_t> threads, std::vector<PerfRecord>& records) {
  if (!attributes_) return true;  // stopped
  bool all = true;
  std::set<int> wanted;
  for (const pid_t thread : threads) {
    if (wanted.size() == threadLimit_) {
      all = false;
      break;
    }
    wanted.insert(thread);
    if (rings_.contains(thread) || refused_.contains(thread)) continue;
    const int error = openThread(thread);
    if (error == 0 || error == ESRCH) continue;
    refused_.insert(thread);  // asked once: it would be refused again at every call
    all = false;
  }
  std::erase_if(refused_, [&](int thread) { return !wanted.contains(thread); });
  for (auto& [thread, ring] : rings_)
    if (!wanted.contains(thread)) drainRing(ring);
  std::erase_if(rings_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  takeSettled(waiting_, now() - kSettled, records);
  return all;
}

// 0, or the errno of the first CPU that refused.
int PerfSamples::openAll(std::span<const pid_t> tasks, Nanos period, bool kernel, bool buildIds) {
  const perf_event_attr attr = describe(period, true, kernel, buildIds);
  rings_.clear();
  const std::vector<int> cpus = eventCpus(tasks.empty() ? 0 : tasks.front());
  const std::size_t pages = budget_.dataPages(cpus.size(), kDataPages, kMinPages, 1);
  for (const int cpu : cpus) {
    const int error = openCpu(tasks, attr, cpu, pages);
    if (error == 0 || error == ENODEV) continue;  // ENODEV: that CPU is offline
    rings_.clear();
    return error;
  }
  return rings_.empty() ? ENODEV : 0;
}

bool PerfSamples::open(pid_t command, Nanos asked) {
  eachThread_ = static_cast<int>(onlineCpus().count()) > TaskEvents::kMaxCpus ||
                std::getenv(kEachVariable) != nullptr;
  const std::vector<pid_t> tasks = tasksOf(command);
  if (!eachThread_ && tasks.size() > kMaxTasks) {
    why_ = "more than 256 threads run already: each would take a descriptor a CPU";
    return false;
  }
  const Nanos period = std::max(asked, kNativePeriod);
  period_ = DrawnPeriod(period);
  draw(now());
  bool kernel = true, buildIds = true;
  int error = 0;
  for (;;) {
    error = eachThread_ ? openEach(tasks, period, kernel, buildIds)
                        : openAll(tasks, period, kernel, buildIds);
    if (error == EINVAL && buildIds)
      buildIds = false;  // before Linux 5.12
    else if ((error == EACCES || error == EPERM) && kernel)
      kernel = false;
    else
      break;
  }
  if (error != 0) {
    why_ = perfRefusal(error, "would name native functions");
    return false;
  }
  opened_ = true;
  scratch_ = std::make_unique<std::uint8_t[]>(PerfRing::kMaxRecord);
  state_ = kernel && !eachThread_ ? Coverage::kFull : Coverage::kPartial;
  why_ = kernel
             ? eachThread_ ? "an event a thread, as on all hosts of more than 32 CPUs: what a "
                             "thread runs in its first 50 ms is not sampled"
                           : ""
             : "user side only: time in the kernel is not in the shares; CAP_PERFMON, or 'sysctl "
               "kernel.perf_event_paranoid=1' on the host, shows it";
  return true;
}

void PerfSamples::drainRing(PerfRing& ring) {
  const std::span<std::uint8_t, PerfRing::kMaxRecord> scratch(scratch_.get(), PerfRing::kMaxRecord);
  ring.drain(scratch, [&](std::span<const std::uint8_t> bytes) {
    auto record = readPerfRecord(bytes);
    if (!record) return;
    if (record->kind == PerfRecord::Kind::kLost)
      lost_ += record->count;
    else if (record->kind != PerfRecord::Kind::kSample || period_.keeps(record->period, record->at))
      waiting_.push_back(std::move(*record));
  });
}

void PerfSamples::drain(std::vector<PerfRecord>& records, bool all) {
  if (!opened_) return;
  const Nanos read = now(), settled = all ? Nanos::max() : read - kSettled;
  for (auto& [key, ring] : rings_) drainRing(ring);
  takeSettled(waiting_, settled, records);
  if (read >= nextDraw_) draw(read);
}

void PerfSamples::draw(Nanos now) {
  current_ = period_.draw(now);
  std::size_t events = 0;
  for (const auto& [key, ring] : rings_) {
    ring.setPeriod(current_);
    events += ring.events();
  }
  nextDraw_ = now + std::max(kDrawEvery, kEachDraw * static_cast<Nanos::rep>(events));
}

std::uint64_t PerfSamples::takeLost() { return std::exchange(lost_, 0); }

void PerfSamples::enable(bool on) {
  for (const auto& [key, ring] : rings_) ring.enable(on);
}

void PerfSamples::stop() {
  enable(false);
  for (auto& [key, ring] : rings_) drainRing(ring);
  rings_.clear();
  attributes_.reset();
  nextDraw_ = Nanos::max();
}

}  // namespace stallprof
