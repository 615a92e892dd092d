// SPDX-License-Identifier: MIT
#include "sampler/thread_sampler.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace stallprof {
namespace {

// Back-off of a thread that has not run: its blocked time stays exact, since the count that stays
// still proves all of it.
constexpr Nanos kRestingAfter = kOneSecond, kRestingEvery = std::chrono::milliseconds(50);
constexpr Nanos kAsleepAfter = 10 * kOneSecond, kAsleepEvery = std::chrono::milliseconds(200);
// Samples of threads that are still blocked take 2 to 3 us: 1,000 a second are 0.3 % of a core.
constexpr std::size_t kFewThreads = 16;
constexpr Nanos::rep kBlockingSamples = 1000;
// A thread is idle that runs, or waits for a CPU, for less than this part of its time: hundreds of
// a framework's wake up for timers and heartbeats, and each sample of one that ran takes more
// reads.
constexpr Nanos::rep kIdlePart = 200;
// Of threads without a stack, beside some that have one: one sample in so many, from the tenth on;
// a thread that has just begun may not have been listed yet.
constexpr Nanos::rep kPoolTurns = 4;
constexpr std::uint8_t kSurelyWithout = 10;
// Threads that train, at 10 samples a second of up to 0.1 ms each: 6 % of a core for so many.
constexpr std::size_t kMaxPreferred = 64;
// A stopped or dead thread appears blocked; its state is read once in an episode this long.
constexpr Nanos kConfirmAfter = std::chrono::milliseconds(100);
// 400 slices a second are about 30 MB an hour, half of the recording's budget. Above that, slices
// are gathered over a window; it shrinks again below half.
constexpr std::size_t kSlicesPerSecond = 400;
constexpr Nanos kWindows[] = {Nanos{0},       Nanos{100'000'000}, Nanos{300'000'000}, kOneSecond,
                              3 * kOneSecond, 10 * kOneSecond,    30 * kOneSecond};
// Threads that do the same on and on make at most 200 slices a second together, those that stay
// blocked 50 (with their stacks 6 MB an hour). A minute of a sleeper may be lost with a recorder
// that is killed, where thousands sleep.
constexpr Nanos kSteadySlice = kOneSecond / 200, kAsleepSlice = kOneSecond / 50,
                kLongestSlice = 60 * kOneSecond;

// A process's first thread, which may wait for its data.
bool mayTrain(const WaitReader::Thread& task) { return task.pid == task.tid; }

}  // namespace

ThreadSampler::ThreadSampler(std::string root, ProcessTree& tree)
    : root_(std::move(root)),
      tree_(tree),
      pace_{Pace{}.asked, 1},
      fds_(keptFdLimit(0.30)),
      waits_(root_, fds_) {
  tree_.keepChanges();
}

Nanos ThreadSampler::period() const {
  return quick_ == 0 ? std::max(pace_.period, kRestingEvery) : pace_.period;
}

void ThreadSampler::setPace(const Pace& pace) {
  pace_ = pace;
  const Nanos::rep before = interval_;
  interval_ = std::max<Nanos::rep>((pace.period + pace.asked / 2) / pace.asked, 1) * pace.turns;
  faster_ = faster_ || interval_ < before;
}

void ThreadSampler::prefer(std::span<const ThreadId> threads) {
  if (preferred_.size() >= std::min(threads.size(), kMaxPreferred)) return;
  for (const ThreadId id : threads) {
    const auto found = threads_.find(id);
    if (found == threads_.end() || found->second.preferred) continue;
    if (preferred_.size() == kMaxPreferred) return;
    found->second.preferred = true;
    preferred_.push_back(&found->second);
  }
}

void ThreadSampler::resume(Nanos now, Nanos paused) {
  resumed_ = now;
  second_ += paused;
  for (Turn& turn : turns_)
    if (turn.due > Nanos::zero()) turn.due += paused;
  if (taker_ != nullptr) taker_->resume(paused);
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
    thread.task.pid = change.pid;
    thread.task.tid = change.thread.tid;
    thread.task.process = change.process;
    thread.older = tree_.older(change.thread.since);
    thread.slice.start(change.thread.id, std::min(change.thread.since, now));
    thread.slice.setWindow(window_);
    thread.place = turns_.size();
    turns_.push_back({Nanos::zero(), &thread});
    fresh.push_back(change.thread.id);
  }
  if (!probed_ && !turns_.empty()) {
    probed_ = true;
    const WaitReader::Thread& first = turns_.front().thread->task;
    waits_.probe(first.pid, first.tid, now, out);
  }
  for (const ThreadId id : fresh)
    if (const auto found = threads_.find(id); found != threads_.end())
      sample(found->second, now, out);
}

