// SPDX-License-Identifier: MIT
#include "sampler/processes/process_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

#include "sampler/processes/process_image.h"

namespace stallprof {
namespace {

// A ring holds what a CPU does in 20 ms at 1,500 processes; a new one's first sample waits for it.
constexpr Nanos kSearchPeriod = std::chrono::milliseconds(20);
constexpr Nanos kCalmAfter = std::chrono::seconds(2), kCalmPeriod = std::chrono::milliseconds(50);
constexpr Nanos kSlowestPeriod = std::chrono::milliseconds(200);
constexpr Nanos kScanEvery = std::chrono::milliseconds(200);     // all of /proc
constexpr Nanos kChildrenEvery = std::chrono::milliseconds(50);  // the children files
constexpr Nanos kSafetyScan = std::chrono::seconds(5);           // beside task events
constexpr Nanos kCheckEvery = std::chrono::seconds(1);
// Searching all tasks waits this long for each that was read last time: at 5 us a task half a
// percent of a core, however many there are.
constexpr Nanos kPerTask = std::chrono::milliseconds(1);
// Threads of one process, and processes, that are known by records from inside alone: what ended
// before it was seen. A job may put any number there.
constexpr std::size_t kMaxUnseen = 4096;
constexpr std::size_t kMaxEnded = 1024;            // threads of live processes, the last ones
constexpr Nanos kYoung = std::chrono::seconds(2);  // an exec is near: read at every sample

// Starts of processes of one number; 0: not known.
bool mayBeSame(std::uint64_t start, std::uint64_t other) {
  return start == 0 || other == 0 || start == other;
}

}  // namespace

ProcessTree::ProcessTree(std::string root, pid_t rootPid)
    : root_(std::move(root)),
      rootPid_(rootPid),
      announcer_(root_),
      search_(root_),
      fds_(keptFdLimit(0.06)) {}

Nanos ProcessTree::period() const {
  const bool follow = follows();
  if (!follow || now_ - lastEvent_ <= kCalmAfter) return kSearchPeriod;
  return std::clamp(pace_, kCalmPeriod, kSlowestPeriod);
}

Nanos ProcessTree::bornAt(std::uint64_t startTicks) const {
  if (!isLive(root_) || startTicks == 0) return now_;
  return std::clamp(startOf(startTicks), std::min(earliest_, now_), now_);
}

// ---- births and deaths --------------------------------------------------------------------------

LiveProcess& ProcessTree::add(const ProcStat& stat, Nanos since) {
  const LiveProcess* parent = live_.find(stat.parent);
  LiveProcess process;
  process.id = ProcessId{nextProcess_++};
  process.parent = parent != nullptr ? parent->id : ProcessId{};
  process.pid = stat.pid;
  process.startTicks = stat.startTicks;
  process.comm = stat.comm;
  process.since = since;
  if (parent != nullptr) process.exe = parent->exe;
  LiveProcess& added = live_.add(std::move(process));
  live_.watchOf(added).stack = stat.stack;
  addThread(added, stat.pid, since, {});
  return added;
}

ThreadId ProcessTree::addThread(LiveProcess& process, std::uint32_t tid, Nanos since,
                                std::string_view name) {
  if (const LiveThread* known = process.thread(tid)) return known->id;
  process.add({ThreadId{nextThread_++}, tid, since});
  if (changesKept_) changes_.push_back({process.threads.back(), process.id, process.pid, true, {}});
  if (live_.watchOf(process).announced)
    announcer_.announceThread(process, process.threads.back(), name);
  return process.threads.back().id;
}

void ProcessTree::remove(LiveProcess& process, Nanos at) {
  ProcessWatch& watch = live_.watchOf(process);
  if (!watch.announced) announcer_.announce(process, watch, now_);
  for (const LiveThread& thread : process.threads) end(process, thread, at);
  announcer_.emit(at, ProcessGone{process.id});
  cpu_.gone(process.id);
  if (watch.taskDir.valid()) fds_.give();
  exited_.add({process.id, process.pid, process.startTicks, std::move(process.threads)});
  live_.remove(process);
}

void ProcessTree::end(const LiveProcess& process, const LiveThread& thread, Nanos at) {
  announcer_.emit(at, ThreadGone{thread.id});
  if (changesKept_) changes_.push_back({thread, process.id, process.pid, false, at});
}

void ProcessTree::removeThread(LiveProcess& process, std::uint32_t tid, Nanos at) {
  const LiveThread* found = process.thread(tid);
  if (found == nullptr) return;
  if (ProcessWatch& watch = live_.watchOf(process); !watch.announced)
    announcer_.announce(process, watch, now_);
  end(process, *found, at);
  keepEnded({process.id, found->id, tid});
  process.remove(tid);
}

// ---- announcing ---------------------------------------------------------------------------------

void ProcessTree::announceNew() {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    ProcessWatch& watch = live_.watchAt(i);
    if (watch.announced) continue;
    announcer_.readImage(live_.at(i), watch, false);
    announcer_.announce(live_.at(i), watch, now_);
  }
}

