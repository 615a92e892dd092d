// SPDX-License-Identifier: MIT
#include "sampler/process_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sampler/process_image.h"

namespace stallprof {
namespace {

// A ring holds what a CPU does in 20 ms at 1,500 processes; a new one's first look waits for it.
constexpr Nanos kPeriod = std::chrono::milliseconds(20);
constexpr Nanos kCalmAfter = std::chrono::seconds(2), kCalmPeriod = std::chrono::milliseconds(50);
constexpr Nanos kSlowestPeriod = std::chrono::milliseconds(200);
constexpr Nanos kScanEvery = std::chrono::milliseconds(200);     // all of /proc
constexpr Nanos kChildrenEvery = std::chrono::milliseconds(50);  // the children files
constexpr Nanos kSafetyScan = std::chrono::seconds(5);           // beside task events
constexpr Nanos kCheckEvery = std::chrono::seconds(1);
// Looking through all tasks waits this long for each that was read last time: at 5 us a task half a
// percent of a core, however many there are.
constexpr Nanos kPerTask = std::chrono::milliseconds(1);
constexpr Nanos kYoung = std::chrono::seconds(2);  // an exec is near: looked at with every sample

}  // namespace

ProcessTree::ProcessTree(std::string root, pid_t rootPid)
    : root_(std::move(root)), rootPid_(rootPid), search_(root_), fds_(keptFdLimit(0.06)) {}

Nanos ProcessTree::period() const {
  const bool follow = events_ != nullptr && events_->opened();
  if (!follow || now_ - lastEvent_ <= kCalmAfter) return kPeriod;
  return std::clamp(pace_, kCalmPeriod, kSlowestPeriod);
}

// ---- finding ------------------------------------------------------------------------------------

LiveProcess* ProcessTree::find(std::uint32_t pid) {
  const auto found = byPid_.find(pid);
  return found == byPid_.end() ? nullptr : &live_[found->second];
}

const LiveProcess* ProcessTree::find(std::uint32_t pid) const {
  const auto found = byPid_.find(pid);
  return found == byPid_.end() ? nullptr : &live_[found->second];
}

LiveProcess* ProcessTree::find(ProcessId id) {
  const auto found = std::find_if(live_.begin(), live_.end(),
                                  [&](const LiveProcess& process) { return process.id == id; });
  return found == live_.end() ? nullptr : &*found;
}

ProcessTree::Watch& ProcessTree::watchOf(const LiveProcess& process) {
  return watches_[static_cast<std::size_t>(&process - live_.data())];
}

Nanos ProcessTree::bornAt(std::uint64_t startTicks) const {
  if (!isLive(root_) || startTicks == 0) return now_;
  const Nanos sinceBoot = tickLength() * static_cast<Nanos::rep>(startTicks) + tickLength() / 2;
  return std::clamp(now() - (boottimeNow() - sinceBoot), std::min(earliest_, now_), now_);
}

// ---- births and deaths --------------------------------------------------------------------------

LiveProcess& ProcessTree::add(const ProcStat& stat, Nanos since) {
  const LiveProcess* parent = find(stat.parent);
  LiveProcess process;
  process.id = ProcessId{nextProcess_++};
  process.parent = parent != nullptr ? parent->id : ProcessId{};
  process.pid = stat.pid;
  process.startTicks = stat.startTicks;
  process.comm = stat.comm;
  process.since = since;
  if (parent != nullptr) process.exe = parent->exe;
  byPid_[stat.pid] = live_.size();
  live_.push_back(std::move(process));
  Watch& watch = watches_.emplace_back();
  watch.stack = stat.stack;
  addThread(live_.back(), stat.pid, since, {});
  return live_.back();
}

ThreadId ProcessTree::addThread(LiveProcess& process, std::uint32_t tid, Nanos since,
                                std::string_view name) {
  const auto known = std::find_if(process.threads.begin(), process.threads.end(),
                                  [&](const LiveThread& t) { return t.tid == tid; });
  if (known != process.threads.end()) return known->id;
  process.threads.push_back({ThreadId{nextThread_++}, tid, since});
  if (changesKept_) changes_.push_back({process.threads.back(), process.id, process.pid, true, {}});
  if (watchOf(process).announced) announceThread(process, process.threads.back(), name);
  return process.threads.back().id;
}

void ProcessTree::remove(std::uint32_t pid, Nanos at) {
  const auto found = byPid_.find(pid);
  if (found == byPid_.end()) return;
  const std::size_t index = found->second;
  LiveProcess& process = live_[index];
  if (!watches_[index].announced) announce(process);
  for (const LiveThread& thread : process.threads) end(process, thread, at);
  emit(at, ProcessGone{process.id});
  cpu_.gone(process.id);
  if (watches_[index].taskDir.valid()) fds_.give();
  dead_.add({process.id, process.pid, process.startTicks, std::move(process.threads)});
  byPid_.erase(found);
  if (index + 1 != live_.size()) {
    live_[index] = std::move(live_.back());
    watches_[index] = std::move(watches_.back());
    byPid_[live_[index].pid] = index;
  }
  live_.pop_back();
  watches_.pop_back();
}

void ProcessTree::end(const LiveProcess& process, const LiveThread& thread, Nanos at) {
  emit(at, ThreadGone{thread.id});
  if (changesKept_) changes_.push_back({thread, process.id, process.pid, false, at});
}

void ProcessTree::removeThread(LiveProcess& process, std::uint32_t tid, Nanos at) {
  const auto found = std::find_if(process.threads.begin(), process.threads.end(),
                                  [&](const LiveThread& t) { return t.tid == tid; });
  if (found == process.threads.end()) return;
  if (!watchOf(process).announced) announce(process);
  end(process, *found, at);
  process.threads.erase(found);
}

// ---- announcing ---------------------------------------------------------------------------------

// What the process runs. Read when it is new and after each exec; a process that is already gone
// keeps what its events told.
void ProcessTree::readImage(LiveProcess& process, bool exec) {
  Watch& watch = watchOf(process);
  watch.imageRead = true;
  if (const auto stat = statOf(root_, process.pid)) {
    process.comm = stat->comm;
    watch.stack = stat->stack;
    if (process.startTicks == 0) process.startTicks = stat->startTicks;
  }
  const std::string exe = programOf(root_, process.pid);
  if (!exe.empty() || exec) process.exe = exe;
}

void ProcessTree::announce(LiveProcess& process) {
  if (out_ == nullptr) return;
  Watch& watch = watchOf(process);
  ProcessSeen seen;
  seen.process = process.id;
  seen.parent = process.parent;
  seen.pid = process.pid;
  seen.startTicks = process.startTicks;
  seen.comm = out_->intern(process.comm);
  seen.exe = out_->intern(process.exe);
  seen.command = out_->intern(commandOf(root_, process.pid));
  emit(watch.announced ? now_ : process.since, seen);
  if (!std::exchange(watch.announced, true))
    for (const LiveThread& thread : process.threads) announceThread(process, thread, {});
}

void ProcessTree::announceThread(const LiveProcess& process, const LiveThread& thread,
                                 std::string_view name) {
  if (out_ == nullptr) return;
  std::string read;
  if (name.empty() && thread.tid == process.pid) name = process.comm;
  if (name.empty()) {
    read = threadNameOf(root_, process.pid, thread.tid);
    name = read;
  }
  emit(thread.since, ThreadSeen{thread.id, process.id, thread.tid, out_->intern(name)});
}

void ProcessTree::announceNew() {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (watches_[i].announced) continue;
    readImage(live_[i], false);
    announce(live_[i]);
  }
}