void ThreadSampler::drop(ThreadId id, Nanos at, EventOut& out) {
  const auto found = threads_.find(id);
  if (found == threads_.end()) return;
  Watched& thread = found->second;
  if (thread.stat.count >= 0) thread.slice.lose(at, out);
  thread.sched.close(fds_);
  thread.task.call.close(fds_);
  setQuick(thread, false);
  std::erase(preferred_, &thread);
  turns_[thread.place] = turns_.back();
  turns_[thread.place].thread->place = thread.place;
  turns_.pop_back();
  threads_.erase(found);
}

// ---- one sample ---------------------------------------------------------------------------------

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
  oldest->task.call.close(fds_);
}

std::uint64_t ThreadSampler::random() {
  random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
  return random_ >> 33;
}

// Of `stat` where a kernel or a sandbox has no schedstat: in ticks, with no count of how often
// it got a CPU. A thread that may have run since is asked what it waits for each time.
std::optional<SchedStat> ThreadSampler::readSchedule(Watched& thread) {
  char buffer[1024];
  const bool schedule = waits_.seesSchedule();
  const std::string path = thread.sched.kept() ? std::string()
                                               : threadPath(root_, thread.task.pid, thread.task.tid,
                                                            schedule ? "schedstat" : "stat");
  const std::string_view text = thread.sched.read(path, buffer, fds_);
  if (schedule) return parseSchedStat(text);
  const auto stat = parseStat(text);
  if (!stat || stat->userTicks < 0 || stat->systemTicks < 0) return std::nullopt;
  return SchedStat{tickLength() * (stat->userTicks + stat->systemTicks), {}, thread.stat.count + 1};
}

void ThreadSampler::sample(Watched& thread, Nanos now, EventOut& out) {
  makeRoom(thread, now);
  thread.used = now;
  const auto stat = readSchedule(thread);
  if (!stat && lacksMeans(errno)) return;  // asked again at its next turn
  if (!stat) {  // ESRCH from a kept descriptor, ENOENT else: it has ended
    thread.gone = true;
    setQuick(thread, false);
    tree_.suspect(thread.task.pid);
    return;
  }
  const bool stillBlocked = recheck(thread, *stat, now, out);
  planNext(thread, stillBlocked, now);
}

