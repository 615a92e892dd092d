// SPDX-License-Identifier: MIT
#include "sampler/process_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/secrets.h"
#include "base/text.h"

namespace stallprof {
namespace {

// Records of the hook may be read seconds after their writer died; 8,192 dead lives are a minute of
// 130 short-lived children a second, and 1 MB.
constexpr std::size_t kDeadKept = 8192;
constexpr std::size_t kEndedKept = 1u << 16;
constexpr std::size_t kCommandBytes = 4096;
constexpr std::size_t kEarlyExits = 4096;
constexpr Nanos kScanEvery = std::chrono::milliseconds(200);     // all of /proc
constexpr Nanos kChildrenEvery = std::chrono::milliseconds(50);  // the children files
constexpr Nanos kSafetyScan = std::chrono::seconds(5);           // beside task events
constexpr Nanos kCheckEvery = std::chrono::seconds(1);
constexpr Nanos kYoung = std::chrono::seconds(2);  // an exec is near: looked at with every sample

std::string commandText(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : maskSecrets(words)) {
    if (!text.empty()) text += ' ';
    text += quoteShell(word);
    if (text.size() > kCommandBytes) return text.substr(0, kCommandBytes) + "...";
  }
  return text;
}

}  // namespace

ProcessTree::ProcessTree(std::string root, pid_t rootPid)
    : root_(std::move(root)), rootPid_(rootPid), fds_(keptFdLimit(0.06)) {}

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

std::optional<ProcStat> ProcessTree::statOf(std::uint32_t pid) const {
  auto stat = parseStat(contentOf(processPath(root_, pid, "stat"), 4096));
  if (stat && stat->pid != pid) return std::nullopt;
  return stat;
}

Nanos ProcessTree::bornAt(std::uint64_t startTicks) const {
  if (!isLive(root_) || startTicks == 0) return now_;
  const Nanos sinceBoot = tickLength() * static_cast<Nanos::rep>(startTicks) + tickLength() / 2;
  return std::min(now_, now() - (boottimeNow() - sinceBoot));
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
  ++generation_;
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
  ++generation_;
  if (watchOf(process).announced) announceThread(process, process.threads.back(), name);
  return process.threads.back().id;
}

void ProcessTree::keepDead(LiveProcess& process) {
  dead_.push_back({process.id, process.pid, process.startTicks, std::move(process.threads)});
  if (dead_.size() > kDeadKept) dead_.pop_front();
}

void ProcessTree::remove(std::uint32_t pid, Nanos at) {
  const auto found = byPid_.find(pid);
  if (found == byPid_.end()) return;
  const std::size_t index = found->second;
  LiveProcess& process = live_[index];
  if (!watches_[index].announced) announce(process);
  for (const LiveThread& thread : process.threads) end(thread, at);
  emit(at, ProcessGone{process.id});
  cpu_.gone(process.id);
  if (watches_[index].taskDir.valid()) fds_.give();
  keepDead(process);
  byPid_.erase(found);
  if (index + 1 != live_.size()) {
    live_[index] = std::move(live_.back());
    watches_[index] = std::move(watches_.back());
    byPid_[live_[index].pid] = index;
  }
  live_.pop_back();
  watches_.pop_back();
  ++generation_;
}

void ProcessTree::end(const LiveThread& thread, Nanos at) {
  emit(at, ThreadGone{thread.id});
  if (ended_.size() >= kEndedKept) ended_.clear();  // nobody reads them
  ended_.push_back({thread.id, at});
}

void ProcessTree::removeThread(LiveProcess& process, std::uint32_t tid, Nanos at) {
  const auto found = std::find_if(process.threads.begin(), process.threads.end(),
                                  [&](const LiveThread& t) { return t.tid == tid; });
  if (found == process.threads.end()) return;
  if (!watchOf(process).announced) announce(process);
  end(*found, at);
  process.threads.erase(found);
  ++generation_;
}

// ---- announcing ---------------------------------------------------------------------------------