// ---- looking at /proc ---------------------------------------------------------------------------

void ProcessTree::listThreads(LiveProcess& process) {
  std::vector<std::uint32_t> tids;
  if (!forEachNumber(processPath(root_, process.pid, "task"),
                     [&](std::uint32_t tid) { tids.push_back(tid); }))
    return;
  const bool first = process.threads.size() == 1 && !watchOf(process).announced;
  std::unordered_set<std::uint32_t> known;  // thousands of threads: no search for each
  for (const LiveThread& thread : process.threads) known.insert(thread.tid);
  for (const std::uint32_t tid : tids)
    if (known.erase(tid) == 0) addThread(process, tid, first ? process.since : now_, {});
  const std::vector<std::uint32_t> over(known.begin(), known.end());
  for (const std::uint32_t tid : over) removeThread(process, tid, now_);
}

void ProcessTree::suspect(std::uint32_t pid) {
  if (const LiveProcess* process = find(pid)) watchOf(*process).suspect = true;
}

// Reading the directory of 5,000 threads takes 28 ms, so it waits for a second per thousand. With
// task events births and deaths are told anyway: only a difference that stays is looked into.
bool ProcessTree::mustList(const LiveProcess& process, Watch& watch, bool all) const {
  struct stat status {};
  const bool there = watch.taskDir.valid() && ::fstat(watch.taskDir.get(), &status) == 0;
  bool moved = !there || status.st_nlink != watch.links;
  if (there && events_ != nullptr && events_->opened()) {
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
  LiveProcess& process = live_[index];
  Watch& watch = watches_[index];
  if (!watch.taskDir.valid() && !fds_.full()) {
    watch.taskDir =
        openAt(AT_FDCWD, processPath(root_, process.pid, "task").c_str(), O_RDONLY | O_DIRECTORY);
    if (watch.taskDir.valid()) fds_.take();
  }
  const bool list = mustList(process, watch, all);
  const bool follow = events_ == nullptr || !events_->opened();
  const bool young = follow && now_ - process.since < kYoung;
  if (!all && !young && !list && !watch.suspect) return;

  const auto stat = quickStatOf(root_, process.pid);
  const bool over = !stat || (process.startTicks != 0 && stat->startTicks != process.startTicks) ||
                    ((stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1);
  if (over) return remove(process.pid, now_);
  if (list) listThreads(process);
  watch.suspect = false;
  if (stat->stack != watch.stack || stat->comm != process.comm) {
    readImage(process, true);
    announce(process);
  }
}

void ProcessTree::checkProcesses(bool all) {
  // From the end: removing swaps the last one in, which has been checked.
  for (std::size_t i = live_.size(); i-- > 0;)
    if (i < live_.size()) checkProcess(i, all);
}

void ProcessTree::lookForChildren() {
  std::vector<ChildSearch::Task> tasks;
  for (const LiveProcess& process : live_)
    for (const LiveThread& thread : process.threads) tasks.emplace_back(process.pid, thread.tid);
  const ChildSearch::Found found = search_.find(tasks);
  // The kernel tells of an exit before the process leaves /proc: it is not born again.
  for (const ProcStat& stat : found.born)
    if (dead_.find(stat.pid, stat.startTicks) == nullptr) add(stat, bornAt(stat.startTicks));
  searchCost_ = kPerTask * static_cast<Nanos::rep>(found.looks);
  if (found.missed > 0) emit(now_, Loss{LossKind::kShortLived, found.missed, {}});
}

void ProcessTree::lookAround() {
  const bool follow = events_ != nullptr && events_->opened();
  const bool all = now_ >= nextCheck_;
  if (all) nextCheck_ = now_ + kCheckEvery;
  if (!follow || all)
    checkProcesses(all);
  else
    for (std::size_t i = live_.size(); i-- > 0;)
      if (i < live_.size() && watches_[i].suspect) checkProcess(i, false);
  if (!follow || all) born_ = search_.tasksWereBorn() || born_;
  if (!born_ || now_ < nextScan_) return;
  born_ = false;
  lookForChildren();
  const Nanos every = follow ? kSafetyScan : search_.listed() ? kChildrenEvery : kScanEvery;
  nextScan_ = now_ + std::max(every, searchCost_);
}

// ---- Sampler ------------------------------------------------------------------------------------

void ProcessTree::tellSources() {
  const bool follow = events_ != nullptr && events_->opened();
  const bool there = !live_.empty();
  emitSource(*out_, now_, "process_tree",
             !there   ? Coverage::kAbsent
             : follow ? Coverage::kFull
                      : Coverage::kPartial,
             !there   ? "the command was not found in /proc"
             : follow ? ""
                      : "looked for in /proc: a child that lives less than 0.2 s, or whose parent "
                        "dies at once, is not seen");
  emitSource(*out_, now_, "task_events", events_ == nullptr ? Coverage::kAbsent : events_->state(),
             events_ == nullptr ? "not opened" : events_->why());
}

void ProcessTree::begin() {
  begun_ = true;
  lastEvent_ = now_;
  if (const auto stat = statOf(root_, static_cast<std::uint32_t>(rootPid_)); stat && live_.empty())
    add(*stat, bornAt(stat->startTicks));
  tellSources();
  for (std::size_t i = 0; i < live_.size(); ++i) listThreads(live_[i]);
  lookForChildren();
  nextScan_ = now_ + kChildrenEvery;
  nextCheck_ = now_ + kCheckEvery;
}

void ProcessTree::sample(Nanos now, EventOut& out) {
  now_ = now;
  out_ = &out;
  if (!begun_) begin();
  takeEvents();
  lookAround();
  announceNew();
}

void ProcessTree::finish(Nanos now, EventOut& out) { sample(now, out); }

// ---- names for records from inside
// ----------------------------------------------------------------

ProcessId ProcessTree::processOf(std::uint32_t pid, std::uint64_t startTicks) {
  const auto same = [&](std::uint64_t ticks) {
    return startTicks == 0 || ticks == 0 || ticks == startTicks;
  };
  if (const LiveProcess* process = find(pid); process != nullptr && same(process->startTicks))
    return process->id;
  if (const auto* dead = dead_.find(pid, startTicks)) return dead->id;
  if (const auto stat = statOf(root_, pid); stat && same(stat->startTicks)) {
    if (find(pid) != nullptr) remove(pid, now_);  // its number was given away
    LiveProcess& process = add(*stat, bornAt(stat->startTicks));
    readImage(process, false);
    announce(process);
    return process.id;
  }
  // Gone before it was seen: its records still need a name.
  ProcessSeen seen;
  seen.process = dead_.add({ProcessId{nextProcess_++}, pid, startTicks, {}}).id;
  seen.pid = pid;
  seen.startTicks = startTicks;
  emit(now_, seen);
  emit(now_, ProcessGone{seen.process});
  return seen.process;
}

ThreadId ProcessTree::threadOf(ProcessId id, std::uint32_t tid) {
  if (LiveProcess* process = find(id)) return addThread(*process, tid, now_, {});
  DeadLives::Life* dead = dead_.find(id);
  if (dead == nullptr) return {};
  for (const LiveThread& thread : dead->threads)
    if (thread.tid == tid) return thread.id;
  dead->threads.push_back({ThreadId{nextThread_++}, tid, now_});
  emit(now_, ThreadSeen{dead->threads.back().id, id, tid, {}});
  return dead->threads.back().id;
}

bool ProcessTree::gone(std::uint32_t pid, std::uint64_t startTicks) const {
  const auto same = [&](std::uint64_t ticks) {
    return startTicks == 0 || ticks == 0 || ticks == startTicks;
  };
  if (const LiveProcess* process = find(pid); process != nullptr && same(process->startTicks))
    return false;
  const auto stat = statOf(root_, pid);
  return !stat || !same(stat->startTicks) || stat->state == 'Z' || stat->state == 'X';
}

}  // namespace stallprof