// ---- reading /proc ---------------------------------------------------------------------------

void ProcessTree::listThreads(LiveProcess& process) {
  std::vector<std::uint32_t> tids;
  if (!forEachNumber(processPath(root_, process.pid, "task"),
                     [&](std::uint32_t tid) { tids.push_back(tid); })) {
    live_.watchOf(process).links = 0;  // to be listed again, where it has not ended
    return;
  }
  const bool first = process.threads.size() == 1 && !live_.watchOf(process).announced;
  std::unordered_set<std::uint32_t> known;  // thousands of threads: no search for each
  for (const LiveThread& thread : process.threads) known.insert(thread.tid);
  for (const std::uint32_t tid : tids)
    if (known.erase(tid) == 0) addThread(process, tid, first ? process.since : now_, {});
  const std::vector<std::uint32_t> over(known.begin(), known.end());
  for (const std::uint32_t tid : over) removeThread(process, tid, now_);
}

void ProcessTree::suspect(std::uint32_t pid) {
  if (const LiveProcess* process = live_.find(pid)) live_.watchOf(*process).suspect = true;
}

// Reading the directory of 5,000 threads takes 28 ms, so it waits for a second per thousand. With
// task events births and deaths are reported anyway: only a difference that stays is read.
bool ProcessTree::mustList(const LiveProcess& process, ProcessWatch& watch, bool all) const {
  struct stat status {};
  const bool there = watch.taskDir.valid() && ::fstat(watch.taskDir.get(), &status) == 0;
  bool moved = !there || status.st_nlink != watch.links;
  if (there && hears()) {
    const auto known = static_cast<std::int64_t>(process.threads.size());
    const std::int64_t unheard = static_cast<std::int64_t>(status.st_nlink) - 2 - known;
    moved = all && unheard != 0 && unheard == watch.unheard;
    if (all) watch.unheard = unheard;
  } else if (watch.suspect) {
    moved = true;
  }
  if (!moved || now_ < watch.nextList) return false;
  if (there) watch.links = status.st_nlink;
  watch.nextList = now_ + kPerTask * static_cast<Nanos::rep>(process.threads.size());
  return true;
}

