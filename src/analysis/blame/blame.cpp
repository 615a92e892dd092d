// SPDX-License-Identifier: MIT
#include "analysis/blame/blame.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analysis/steps/roles.h"

namespace stallprof {
namespace {

Interval fetchOf(const Timed<WorkerTask>& t) {
  return {t.at + t.data.fetchBegin, t.at + t.data.fetchEnd};
}

// Adds a part of a fetch to the blame, in the fetch's own proportions; sums to `part`.
void addShare(Blame& blame, const FetchSplit& split, Nanos whole, Nanos part) {
  const double share = fractionOf(part, whole);
  const Nanos onCpu = scaled(split.cpuExtract, share);
  const Nanos runnable = scaled(split.queuedExtract, share);
  const Nanos extract = scaled(split.extract, share) + onCpu + runnable;
  const Nanos unknown = scaled(split.unknown, share);
  const Nanos load = scaled(split.load + split.cpuLoad, share);
  blame.extract += extract;
  blame.extractCpu += onCpu + runnable;
  blame.unknown += unknown;
  blame.load += load;
  blame.transform += part - extract - unknown - load;  // CPU, waits for one, own pools and locks
}

// So many blocked samples show what one fetch was blocked in. With fewer, the average of all
// fetches of its producer is used.
constexpr std::uint32_t kEnoughSamples = 3;

// What the trainer was blocked for, by what the threads it waited for did in `whole`.
void blameThreads(Blame& blame, const ProducerThreads::Doing& doing, Nanos whole) {
  const double share = fractionOf(blame.unknown, whole);
  const Nanos extract = scaled(doing.extract, share), load = scaled(doing.load, share);
  const Nanos transform = scaled(doing.transform, share);
  blame.extract += extract;
  blame.extractCpu += scaled(doing.extractCpu, share);
  blame.transform += transform;
  blame.load += load;
  blame.unknown -= extract + transform + load;
}

// What the caller is blocked in says that it waits, not what the threads do that it waits for.
FetchSplit waitingForThreads(FetchSplit split) {
  split.unknown += split.extract + split.transform + split.load;
  split.extract = split.transform = split.load = Nanos::zero();
  return split;
}

}  // namespace

bool Producers::before(const Place& a, const Place& b) {
  return std::tie(a.key, a.batch) < std::tie(b.key, b.batch);
}

bool Producers::Worker::makesAt(Nanos t) const {
  const auto next = std::lower_bound(making.begin(), making.end(), t,
                                     [](const Interval& s, Nanos at) { return s.begin < at; });
  return next != making.begin() && t <= std::prev(next)->end;
}

Producers::Producers(const Trace& trace, const TrainerTimeline& timeline, const FetchShares& stacks,
                     const ProducerThreads& threads)
    : trace_(trace), timeline_(timeline), stacks_(stacks), threads_(threads) {
  for (const auto& row : trace.loaders)
    if (row.data.process == timeline.who.process)
      ahead_[row.data.loader] = std::int64_t{row.data.workers} * row.data.prefetch;
  std::unordered_map<std::uint64_t, bool> ours;
  for (const EpochSpan& epoch : timeline.epochs)
    if (epoch.hasWorkers && epoch.key != 0) ours[epoch.key] = true;
  std::unordered_map<ThreadId, std::size_t> byThread;
  const auto workerOf = [&](ThreadId thread) -> Worker& {
    const auto [at, isNew] = byThread.try_emplace(thread, workers_.size());
    if (isNew) workers_.emplace_back().thread = thread;
    return workers_[at->second];
  };
  for (const auto& row : trace.workers)
    if (ours.count(row.data.key) != 0) {
      Worker& worker = workerOf(row.data.thread);
      worker.begun = std::min(worker.begun, row.at);
    }
  for (const auto& row : trace.tasks)
    if (ours.count(row.data.key) != 0) {
      Worker& worker = workerOf(row.data.thread);
      places_.push_back({row.data.key, row.data.batch,
                         static_cast<std::uint32_t>(byThread[row.data.thread]),
                         static_cast<std::uint32_t>(worker.tasks.size())});
      worker.tasks.push_back(&row);
    }
  std::stable_sort(places_.begin(), places_.end(), before);
  for (Worker& worker : workers_) {
    for (const Timed<WorkerTask>* task : worker.tasks) {
      const Interval& fetch = worker.making.emplace_back(fetchOf(*task));
      worker.blockedAndQueued += std::max(Nanos::zero(), fetch.length() - task->data.cpu);
    }
    pool(worker);
    worker.sending = sendingOf(worker);
  }

  self_.thread = timeline.who.thread;
  for (std::size_t i = 0; i < timeline.fetches.size(); ++i) {
    if (timeline.epochs[timeline.epochOf[i]].hasWorkers) continue;
    const Timed<Fetch>& fetch = *timeline.fetches[i];
    if (!self_.making.empty() && fetch.end() <= self_.making.back().end) continue;  // within it
    self_.making.push_back(intervalOf(fetch));
    self_.blockedAndQueued += std::max(Nanos::zero(), fetch.data.duration - fetch.data.cpu);
    ownCpu_ += std::max(Nanos::zero(), fetch.data.cpu);
  }
  pool(self_);
  if (!stacks_.cpuKnown) {
    readCpu_ = readCpuShare(trace_, readers());
    stacks_.cpuExtract = readCpu_;
  }
  for (Worker& worker : workers_)
    for (const Timed<WorkerTask>* task : worker.tasks)
      worker.splits.push_back(split(worker, fetchOf(*task), task->data.cpu));
}

std::vector<Reader> Producers::readers() const {
  std::vector<Reader> all;
  const auto add = [&](const Worker& w, Nanos making) {
    if (!w.span.empty())
      all.push_back({trace_.thread(w.thread).process, w.span, w.seen.extract, making});
  };
  for (const Worker& worker : workers_) add(worker, {});
  add(self_, ownCpu_);
  return all;
}

void Producers::pool(Worker& worker) const {
  const ThreadLife& thread = trace_.thread(worker.thread);
  for (const Interval& fetch : worker.making) {
    worker.span.begin = std::min(worker.span.begin, fetch.begin);
    worker.span.end = std::max(worker.span.end, fetch.end);
    worker.seen += observe(thread, fetch, [](const Timed<ThreadSlice>&) { return false; });
  }
  // Only a slice's last sample has an instant of its own; the others are taken as evenly spaced.
  // Where batches are made in less than two sampling periods, those would fall beside their fetch
  // half of the time. They saw what the last one saw, so they are counted where it is.
  auto next = worker.making.begin();  // the first that begins after the sample
  for (const Timed<ThreadSlice>& slice : thread.slices) {
    while (next != worker.making.end() && next->begin < slice.end()) ++next;
    if (next != worker.making.begin() && slice.end() <= std::prev(next)->end)
      worker.seen.weigh(slice.data, slice.data.samples);
  }
}

FetchSplit Producers::split(const Worker& worker, const Interval& fetch, Nanos cpu) const {
  FetchSplit split;
  const Nanos wall = fetch.length();
  split.cpu = std::clamp(cpu, Nanos::zero(), std::max(Nanos::zero(), wall));
  const Nanos rest = wall - split.cpu;
  // Run-queue time moves in tick-sized jumps, so the producer's average is used.
  split.queued =
      scaled(rest, std::min(1.0, fractionOf(worker.seen.queued, worker.blockedAndQueued)));
  const Nanos blocked = rest - split.queued;
  Observed seen = observe(trace_.thread(worker.thread), fetch,
                          [&](const Timed<ThreadSlice>& s) { return worker.makesAt(s.end()); });
  if (seen.blockedSamples < kEnoughSamples) seen = worker.seen;
  const Nanos weights = seen.extract + seen.transform + seen.unknown;
  if (weights <= Nanos::zero()) {  // never seen blocked: too short for any sample
    split.transform = blocked;
    nameByStacks(split);
    return split;
  }
  split.extract = scaled(blocked, fractionOf(seen.extract, weights));
  split.unknown = scaled(blocked, fractionOf(seen.unknown, weights));
  split.transform = blocked - split.extract - split.unknown;
  nameByStacks(split);
  return split;
}

// What the producers' stacks say of CPU time, and of waits that do not say themselves what for.
void Producers::nameByStacks(FetchSplit& split) const {
  split.cpuExtract = scaled(split.cpu, stacks_.cpuExtract);
  split.cpuLoad = scaled(split.cpu, stacks_.cpuLoad);
  const Nanos locked = split.transform, vague = split.unknown;
  const Nanos extract = scaled(locked, stacks_.lockExtract) + scaled(vague, stacks_.vagueExtract);
  const Nanos load = scaled(locked, stacks_.lockLoad), vagueLoad = scaled(vague, stacks_.vagueLoad);
  const Nanos transform = scaled(vague, stacks_.vagueTransform);
  split.transform += transform - scaled(locked, stacks_.lockExtract) - load;
  split.unknown -= transform + scaled(vague, stacks_.vagueExtract) + vagueLoad;
  split.extract += extract;
  split.load += load + vagueLoad;
  // A runnable thread keeps its phase. Samples cannot distinguish it from one on a CPU, so that
  // their stacks say what both were for; without stacks waits for a core are divided as the rest of
  // the fetch is.
  const Nanos rest = split.cpu + split.extract + split.transform + split.unknown + split.load;
  const double reads =
      stacks_.cpuKnown ? stacks_.cpuExtract : fractionOf(split.extract + split.cpuExtract, rest);
  split.queuedExtract = scaled(split.queued, reads);
}

// Its process's other threads send batches, but for what its fetches had of them as pools.
Nanos Producers::sendingOf(const Worker& worker) const {
  Nanos sending{};
  for (const ThreadId id : trace_.process(trace_.thread(worker.thread).process).threads)
    if (id != worker.thread) sending += observe(trace_.thread(id), worker.span).run;
  const Nanos pinning = pinningOf(worker);
  if (sending <= Nanos::zero() || pinning == Nanos::max()) return Nanos::max();
  for (const Timed<WorkerTask>* task : worker.tasks)
    sending -= std::max(Nanos::zero(), task->data.processCpu - task->data.cpu);
  return pinning + std::max(Nanos::zero(), sending) / static_cast<Nanos::rep>(worker.tasks.size());
}

// Its part of the pin thread's CPU, a batch: the thread serves all workers alike.
Nanos Producers::pinningOf(const Worker& worker) const {
  const ProcessId trainer = timeline_.who.process;
  if (std::none_of(trace_.loaders.begin(), trace_.loaders.end(), [&](const auto& row) {
        return row.data.process == trainer && row.data.pinMemory;
      }))
    return Nanos::zero();
  Nanos pinning{};
  for (const ThreadId id : trace_.process(trainer).threads)
    if (pinsBatches(trace_, trace_.thread(id)))
      pinning += observe(trace_.thread(id), worker.span).run;
  if (pinning <= Nanos::zero()) return Nanos::max();
  const auto batches = std::count_if(places_.begin(), places_.end(), [&](const Place& place) {
    const Worker& maker = workers_[place.worker];
    return overlap(fetchOf(*maker.tasks[place.task]), worker.span) > Nanos::zero();
  });
  return pinning / std::max<std::ptrdiff_t>(batches, 1);
}

// A batch is made and not yet there. Sending it takes the feeder's CPU time; for the rest, while
// the worker makes its next batches, the feeder waits for the interpreter's lock that those hold,
// or for a core.
void Producers::handOver(Blame& blame, const Worker& worker, std::size_t task,
                         Interval handing) const {
  Nanos load = handing.length();
  handing.end -= std::min(load, worker.sending);
  for (std::size_t i = task + 1; i < worker.making.size(); ++i) {
    if (worker.making[i].begin >= handing.end) break;
    const Nanos part = overlap(worker.making[i], handing);
    addShare(blame, worker.splits[i], worker.making[i].length(), part);
    load -= part;
  }
  blame.load += load;
}

const Producers::Place* Producers::find(const EpochSpan& epoch, const Timed<Fetch>& fetch) const {
  const Place wanted{epoch.key, fetch.data.batch};
  const auto after = std::upper_bound(places_.begin(), places_.end(), wanted, before);
  if (after == places_.begin()) return nullptr;
  const Place& last = *std::prev(after);
  return before(last, wanted) ? nullptr : &last;
}

Blame Producers::follow(const Place& place, const Interval& wait) const {
  const Worker& worker = workers_[place.worker];
  Blame blame;
  Interval rest = wait;                 // not blamed yet
  const auto takeFrom = [&](Nanos t) {  // what of the rest comes after `t`
    const Nanos end = std::exchange(rest.end, std::clamp(t, rest.begin, rest.end));
    return end - rest.end;
  };
  // Backwards from the owed batch: handing over, making, waiting for an index, the batch before...
  const Nanos made = fetchOf(*worker.tasks[place.task]).end;
  if (made < rest.end) handOver(blame, worker, place.task, {std::max(made, rest.begin), rest.end});
  (void)takeFrom(made);
  for (std::size_t i = place.task + 1; i-- > 0 && !rest.empty();) {
    const Timed<WorkerTask>& task = *worker.tasks[i];
    const Interval fetch = fetchOf(task);
    blame.load += takeFrom(fetch.end);
    if (const Nanos making = takeFrom(fetch.begin); making > Nanos::zero())
      addShare(blame, worker.splits[i], fetch.length(), making);
    blame.load += takeFrom(i > 0 ? fetchOf(*worker.tasks[i - 1]).end : task.at);
  }
  blame.startup += rest.length();
  return blame;
}

Blame Producers::blame(const EpochSpan& epoch, const Timed<Fetch>& fetch,
                       const Interval& wait) const {
  Blame blame;
  if (wait.empty()) return blame;
  if (!epoch.hasWorkers) {
    FetchSplit own = split(self_, intervalOf(fetch), fetch.data.cpu);
    if (epoch.byThreads) own = waitingForThreads(own);
    addShare(blame, own, fetch.data.duration, wait.length());
    if (epoch.byThreads && threads_.found())
      blameThreads(blame, threads_.in(trace_, wait), wait.length());
    return blame;
  }
  if (const Place* place = find(epoch, fetch)) return follow(*place, wait);
  blame.unknown = wait.length();
  return blame;
}

// A worker that has the next index in hand still needs some time to take it: its queue's lock, the
// pipe, and its own feeder thread, which pickles the batch before under the same GIL.
Nanos Producers::taking(const EpochSpan& epoch, const Place& place, std::int64_t batch) const {
  const auto ahead = ahead_.find(epoch.loader);
  if (place.task == 0 || ahead == ahead_.end() || ahead->second < 1) return Nanos::zero();
  const Timed<WorkerTask>& task = *workers_[place.worker].tasks[place.task];
  // Each batch that the trainer takes sends the index that is as far ahead as workers may be.
  const std::int64_t sender = batch - ahead->second;
  auto taken = epoch.fetches.begin() + std::min<std::ptrdiff_t>(std::max<std::int64_t>(sender, 0),
                                                                std::ssize(epoch.fetches));
  if (timeline_.before.until > Nanos::zero())  // the epoch's first fetches are read already
    taken = std::partition_point(epoch.fetches.begin(), epoch.fetches.end(), [&](std::uint32_t i) {
      return timeline_.fetches[i]->data.batch < sender;
    });
  if (sender >= 0 && taken == epoch.fetches.end()) return Nanos::zero();
  const Nanos sent = sender < 0 ? epoch.iteratorEnd : timeline_.fetches[*taken]->end();
  return sent <= task.at ? fetchOf(task).begin - task.at : Nanos::zero();
}

std::vector<BatchWork> Producers::works(const StepPlan& plan) const {
  std::vector<BatchWork> works;
  works.reserve(plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const StepSpan& step = plan.steps[i];
    if (step.fetch < 0) continue;
    BatchWork made;
    made.step = timeline_.before.steps + static_cast<std::uint32_t>(i);
    if (work(timeline_.epochs[step.epoch], *timeline_.fetches[static_cast<std::size_t>(step.fetch)],
             made))
      works.push_back(made);
  }
  return works;
}

bool Producers::work(const EpochSpan& epoch, const Timed<Fetch>& fetch, BatchWork& out) const {
  out.epoch = epoch.epoch;
  out.batch = fetch.data.batch;
  const auto fill = [&](const FetchSplit& split) {
    out.extract = split.extract;
    out.queued = split.queued;
    out.blocked = out.end - out.begin - split.cpu - split.extract - split.queued;
  };
  if (!epoch.hasWorkers) {
    out.begin = fetch.at;
    out.end = fetch.end();
    out.threadCpu = fetch.data.cpu;
    out.cpu = std::max(fetch.data.cpu, fetch.data.processCpu);
    out.bytes = fetch.data.bytes;
    out.thread = fetch.data.thread;
    fill(split(self_, intervalOf(fetch), fetch.data.cpu));
    return true;
  }
  const Place* place = find(epoch, fetch);
  if (!place) return false;
  const Worker& worker = workers_[place->worker];
  const Timed<WorkerTask>& task = *worker.tasks[place->task];
  out.worker = task.data.worker;
  out.bytes = task.data.bytes;
  out.thread = task.data.thread;
  out.begin = fetchOf(task).begin;
  out.end = fetchOf(task).end;
  out.put = task.at + task.data.putEnd - out.end;
  out.taking = taking(epoch, *place, fetch.data.batch);
  out.threadCpu = task.data.cpu;
  out.cpu = std::max(task.data.cpu, task.data.processCpu);
  fill(worker.splits[place->task]);
  return true;
}

}  // namespace stallprof