bool ThreadSampler::recheck(Watched& thread, const SchedStat& stat, Nanos now, EventOut& out) {
  const bool first = thread.stat.count < 0;
  const bool stillBlocked = !first && stat.count == thread.stat.count && thread.seen.blocked();
  if (!stillBlocked) {
    thread.seen = waits_.read(thread.task, now, out);
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
  const bool idle = !thread.preferred && !mayTrain(thread.task) && thread.seen.blocked() &&
                    (run + queued) * kIdlePart <= now - thread.slice.last();
  if (first || (!stillBlocked && !idle)) thread.idleSince = now;
  if (!first && !stillBlocked && thread.slice.last() < resumed_)
    thread.slice.lose(now, out, run, queued);
  else
    thread.slice.sample(now, run, queued, thread.seen, out);
  thread.stat = stat;
  if (taker_ == nullptr) return stillBlocked;
  const bool read = taker_->sample(
      {thread.slice.thread(), thread.task.process, thread.task.pid, thread.task.tid, stillBlocked,
       thread.seen.blocked(), waits_.seesCalls(), thread.task.futex, thread.slice.longest(),
       thread.preferred, thread.preferred ? pace_.period : pace_.between()});
  thread.without = read ? 0 : std::min<std::uint8_t>(thread.without + 1, kSurelyWithout);
  return stillBlocked;
}

// Exponential back-off. A thread that ran is due at the next turn. One that is still blocked, or is
// idle among many, waits as long again as it has been so already, up to its share of
// kBlockingSamples: thousands of sleepers are soon left alone. A slower pace lengthens the share
// too, so that the cost of samples stays in proportion to the pace.
void ThreadSampler::planNext(Watched& thread, bool stillBlocked, Nanos now) {
  const Nanos still = stillBlocked ? now - thread.unchangedSince : Nanos::zero();
  Nanos rest = still < kRestingAfter  ? Nanos::zero()
               : still < kAsleepAfter ? kRestingEvery
                                      : kAsleepEvery;
  if (turns_.size() > kFewThreads && !thread.preferred) {
    Nanos share = std::min(now - thread.idleSince, shareOfIdle());
    if (mayTrain(thread.task)) share = std::min(share, kOneSecond);
    rest = std::max(rest, share - share / 4 * static_cast<Nanos::rep>(random() % 1024) / 1024);
  }
  setQuick(thread, rest < kRestingEvery);
  if (rest >= kOneSecond) thread.task.call.close(fds_);  // not read while it is blocked
  rest = std::max(rest, restOfPool(thread));
  // Half a period early: the loop's own jitter must not cost a whole turn.
  turns_[thread.place].due = rest == Nanos::zero() ? Nanos::zero() : now + rest - pace_.period / 2;
}

// How long one of those that share kBlockingSamples waits for its turn, at the pace there is.
Nanos ThreadSampler::shareOfIdle() const {
  const auto others = static_cast<Nanos::rep>(std::max(turns_.size(), kFewThreads) - kFewThreads);
  return kOneSecond * others / kBlockingSamples * interval_;
}

// Their turns are of a slower pace, minutes away for some: what has begun to train since would not
// be seen. Spread, so that no round has them all.
void ThreadSampler::wakeSleepers(Nanos now) {
  const Nanos share = std::max(shareOfIdle(), kAsleepEvery);
  for (Turn& turn : turns_)
    if (turn.due > now + share)
      turn.due = now + share / 1024 * static_cast<Nanos::rep>(random() % 1024);
}

// Spread over the turns, so that none of them has all of a pool. What a graph waits for is known
// from the threads that get its next batches alone: they are no pool. At the slowest paces no
// longer than a second, which is long enough for what a thread is blocked in to change.
Nanos ThreadSampler::restOfPool(const Watched& thread) {
  if (thread.preferred || thread.without < kSurelyWithout || thread.task.getsNext || interval_ <= 1)
    return Nanos::zero();
  const auto turns = kPoolTurns - 1 + static_cast<Nanos::rep>(random() % 3);
  return std::min(pace_.between() * turns, kOneSecond);
}

void ThreadSampler::setQuick(Watched& thread, bool quick) {
  if (std::exchange(thread.quick, quick) == quick) return;
  if (quick)
    ++quick_;
  else
    --quick_;
}

// ---- what a thread is blocked in ----------------------------------------------------------------

void ThreadSampler::confirm(Watched& thread) {
  thread.confirmed = true;
  switch (waits_.stateOf(thread.task)) {
    case 'T':
    case 't':
      thread.seen = {Wait::kStopped, {}};
      break;
    case 'Z':
    case 'X':
    case '?':
      tree_.suspect(thread.task.pid);
      break;
    default:
      break;
  }
}

// ---- Sampler ------------------------------------------------------------------------------------

void ThreadSampler::sample(Nanos now, EventOut& out) {
  follow(now, out);
  if (std::exchange(faster_, false)) wakeSleepers(now);
  const auto unpaced = [this] { return taker_ == nullptr ? Nanos{} : taker_->unpacedCpu(); };
  const Nanos before = processCpu() - unpaced();
  scanThreads(now, out);
  pacedCpu_ += std::max(processCpu() - unpaced() - before, Nanos::zero());
  if (now - second_ >= kOneSecond) eachSecond(now, out);
}

void ThreadSampler::scanThreads(Nanos now, EventOut& out) {
  ++tick_;
  const std::size_t turns = std::max(1u, pace_.turns);
  for (std::size_t i = tick_ % turns; i < turns_.size(); i += turns) {
    const Turn& turn = turns_[i];
    if (now >= turn.due && !turn.thread->gone) sample(*turn.thread, now, out);
  }
  for (const Watched* thread : preferred_)
    if (thread->place % turns != tick_ % turns && !thread->gone && now >= turns_[thread->place].due)
      sample(*turns_[thread->place].thread, now, out);
  if (turns > 1) skipped_ += turns_.size() - turns_.size() / turns;
  if (taker_ != nullptr) taker_->endRound(now, pace_, out);
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
  const Nanos steady = std::clamp(threads * kSteadySlice, kOneSecond, kLongestSlice);
  const Nanos asleep = std::clamp(threads * kAsleepSlice, kOneSecond, kLongestSlice);
  for (const Turn& turn : turns_) {
    Watched* thread = turn.thread;
    const bool rests = thread->seen.blocked() && now - thread->unchangedSince > kRestingAfter;
    thread->slice.setWindow(window_);
    thread->slice.setLongest(std::max(rests ? asleep : steady, window_));
  }
}

// Reports samples that were left out.
void ThreadSampler::eachSecond(Nanos now, EventOut& out) {
  second_ = now;
  boundSlices(now);
  waits_.eachSecond(tree_, now, out);
  if (skipped_ == 0) return;
  out.emit(now, Loss{LossKind::kThreadsSkipped, std::exchange(skipped_, 0), {}});
}

void ThreadSampler::finish(Nanos now, EventOut& out) {
  follow(now, out);
  for (const Turn& turn : turns_) {
    Watched* thread = turn.thread;
    if (!thread->gone) sample(*thread, now, out);
    thread->slice.flush(out);
  }
  if (taker_ != nullptr) taker_->finish(now, out);
  eachSecond(now, out);
}

}  // namespace stallprof