void ProcessTree::checkProcess(std::size_t index, bool all) {
  LiveProcess& process = live_.at(index);
  ProcessWatch& watch = live_.watchAt(index);
  if (!watch.taskDir.valid() && !fds_.full()) {
    watch.taskDir =
        openAt(AT_FDCWD, processPath(root_, process.pid, "task").c_str(), O_RDONLY | O_DIRECTORY);
    if (watch.taskDir.valid()) fds_.take();
  }
  const bool list = mustList(process, watch, all);
  const bool young = !hears() && now_ - process.since < kYoung;
  if (!all && !young && !list && !watch.suspect) return;

  errno = 0;
  const auto stat = quickStatOf(root_, process.pid);
  if (!stat && lacksMeans(errno)) {  // it may well live: to be asked again
    if (list) watch.links = 0;
    return;
  }
  const bool over = !stat || (process.startTicks != 0 && stat->startTicks != process.startTicks) ||
                    ((stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1);
  if (over) return remove(process, now_);
  if (list) listThreads(process);
  watch.suspect = false;
  if (stat->stack != watch.stack || stat->comm != process.comm) {
    announcer_.readImage(process, watch, true);
    announcer_.announce(process, watch, now_);
  }
}

void ProcessTree::checkProcesses(bool all) {
  // From the end: removing swaps the last one in, which has been checked.
  for (std::size_t i = live_.size(); i-- > 0;)
    if (i < live_.size()) checkProcess(i, all);
}

// Of the whole job, or of the lists of first threads alone: they start nearly all children.
Nanos ProcessTree::findChildren(bool whole) {
  std::vector<ChildSearch::Task> tasks;
  for (const LiveProcess& process : live_.all())
    for (const LiveThread& thread : process.threads)
      if (whole || thread.tid == process.pid) tasks.emplace_back(process.pid, thread.tid);
  const ChildSearch::Found found = search_.find(tasks);
  // The kernel reports an exit before the process leaves /proc: it is not born again.
  for (const ProcStat& stat : found.born)
    if (exited_.find(stat.pid, stat.startTicks) == nullptr) add(stat, bornAt(stat.startTicks));
  if (found.missed > 0) announcer_.emit(now_, Loss{LossKind::kShortLived, found.missed, {}});
  return kPerTask * static_cast<Nanos::rep>(found.samples);
}

void ProcessTree::scanThreads() {
  const bool follow = hears();
  const bool all = now_ >= nextCheck_;
  if (all) nextCheck_ = now_ + kCheckEvery;
  if (!follow || all)
    checkProcesses(all);
  else
    for (std::size_t i = live_.size(); i-- > 0;)
      if (i < live_.size() && live_.watchAt(i).suspect) checkProcess(i, false);
  if (!follow || all) born_ = search_.tasksWereBorn() || born_;
  if (!born_ || now_ < nextScan_) return;
  // All of /proc takes a while where its processes are many; what it costs is waited before it is
  // read again, and the lists of few threads are read meanwhile.
  const bool whole = now_ >= nextWhole_ || !search_.listed();
  const Nanos every = follow ? kSafetyScan : search_.listed() ? kChildrenEvery : kScanEvery;
  const Nanos next = now_ + std::max(every, findChildren(whole));
  born_ = !whole;
  if (whole) nextWhole_ = next;
  const std::size_t threads = std::accumulate(
      live_.all().begin(), live_.all().end(), std::size_t{0},
      [](std::size_t sum, const LiveProcess& process) { return sum + process.threads.size(); });
  nextScan_ = !whole || threads <= ChildSearch::kListsWorth ? next : now_ + every;
}

// ---- Sampler ------------------------------------------------------------------------------------

void ProcessTree::reportSources(EventOut& out) {
  const bool follow = follows();
  const bool there = live_.size() > 0;
  emitSource(out, now_, "process_tree",
             !there   ? Coverage::kAbsent
             : follow ? Coverage::kFull
                      : Coverage::kPartial,
             !there ? "the command was not found in /proc"
             : follow
                 ? ""
                 : "searched for in /proc: a child that lives less than 0.2 s, or whose parent "
                   "dies at once, is not seen");
  emitSource(out, now_, "task_events", events_ == nullptr ? Coverage::kAbsent : events_->state(),
             events_ == nullptr ? "not opened" : events_->why());
}

void ProcessTree::begin(EventOut& out) {
  begun_ = true;
  lastEvent_ = now_;
  if (const auto stat = statOf(root_, static_cast<std::uint32_t>(rootPid_));
      stat && live_.size() == 0)
    add(*stat, bornAt(stat->startTicks));
  reportSources(out);
  for (std::size_t i = 0; i < live_.size(); ++i) listThreads(live_.at(i));
  findChildren(true);
  nextScan_ = now_ + kChildrenEvery;
  nextCheck_ = now_ + kCheckEvery;
}

void ProcessTree::sample(Nanos now, EventOut& out) {
  now_ = now;
  announcer_.setOut(out);
  if (!begun_) begin(out);
  takeEvents();
  if (!silenced_.empty() && !std::exchange(silencedSaid_, true)) {
    emitSource(out, now_, "task_events", Coverage::kPartial,
               silenced_ +
                   " took other rights, as sudo does: the kernel does not report it and "
                   "what it starts, which are searched for in /proc");
    born_ = true;
    nextScan_ = now_;
  }
  scanThreads();
  announceNew();
}

// ---- names for records from inside -------------------------------------------------------------

ProcessId ProcessTree::processOf(std::uint32_t pid, std::uint64_t startTicks) {
  if (const LiveProcess* process = live_.find(pid);
      process != nullptr && mayBeSame(process->startTicks, startTicks))
    return process->id;
  if (const auto* exited = exited_.find(pid, startTicks)) return exited->id;
  errno = 0;
  const auto stat = statOf(root_, pid);
  if (!stat && lacksMeans(errno)) return {};  // it may well live: the next record names it
  if (stat && mayBeSame(stat->startTicks, startTicks)) {
    if (LiveProcess* before = live_.find(pid)) remove(*before, now_);  // its number was given away
    LiveProcess& process = add(*stat, bornAt(stat->startTicks));
    announcer_.readImage(process, live_.watchOf(process), false);
    announcer_.announce(process, live_.watchOf(process), now_);
    return process.id;
  }
  // Gone before it was seen: its records still need a name.
  if (unseen_ >= kMaxUnseen) return {};
  ++unseen_;
  ProcessSeen seen;
  seen.process = exited_.add({ProcessId{nextProcess_++}, pid, startTicks, {}}).id;
  seen.pid = pid;
  seen.startTicks = startTicks;
  announcer_.emit(now_, seen);
  announcer_.emit(now_, ProcessGone{seen.process});
  return seen.process;
}

ThreadId ProcessTree::threadOf(ProcessId id, std::uint32_t tid) {
  if (LiveProcess* process = live_.find(id)) {
    const LiveThread* known = process->thread(tid);
    if (known != nullptr) return known->id;
    const bool there = ::access(threadPath(root_, process->pid, tid, "stat").c_str(), F_OK) == 0;
    return there ? addThread(*process, tid, now_, {}) : endedThread(id, tid);
  }
  ExitedProcesses::Life* exited = exited_.find(id);
  if (exited == nullptr) return {};
  for (const LiveThread& thread : exited->threads)
    if (thread.tid == tid) return thread.id;
  if (exited->threads.size() >= kMaxUnseen) return {};
  exited->threads.push_back({ThreadId{nextThread_++}, tid, now_});
  announcer_.emit(now_, ThreadSeen{exited->threads.back().id, id, tid, {}});
  return exited->threads.back().id;
}

// Records of a thread come after its end where both are read in one sample. It is not alive again:
// no end of it would be reported.
ThreadId ProcessTree::endedThread(ProcessId process, std::uint32_t tid) {
  const auto known = std::find_if(ended_.rbegin(), ended_.rend(), [&](const EndedThread& thread) {
    return thread.process == process && thread.tid == tid;
  });
  if (known != ended_.rend()) return known->id;
  if (unseenThreads_ >= kMaxUnseen) return {};
  ++unseenThreads_;
  keepEnded({process, ThreadId{nextThread_++}, tid});
  announcer_.emit(now_, ThreadSeen{ended_.back().id, process, tid, {}});
  announcer_.emit(now_, ThreadGone{ended_.back().id});
  return ended_.back().id;
}

void ProcessTree::keepEnded(const EndedThread& thread) {
  ended_.push_back(thread);
  if (ended_.size() > kMaxEnded) ended_.pop_front();
}

bool ProcessTree::gone(std::uint32_t pid, std::uint64_t startTicks) const {
  if (const LiveProcess* process = live_.find(pid);
      process != nullptr && mayBeSame(process->startTicks, startTicks))
    return false;
  errno = 0;
  const auto stat = statOf(root_, pid);
  if (!stat) return !lacksMeans(errno);
  return !mayBeSame(stat->startTicks, startTicks) || stat->state == 'Z' || stat->state == 'X';
}

}  // namespace stallprof
