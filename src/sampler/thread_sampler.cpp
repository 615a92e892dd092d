// SPDX-License-Identifier: MIT
#include "sampler/thread_sampler.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "event/get_next.h"

namespace stallprof {
namespace {

constexpr Nanos kSecond = std::chrono::seconds(1);
// Back-off of a thread that has not run: its blocked time stays exact, since the count that stands
// still proves all of it.
constexpr Nanos kRestingAfter = kSecond, kRestingEvery = std::chrono::milliseconds(50);
constexpr Nanos kAsleepAfter = 10 * kSecond, kAsleepEvery = std::chrono::milliseconds(200);
// Looks at threads that stand take 2 to 3 us: 1,000 a second are 0.3 % of a core.
constexpr std::size_t kFewThreads = 16;
constexpr Nanos::rep kStandingLooks = 1000;
// A stopped or dead thread looks blocked; its state is read once in an episode this long.
constexpr Nanos kConfirmAfter = std::chrono::milliseconds(100);
// 400 slices a second are about 30 MB an hour, half of the recording's budget. Above that, slices
// are gathered over a window; it shrinks again below half.
constexpr std::size_t kSlicesPerSecond = 400;
constexpr Nanos kWindows[] = {Nanos{0},    Nanos{100'000'000}, Nanos{300'000'000}, kSecond,
                              3 * kSecond, 10 * kSecond,       30 * kSecond};
// Threads that do the same on and on tell at most 200 slices a second together, those that stand 50
// (with their stacks 6 MB an hour). A minute of a sleeper may be lost with a recorder that is
// killed, where thousands sleep.
constexpr Nanos kSteadySlice = kSecond / 200, kAsleepSlice = kSecond / 50,
                kLongestSlice = 60 * kSecond;

bool refused(int error) { return error == EPERM || error == EACCES; }

}  // namespace

ThreadSampler::ThreadSampler(std::string root, ProcessTree& tree, unsigned hz)
    : root_(std::move(root)),
      tree_(tree),
      fastest_(kSecond / std::clamp(hz, 1u, 1000u)),
      pace_{fastest_, 1},
      fds_(keptFdLimit(0.35)),
      mounts_(under(root_, "proc/self/mountinfo")),
      files_(mounts_),
      classifier_(root_, mounts_),
      openFiles_(root_, classifier_, files_),
      getNexts_(root_) {
  tree_.keepChanges();
}

Nanos ThreadSampler::period() const {
  return quick_ == 0 ? std::max(pace_.period, kRestingEvery) : pace_.period;
}

void ThreadSampler::setPace(const Pace& pace) {
  pace_ = pace;
  stretch_ = std::max<Nanos::rep>((pace.period + fastest_ / 2) / fastest_, 1) * pace.turns;
}

std::uint32_t ThreadSampler::milliHz() const {
  return static_cast<std::uint32_t>(1e12 / static_cast<double>(pace_.period.count()) /
                                    static_cast<double>(pace_.turns));
}

// ---- which threads ------------------------------------------------------------------------------

void ThreadSampler::follow(Nanos now, EventOut& out) {
  std::vector<ThreadId> fresh;
  for (const ThreadChange& change : tree_.takeChanges()) {
    if (!change.born) {
      drop(change.thread.id, std::min(change.ended, now), out);
      continue;
    }
    const auto [found, isNew] = threads_.try_emplace(change.thread.id);
    if (!isNew) continue;
    Watched& thread = found->second;
    thread.pid = change.pid;
    thread.tid = change.thread.tid;
    thread.process = change.process;
    thread.older = tree_.older(change.thread.since);
    thread.slice.start(change.thread.id, std::min(change.thread.since, now));
    thread.slice.setWindow(window_);
    thread.place = turns_.size();
    turns_.push_back({Nanos::zero(), &thread});
    fresh.push_back(change.thread.id);
  }
  if (!probed_ && !turns_.empty()) probe(now, out);
  for (const ThreadId id : fresh)
    if (const auto found = threads_.find(id); found != threads_.end())
      look(found->second, now, out);
}

void ThreadSampler::drop(ThreadId id, Nanos at, EventOut& out) {
  const auto found = threads_.find(id);
  if (found == threads_.end()) return;
  Watched& thread = found->second;
  if (thread.stat.count >= 0) thread.slice.lose(at, out);
  thread.sched.close(fds_);
  thread.call.close(fds_);
  setQuick(thread, false);
  turns_[thread.place] = turns_.back();
  turns_[thread.place].thread->place = thread.place;
  turns_.pop_back();
  threads_.erase(found);
}

// ---- one look -----------------------------------------------------------------------------------

// The budget is spent: of a few threads taken at random the longest unused gives up its
// descriptors. A thread that rests takes none from another: it reads seldom.
void ThreadSampler::makeRoom(const Watched& thread, Nanos now) {
  if (!fds_.full() || thread.sched.kept() || now - thread.unchangedSince > kRestingAfter) return;
  Watched* oldest = nullptr;
  for (int i = 0; i < 8; ++i) {
    Watched* other = turns_[random() % turns_.size()].thread;
    if (other->sched.kept() && (oldest == nullptr || other->used < oldest->used)) oldest = other;
  }
  if (oldest == nullptr) return;
  oldest->sched.close(fds_);
  oldest->call.close(fds_);
}

std::uint64_t ThreadSampler::random() {
  random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
  return random_ >> 33;
}

void ThreadSampler::look(Watched& thread, Nanos now, EventOut& out) {
  makeRoom(thread, now);
  thread.used = now;
  char buffer[128];
  const std::string path =
      thread.sched.kept() ? std::string() : threadPath(root_, thread.pid, thread.tid, "schedstat");
  const auto stat = parseSchedStat(thread.sched.read(path, buffer, fds_));
  if (!stat) {  // ESRCH from a kept descriptor, ENOENT else: it has ended
    thread.gone = true;
    setQuick(thread, false);
    tree_.suspect(thread.pid);
    return;
  }
  const bool stood = lookAgain(thread, *stat, now, out);
  planNext(thread, stood, now);
}

bool ThreadSampler::lookAgain(Watched& thread, const SchedStat& stat, Nanos now, EventOut& out) {
  const bool first = thread.stat.count < 0;
  const bool stood = !first && stat.count == thread.stat.count && thread.seen.blocked();
  if (!stood) {
    thread.seen = see(thread, now, out);
    thread.unchangedSince = now;
    thread.confirmed = false;
  } else if (!thread.confirmed && now - thread.unchangedSince > kConfirmAfter) {
    confirm(thread);
  }
  // Counters that went back are another task's: an exec from a second thread took the number over.
  // Those of a new thread began with 0, those of one that is older than we are begin here.
  const SchedStat before = !first ? thread.stat : thread.older ? stat : SchedStat{};
  const Nanos run = std::max(stat.run - before.run, Nanos::zero());
  const Nanos queued = std::max(stat.queued - before.queued, Nanos::zero());
  thread.slice.look(now, run, queued, thread.seen, out);
  thread.stat = stat;
  if (taker_ != nullptr)
    taker_->look({thread.slice.thread(), thread.process, thread.pid, thread.tid, stood,
                  thread.seen.blocked(), !syscallDenied_, thread.futex, thread.slice.longest()});
  return stood;
}

// A thread that moved is due at the next turn. One that stood waits as long again as it has stood
// already, up to its share of kStandingLooks: thousands of sleepers are soon left alone. A slower
// pace stretches the share too, so that the cost of looks stays in proportion to the pace.
void ThreadSampler::planNext(Watched& thread, bool stood, Nanos now) {
  const Nanos still = stood ? now - thread.unchangedSince : Nanos::zero();
  Nanos rest = still < kRestingAfter  ? Nanos::zero()
               : still < kAsleepAfter ? kRestingEvery
                                      : kAsleepEvery;
  if (turns_.size() > kFewThreads) {
    const auto others = static_cast<Nanos::rep>(turns_.size() - kFewThreads);
    const Nanos share = std::min(still, kSecond * others / kStandingLooks * stretch_);
    rest = std::max(rest, share - share / 4 * static_cast<Nanos::rep>(random() % 1024) / 1024);
  }
  setQuick(thread, rest < kRestingEvery);
  if (rest >= kSecond) thread.call.close(fds_);  // not read while it stands
  // Half a period early: the loop's own jitter must not cost a whole turn.
  turns_[thread.place].due = rest == Nanos::zero() ? Nanos::zero() : now + rest - pace_.period / 2;
}

void ThreadSampler::setQuick(Watched& thread, bool quick) {
  if (std::exchange(thread.quick, quick) == quick) return;
  if (quick)
    ++quick_;
  else
    --quick_;
}

// ---- what a thread is blocked in ----------------------------------------------------------------

char ThreadSampler::stateOf(const Watched& thread) const {
  const auto stat = parseStat(contentOf(threadPath(root_, thread.pid, thread.tid, "stat"), 4096));
  return stat ? stat->state : '?';
}

void ThreadSampler::confirm(Watched& thread) {
  thread.confirmed = true;
  switch (stateOf(thread)) {
    case 'T':
    case 't':
      thread.seen = {Wait::kStopped, {}};
      break;
    case 'Z':
    case 'X':
    case '?':
      tree_.suspect(thread.pid);
      break;
    default:
      break;
  }
}

Seen ThreadSampler::see(Watched& thread, Nanos now, EventOut& out) {
  thread.futex = 0;
  if (syscallDenied_) return seeWithoutSyscall(thread, out);
  char buffer[256];
  const std::string path =
      thread.call.kept() ? std::string() : threadPath(root_, thread.pid, thread.tid, "syscall");
  // Kept from the second time on: a thread that sleeps for good needs it once.
  FdBudget none(0);
  const bool again = std::exchange(thread.asked, true);
  const std::string_view text = thread.call.read(path, buffer, again ? fds_ : none);
  // A program that gave up being dumpable is refused alone.
  if (text.empty() && refused(errno)) return seeWithoutSyscall(thread, out);
  const auto line = parseSyscall(text);
  if (!line) return seeWithoutSyscall(thread, out);
  if (line->kind == SyscallLine::Kind::kRunning)
    return {Wait::kRunning,
            getNexts_.runsInside(thread.process, thread.tid) ? out.intern(kInGetNext) : StringId{}};
  if (line->kind == SyscallLine::Kind::kCall) return seeCall(thread, *line, now, out);
  switch (stateOf(thread)) {
    case 'D':
      return {Wait::kPageFault, {}};
    case 'T':
    case 't':
      return {Wait::kStopped, {}};
    case 'R':
      return {Wait::kRunning, {}};
    default:
      return {Wait::kOther, {}};
  }
}

Seen ThreadSampler::seeCall(Watched& thread, const SyscallLine& line, Nanos now, EventOut& out) {
  const CallClass call = classOfCall(line.number);
  thread.futex = line.number == SYS_futex ? line.args[0] : 0;
  const StringId name = call.name.empty() ? StringId{} : out.intern(call.name);
  switch (call.kind) {
    case CallKind::kFdRead:
    case CallKind::kFdWrite:
    case CallKind::kFdAny:
    case CallKind::kSocket:
    case CallKind::kEpoll:
      return seeDescriptor(thread, call, line.args[call.fdArg], now, out);
    case CallKind::kPoll:
      // With no descriptor at all it is how programs sleep (Python's time.sleep up to 3.10).
      if (call.countArg >= 0 && line.args[static_cast<std::size_t>(call.countArg)] == 0)
        return {Wait::kSleep, name};
      return {Wait::kPoll, name};
    case CallKind::kFutex:
      if (getNexts_.blockedInside(thread.process, thread.pid, thread.tid, line.stack, now))
        return {Wait::kFutex, out.intern(kInGetNext)};
      return {Wait::kFutex, name};
    case CallKind::kOther:
      if (name.none()) return {Wait::kOther, out.intern("call " + std::to_string(line.number))};
      return {Wait::kOther, name};
    default:
      return {waitOf(call.kind, FdKind::kUnknown), name};
  }
}

Seen ThreadSampler::seeDescriptor(Watched& thread, const CallClass& call, std::uint64_t fd,
                                  Nanos now, EventOut& out) {
  const FdTarget target = classifier_.look(thread.pid, fd, now);
  const Wait wait = waitOf(call.kind, target.kind);
  if (target.kind == FdKind::kFile && (wait == Wait::kFileRead || wait == Wait::kFileWrite))
    return {wait, files_.waited(thread.process, target, now, out)};
  if (target.kind == FdKind::kUnknown || wait == Wait::kPoll) return {wait, out.intern(call.name)};
  return {wait, out.intern(target.name)};
}

// /proc/TID/syscall is refused (Yama, another user's program): the kernel's wait channel, else the
// state letter, which tells running from blocked and no more.
Seen ThreadSampler::seeWithoutSyscall(const Watched& thread, EventOut& out) {
  const char state = stateOf(thread);
  if (state == 'R') return {Wait::kRunning, {}};
  if (state == 'T' || state == 't') return {Wait::kStopped, {}};
  if (wchanDenied_) return {};
  const std::string wchan = contentOf(threadPath(root_, thread.pid, thread.tid, "wchan"), 128);
  const Wait wait = waitOfChannel(wchan);
  return wait == Wait::kUnknown ? Seen{} : Seen{wait, out.intern(wchan)};
}

// ---- Sampler ------------------------------------------------------------------------------------

void ThreadSampler::sample(Nanos now, EventOut& out) {
  follow(now, out);
  const Nanos before = processCpu();
  lookAround(now, out);
  pacedCpu_ += processCpu() - before;
  if (now - second_ >= kSecond) eachSecond(now, out);
}

void ThreadSampler::lookAround(Nanos now, EventOut& out) {
  ++tick_;
  const std::size_t turns = std::max(1u, pace_.turns);
  for (std::size_t i = tick_ % turns; i < turns_.size(); i += turns) {
    const Turn& turn = turns_[i];
    if (now >= turn.due && !turn.thread->gone) look(*turn.thread, now, out);
  }
  if (turns > 1) skipped_ += turns_.size() - turns_.size() / turns;
  if (taker_ != nullptr) taker_->endRound(now, pace_.period * static_cast<Nanos::rep>(turns), out);
}

// Keeps the number of slices bounded.
void ThreadSampler::boundSlices(Nanos now) {
  std::size_t emitted = 0;
  for (const Turn& turn : turns_) emitted += turn.thread->slice.takeEmitted();
  const Nanos* level = std::find(std::begin(kWindows), std::end(kWindows), window_);
  if (emitted > kSlicesPerSecond && level + 1 != std::end(kWindows)) ++level;
  if (emitted < kSlicesPerSecond / 2 && level != std::begin(kWindows)) --level;
  window_ = *level;
  const auto threads = static_cast<Nanos::rep>(turns_.size());
  const Nanos steady = std::clamp(threads * kSteadySlice, kSecond, kLongestSlice);
  const Nanos asleep = std::clamp(threads * kAsleepSlice, kSecond, kLongestSlice);
  for (const Turn& turn : turns_) {
    Watched* thread = turn.thread;
    const bool rests = thread->seen.blocked() && now - thread->unchangedSince > kRestingAfter;
    thread->slice.setWindow(window_);
    thread->slice.setLongest(std::max(rests ? asleep : steady, window_));
  }
}

// Tells of looks that were left out.
void ThreadSampler::eachSecond(Nanos now, EventOut& out) {
  second_ = now;
  boundSlices(now);
  openFiles_.look(tree_, now, out);
  getNexts_.tell(now, out);
  if (skipped_ == 0) return;
  out.emit(now, Loss{LossKind::kThreadsSkipped, std::exchange(skipped_, 0), {}});
}

// What may be read of the job's first thread may be read of all.
void ThreadSampler::probe(Nanos now, EventOut& out) {
  probed_ = true;
  const Watched& first = *turns_.front().thread;
  const auto why = [&](std::string_view file) -> std::string {
    errno = 0;
    char buffer[256];
    const Fd fd = openAt(AT_FDCWD, threadPath(root_, first.pid, first.tid, file).c_str(), 0);
    if (fd.valid() && !preadSmall(fd.get(), buffer).empty()) return {};
    return errno == 0 ? "empty" : errnoText(errno);
  };
  const std::string sched = why("schedstat"), call = why("syscall"), wchan = why("wchan");
  emitSource(
      out, now, "thread_state", sched.empty() ? Coverage::kFull : Coverage::kAbsent,
      sched.empty() ? "" : "schedstat: " + sched + "; a kernel with CONFIG_SCHED_INFO has it");
  syscallDenied_ = !call.empty();
  emitSource(out, now, "thread_syscall", call.empty() ? Coverage::kFull : Coverage::kAbsent,
             call.empty() ? ""
                          : "syscall: " + call +
                                "; running stallprof as root, or 'sysctl "
                                "kernel.yama.ptrace_scope=0', would name calls and files");
  wchanDenied_ = !wchan.empty();
  emitSource(out, now, "thread_wchan", wchan.empty() ? Coverage::kFull : Coverage::kAbsent,
             wchan.empty() ? "" : "wchan: " + wchan);
}

void ThreadSampler::finish(Nanos now, EventOut& out) {
  follow(now, out);
  for (const Turn& turn : turns_) {
    Watched* thread = turn.thread;
    if (!thread->gone) look(*thread, now, out);
    thread->slice.flush(out);
  }
  if (taker_ != nullptr) taker_->finish(now, out);
  eachSecond(now, out);
}

}  // namespace stallprof