// What the process runs. Read when it is new and after each exec; a process that is already gone
// keeps what its events told.
void ProcessTree::readImage(LiveProcess& process, bool exec) {
  Watch& watch = watchOf(process);
  watch.imageRead = true;
  if (const auto stat = statOf(process.pid)) {
    process.comm = stat->comm;
    watch.stack = stat->stack;
    if (process.startTicks == 0) process.startTicks = stat->startTicks;
  }
  const std::string exe = readLink(processPath(root_, process.pid, "exe"));
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
  const std::string words = contentOf(processPath(root_, process.pid, "cmdline"), 1u << 16);
  seen.command = out_->intern(commandText(parseCommandLine(words)));
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
    read = contentOf(threadPath(root_, process.pid, thread.tid, "comm"), 64);
    if (read.ends_with('\n')) read.pop_back();
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

// ---- task events --------------------------------------------------------------------------------

void ProcessTree::take(const TaskEvent& event) {
  switch (event.kind) {
    case TaskEvent::Kind::kFork:
      return takeFork(event);
    case TaskEvent::Kind::kExit:
      return takeExit(event);
    case TaskEvent::Kind::kExec:
    case TaskEvent::Kind::kName:
      return takeName(event);
  }
}

void ProcessTree::takeFork(const TaskEvent& event) {
  // Its exit came first (other CPU's ring): a life nobody can look at any more, but it was there.
  const bool over = earlyExits_.erase(event.tid) > 0;
  if (event.pid == event.parentPid) {
    LiveProcess* process = find(event.pid);
    if (process == nullptr) return;
    addThread(*process, event.tid, event.at, {});
    if (over) removeThread(*process, event.tid, event.at);
    return;
  }
  const LiveProcess* parent = find(event.parentPid);
  if (const LiveProcess* known = find(event.pid); known != nullptr) {
    // Found in /proc before its event was read; unless that was an earlier life of the number.
    if (event.at - known->since < std::chrono::seconds(1)) return;
    remove(event.pid, event.at);
    parent = find(event.parentPid);
  }
  // System-wide events tell of everybody's children.
  if (parent == nullptr && events_ != nullptr && events_->systemWide()) return;
  ProcStat stat;
  stat.pid = event.pid;
  stat.parent = event.parentPid;
  if (parent != nullptr) stat.comm = parent->comm;
  add(stat, std::min(event.at, now_));
  if (over) remove(event.pid, event.at);
}

void ProcessTree::takeExit(const TaskEvent& event) {
  LiveProcess* process = find(event.pid);
  if (process == nullptr) {
    if (earlyExits_.size() >= kEarlyExits) earlyExits_.clear();
    earlyExits_.insert(event.tid);
    return;
  }
  if (event.at < process->since) return;  // of an earlier life of this pid
  const bool known = std::any_of(process->threads.begin(), process->threads.end(),
                                 [&](const LiveThread& t) { return t.tid == event.tid; });
  if (!known && event.tid != event.pid) {
    if (earlyExits_.size() >= kEarlyExits) earlyExits_.clear();
    earlyExits_.insert(event.tid);
  }
  if (known && process->threads.size() == 1) return remove(event.pid, event.at);
  removeThread(*process, event.tid, event.at);
  watchOf(*process).suspect = true;  // threads that were never announced may be what is left
}

void ProcessTree::takeName(const TaskEvent& event) {
  LiveProcess* process = find(event.pid);
  if (process == nullptr) return;
  const bool exec = event.kind == TaskEvent::Kind::kExec;
  if (exec) {  // only the caller survives an exec, as the main thread
    const std::vector<LiveThread> before = process->threads;
    for (const LiveThread& thread : before)
      if (thread.tid != event.pid) removeThread(*process, thread.tid, event.at);
    addThread(*process, event.pid, event.at, event.comm);
  }
  if (event.tid == event.pid) process->comm = event.comm;
  Watch& watch = watchOf(*process);
  if (!watch.announced) {  // will be, with its latest name
    if (exec) process->exe.clear();
    return;
  }
  if (exec) {
    readImage(*process, true);
    process->comm = event.comm;
    announce(*process);
  }
  for (const LiveThread& thread : process->threads)
    if (thread.tid == event.tid) announceThread(*process, thread, event.comm);
}

void ProcessTree::takeEvents() {
  if (events_ == nullptr || !events_->opened()) return;
  drained_.clear();
  events_->drain(drained_);
  for (const TaskEvent& event : drained_) take(event);
  if (const std::uint64_t lost = events_->takeLost(); lost > 0) {
    emit(now_, Loss{LossKind::kPerfLost, lost, {}});
    nextScan_ = now_;
    born_ = true;
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

void ProcessTree::checkProcess(std::size_t index, bool all) {
  LiveProcess& process = live_[index];
  Watch& watch = watches_[index];
  if (!watch.taskDir.valid() && !fds_.full()) {
    watch.taskDir =
        openAt(AT_FDCWD, processPath(root_, process.pid, "task").c_str(), O_RDONLY | O_DIRECTORY);
    if (watch.taskDir.valid()) fds_.take();
  }
  struct stat status {};
  const bool there = watch.taskDir.valid() && ::fstat(watch.taskDir.get(), &status) == 0;
  const bool moved = !there || status.st_nlink != watch.links;
  if (there) watch.links = status.st_nlink;
  const bool follow = events_ == nullptr || !events_->opened();
  const bool young = follow && now_ - process.since < kYoung;
  if (!all && !young && !moved && !watch.suspect) return;

  const auto stat = statOf(process.pid);
  const bool over = !stat || (process.startTicks != 0 && stat->startTicks != process.startTicks) ||
                    ((stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1);
  if (over) return remove(process.pid, now_);
  if (moved || watch.suspect) listThreads(process);
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

// /proc/loadavg ends with the newest pid: unchanged, no task was born in this pid namespace.
bool ProcessTree::tasksWereBorn() {
  const std::string text = contentOf(under(root_, "proc/loadavg"), 256);
  const std::size_t blank = text.rfind(' ');
  if (text.empty() || blank == std::string::npos) return true;
  return std::exchange(lastPid_, text.substr(blank + 1)) != lastPid_;
}

// CONFIG_PROC_CHILDREN: a list a thread. False where the kernel has no such file.
bool ProcessTree::childrenFromFiles() {
  std::vector<std::uint32_t> children;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    for (const LiveThread& thread : live_[i].threads) {
      const Fd file = openAt(
          AT_FDCWD, threadPath(root_, live_[i].pid, thread.tid, "children").c_str(), O_RDONLY);
      if (!file.valid()) {
        if (i == 0 && thread.tid == live_[i].pid) return false;
        continue;
      }
      char text[16384];
      for (const std::string_view word : splitWords(preadSmall(file.get(), text), 4096))
        if (const auto pid = parseNumber(word))
          children.push_back(static_cast<std::uint32_t>(*pid));
    }
  }
  bool found = false;
  for (const std::uint32_t pid : children) {
    if (find(pid) != nullptr) continue;
    if (const auto stat = statOf(pid)) {
      add(*stat, bornAt(stat->startTicks));
      found = true;
    } else {
      emit(now_, Loss{LossKind::kShortLived, 1, {}});
    }
  }
  return !found || childrenFromFiles();  // children of the children
}

// Every pid of /proc that is not known to be another's; those are asked again in turn, because
// their number may have been given to a child since.
void ProcessTree::scanProc() {
  constexpr std::uint64_t kTurns = 16;
  ++scans_;
  std::vector<ProcStat> fresh;
  forEachNumber(under(root_, "proc"), [&](std::uint32_t pid) {
    if (byPid_.contains(pid)) return;
    const auto other = foreign_.find(pid);
    if (other != foreign_.end() && pid % kTurns != scans_ % kTurns) {
      other->second = scans_;
      return;
    }
    if (auto stat = statOf(pid); stat && stat->state != 'Z') fresh.push_back(std::move(*stat));
  });
  for (bool found = true; found;) {
    found = false;
    for (ProcStat& stat : fresh) {
      if (stat.pid == 0 || !byPid_.contains(stat.parent)) continue;
      foreign_.erase(stat.pid);
      add(stat, bornAt(stat.startTicks));
      stat.pid = 0;
      found = true;
    }
  }
  for (const ProcStat& stat : fresh)
    if (stat.pid != 0) foreign_[stat.pid] = scans_;
  std::erase_if(foreign_, [&](const auto& entry) { return entry.second != scans_; });
}

void ProcessTree::lookForChildren() {
  childrenFiles_ = childrenFiles_ && childrenFromFiles();
  if (!childrenFiles_) scanProc();
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
  if (!follow || all) born_ = tasksWereBorn() || born_;
  if (!born_ || now_ < nextScan_) return;
  born_ = false;
  lookForChildren();
  nextScan_ = now_ + (follow ? kSafetyScan : childrenFiles_ ? kChildrenEvery : kScanEvery);
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
  if (const auto stat = statOf(static_cast<std::uint32_t>(rootPid_)); stat && live_.empty())
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
  for (auto dead = dead_.rbegin(); dead != dead_.rend(); ++dead)
    if (dead->pid == pid && same(dead->startTicks)) return dead->id;
  if (const auto stat = statOf(pid); stat && same(stat->startTicks)) {
    if (find(pid) != nullptr) remove(pid, now_);  // its number was given away
    LiveProcess& process = add(*stat, bornAt(stat->startTicks));
    readImage(process, false);
    announce(process);
    return process.id;
  }
  // Gone before it was seen: its records still need a name.
  dead_.push_back({ProcessId{nextProcess_++}, pid, startTicks, {}});
  ProcessSeen seen;
  seen.process = dead_.back().id;
  seen.pid = pid;
  seen.startTicks = startTicks;
  emit(now_, seen);
  emit(now_, ProcessGone{seen.process});
  return seen.process;
}

ThreadId ProcessTree::threadOf(ProcessId id, std::uint32_t tid) {
  if (LiveProcess* process = find(id)) return addThread(*process, tid, now_, {});
  const auto dead =
      std::find_if(dead_.rbegin(), dead_.rend(), [&](const Dead& d) { return d.id == id; });
  if (dead == dead_.rend()) return {};
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
  const auto stat = statOf(pid);
  return !stat || !same(stat->startTicks) || stat->state == 'Z' || stat->state == 'X';
}

}  // namespace stallprof
