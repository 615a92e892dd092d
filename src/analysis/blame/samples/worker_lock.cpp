// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/worker_lock.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/facts/observed.h"
#include "analysis/facts/stack_samples.h"
#include "classify/frames.h"

namespace stallprof {
namespace {

// Of a worker's time: below, its locks cost too little to ask who has them.
constexpr double kNotableWait = 0.1;

// One worker in one epoch.
struct Maker {
  ThreadId thread;
  Intervals making, waits;
};

// A thread that waits so has no lock for which another waits, or does not use it.
bool idle(Wait wait) { return wait == Wait::kFutex || wait == Wait::kPipe; }

// The slices of a thread in `span` of which `wanted(wait)` is true, as their union.
template <class Wanted>
Intervals slicesOf(const ThreadLife& thread, const Interval& span, Wanted wanted) {
  Intervals found;
  divide(thread.slices, span, [&](const Interval& piece, const Timed<ThreadSlice>* slice) {
    if (slice && slice->data.samples > 0 && wanted(slice->data.wait)) found.push_back(piece);
  });
  return joined(std::move(found));
}

void findWaits(const Trace& trace, Maker& maker) {
  const Interval span{maker.making.front().begin, maker.making.back().end};
  const ThreadLife& thread = trace.thread(maker.thread);
  const Intervals blocked = slicesOf(thread, span, [](Wait wait) { return wait == Wait::kFutex; });
  if (blocked.empty()) return;
  Intervals atWork;
  for (const ThreadId other : trace.process(thread.process).threads) {
    if (other == maker.thread) continue;
    const Intervals more =
        slicesOf(trace.thread(other), span, [](Wait wait) { return !idle(wait); });
    atWork.insert(atWork.end(), more.begin(), more.end());
  }
  atWork = joined(std::move(atWork));
  for (const Interval& making : maker.making)
    divide(blocked, making, [&](const Interval& wait, const Interval* in) {
      if (!in) return;
      divide(atWork, wait, [&](const Interval& rest, const Interval* beside) {
        if (!beside) maker.waits.push_back(rest);
      });
    });
}

struct Change {
  Nanos at{};
  int making = 0, waiting = 0;
};

std::vector<Change> changesOf(const std::vector<Maker>& makers) {
  std::vector<Change> changes;
  for (const Maker& maker : makers) {
    for (const Interval& i : maker.making) {
      changes.push_back({i.begin, 1, 0});
      changes.push_back({i.end, -1, 0});
    }
    for (const Interval& i : maker.waits) {
      changes.push_back({i.begin, 0, 1});
      changes.push_back({i.end, 0, -1});
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });
  return changes;
}

// How much of the time a lock is held for whose sake each of `workers` waits `waiting` of its time.
// Of the model of machines that one repairer serves, with exponential times (M/M/1//N): the
// probability of n workers at the lock is proportional to N!/(N-n)! a^n, where a is the time under
// the lock over that between two of them. Of steadier times the same waits mean a busier lock.
double busyShare(double waiting, int workers) {
  const auto at = [&](double a) {
    double here = 1, all = 1, queue = 0;  // probabilities, times that of nobody at the lock
    for (int n = 1; n <= workers; ++n) {
      here *= a * (workers - n + 1);
      all += here;
      queue += (n - 1) * here;
    }
    return std::pair(queue / all / workers, 1 - 1 / all);
  };
  double low = 1e-4, high = 1e4;  // of `a`; the waits grow with it
  for (int i = 0; i < 60; ++i) {
    const double middle = std::sqrt(low * high);
    (at(middle).first < waiting ? low : high) = middle;
  }
  return at(low).second;
}

// The workers of one epoch, which share what they share.
void add(WorkerLock& lock, const std::vector<Maker>& makers) {
  std::map<int, Nanos> watchedBy;  // how many made batches at a time -> how long
  Nanos making{}, waited{}, before{};
  int makingNow = 0, waitingNow = 0;
  for (const Change& change : changesOf(makers)) {
    const Nanos length = change.at - before;
    if (makingNow > 1) {
      watchedBy[makingNow] += length;
      making += length * makingNow;
      waited += length * waitingNow;
      if (waitingNow == makingNow) lock.every += length;
    }
    before = change.at;
    makingNow += change.making;
    waitingNow += change.waiting;
  }
  const double share = making > Nanos{} ? seconds(waited) / seconds(making) : 0;
  for (const auto& [workers, time] : watchedBy) {
    lock.watched += time;
    lock.byChance += seconds(time) * std::pow(share, workers);
    lock.busy += seconds(time) * busyShare(share, workers);
  }
  lock.making += making;
  lock.waited += waited;
}

// `with lock:` of multiprocessing's: a worker of a loader shares it with the others.
bool isNamedLock(const Trace& trace, StackId stack) {
  if (stack.none()) return false;
  const StackSeen& frame = trace.stack(stack);
  return fitsModule(modulePathOf(trace.text(frame.file)), "multiprocessing/synchronize.py") &&
         fitsFunction(trace.text(frame.function), "SemLock.__enter__");
}

void addNamed(WorkerLock& lock, const Trace& trace, const Maker& maker) {
  eachSample(trace, trace.thread(maker.thread), maker.making.front().begin, maker.making.back().end,
             [&](const Sample& sample) {
               if (sample.wait != Wait::kFutex || !isNamedLock(trace, sample.stack->stack)) return;
               lock.named += lengthIn(maker.waits, {sample.at - sample.weight, sample.at});
             });
}

void addSamples(WorkerLock& lock, const Trace& trace, const Maker& maker) {
  const Interval span{maker.making.front().begin, maker.making.back().end};
  divide(trace.thread(maker.thread).slices, span,
         [&](const Interval& piece, const Timed<ThreadSlice>* slice) {
           if (slice) lock.samples += samplesIn(*slice, piece);
         });
}

}  // namespace

WorkerLock findWorkerLock(const Trace& trace, const std::vector<BatchWork>& works,
                          const Interval& window) {
  std::map<std::uint32_t, std::map<ThreadId, Maker>> epochs;
  for (const BatchWork& work : works) {
    const Interval fetch = intersect({work.begin, work.end}, window);
    if (work.worker < 0 || fetch.empty()) continue;
    Maker& maker =
        epochs[work.epoch].try_emplace(work.thread, Maker{work.thread, {}, {}}).first->second;
    maker.making.push_back(fetch);
  }
  WorkerLock lock;
  for (auto& [epoch, byThread] : epochs) {
    std::vector<Maker> makers;
    Nanos making{}, waited{};
    for (auto& [thread, maker] : byThread) {
      maker.making = joined(std::move(maker.making));
      findWaits(trace, maker);
      for (const Interval& i : maker.making) making += i.length();
      for (const Interval& i : maker.waits) waited += i.length();
      makers.push_back(std::move(maker));
    }
    if (makers.size() < 2 || seconds(waited) < kNotableWait * seconds(making)) continue;
    add(lock, makers);
    for (const Maker& maker : makers) addSamples(lock, trace, maker);
    for (const Maker& maker : makers) addNamed(lock, trace, maker);
  }
  return lock;
}

}  // namespace stallprof
