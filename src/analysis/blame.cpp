// SPDX-License-Identifier: MIT
#include "analysis/blame.h"

#include <algorithm>
#include <tuple>

#include "classify/waits.h"

namespace stallprof {
namespace {

constexpr Nanos kNone{};

Nanos overlap(Nanos a, Nanos b, Nanos begin, Nanos end) {
  return std::max(kNone, std::min(b, end) - std::max(a, begin));
}

Nanos scaled(Nanos value, double share) {
  return Nanos(static_cast<Nanos::rep>(static_cast<double>(value.count()) * share));
}

double shareOf(Nanos part, Nanos whole) {
  return whole > kNone ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

Nanos fetchBegin(const Timed<WorkerTask>& t) { return t.at + t.data.fetchBegin; }
Nanos fetchEnd(const Timed<WorkerTask>& t) { return t.at + t.data.fetchEnd; }
Nanos putEnd(const Timed<WorkerTask>& t) { return t.at + t.data.putEnd; }

// Adds a part of a fetch to the blame, in the fetch's own proportions; sums to `part`.
void addShare(Blame& blame, const FetchSplit& split, Nanos whole, Nanos part) {
  const double share = shareOf(part, whole);
  const Nanos onCpu = scaled(split.cpuExtract, share);
  const Nanos runnable = scaled(split.queuedExtract, share);
  const Nanos extract = scaled(split.extract, share) + onCpu + runnable;
  const Nanos unknown = scaled(split.unknown, share);
  const Nanos load = scaled(split.load + split.cpuLoad, share);
  blame.extract += extract, blame.extractCpu += onCpu + runnable;
  blame.unknown += unknown, blame.load += load;
  blame.transform += part - extract - unknown - load;  // CPU, waits for one, own pools and locks
}

// Enough blocked looks to tell what one fetch was blocked in; fewer: its producer's average.
constexpr std::uint32_t kEnoughLooks = 3;

// What the trainer was blocked for, by what the threads it waited for did in `whole`.
void blameThreads(Blame& blame, const ProducerThreads::Doing& doing, Nanos whole) {
  const double share = shareOf(blame.unknown, whole);
  const Nanos extract = scaled(doing.extract, share), load = scaled(doing.load, share);
  const Nanos transform = scaled(doing.transform, share);
  blame.extract += extract, blame.extractCpu += scaled(doing.extractCpu, share);
  blame.transform += transform, blame.load += load;
  blame.unknown -= extract + transform + load;
}

// What the caller is blocked in says that it waits, not what the threads do that it waits for.
FetchSplit waitingForThreads(FetchSplit split) {
  split.unknown += split.extract + split.transform + split.load;
  split.extract = split.transform = split.load = kNone;
  return split;
}

}  // namespace

Observed& Observed::operator+=(const Observed& o) {
  run += o.run, queued += o.queued, extract += o.extract, transform += o.transform,
      unknown += o.unknown, blockedLooks += o.blockedLooks;
  return *this;
}

// How many of a slice's looks fell into (begin, end]: they are evenly spaced, the last at its end,
// so that stretches end to end count each look once.
static std::uint32_t looksIn(const Timed<ThreadSlice>& slice, Nanos begin, Nanos end) {
  if (slice.data.duration <= kNone) return 0;
  const auto after = [&](Nanos t) {  // looks later than t
    const __int128 left = std::clamp(slice.end() - t, kNone, slice.data.duration).count();
    const __int128 whole = slice.data.duration.count();
    return static_cast<std::uint32_t>((left * slice.data.looks + whole - 1) / whole);
  };
  return after(begin) - after(end);
}

// Weighs `looks` of the slice's by what they found the thread blocked in.
static void weigh(Observed& seen, const ThreadSlice& slice, std::uint32_t looks) {
  if (slice.wait == Wait::kRunning || slice.looks == 0 || slice.duration <= kNone) return;
  const Nanos weight = scaled(slice.duration, static_cast<double>(looks) / slice.looks);
  const Phase phase = producerWait(slice.wait).phase;
  (phase == Phase::kExtract     ? seen.extract
   : phase == Phase::kTransform ? seen.transform
                                : seen.unknown) += weight;
  seen.blockedLooks += looks;
}

// `counts`: whether a slice's looks are of the stretch at all.
template <class Counts>
static Observed observeSlices(const ThreadLife& thread, Nanos begin, Nanos end, Counts counts) {
  Observed seen;
  auto slice = std::upper_bound(thread.slices.begin(), thread.slices.end(), begin,
                                [](Nanos t, const Timed<ThreadSlice>& s) { return t < s.end(); });
  for (; slice != thread.slices.end() && slice->at < end; ++slice) {
    const ThreadSlice& s = slice->data;
    const double share = shareOf(overlap(slice->at, slice->end(), begin, end), s.duration);
    seen.run += scaled(s.run, share), seen.queued += scaled(s.queued, share);
    if (counts(*slice)) weigh(seen, s, looksIn(*slice, begin, end));
  }
  return seen;
}

Observed observe(const ThreadLife& thread, Nanos begin, Nanos end) {
  return observeSlices(thread, begin, end, [](const Timed<ThreadSlice>&) { return true; });
}

bool Producers::before(const Place& a, const Place& b) {
  return std::tie(a.key, a.batch) < std::tie(b.key, b.batch);
}

bool Producers::Worker::makesAt(Nanos t) const {
  const auto next = std::lower_bound(making.begin(), making.end(), t,
                                     [](const Stretch& s, Nanos at) { return s.begin < at; });
  return next != making.begin() && t <= std::prev(next)->end;
}

Producers::Producers(const Trace& trace, const TrainerTimeline& line, const FetchShares& stacks,
                     const ProducerThreads& threads)
    : trace_(trace), line_(line), stacks_(stacks), threads_(threads) {
  for (const auto& row : trace.loaders)
    if (row.data.process == line.who.process)
      ahead_[row.data.loader] = std::int64_t{row.data.workers} * row.data.prefetch;
  std::unordered_map<std::uint64_t, bool> ours;
  for (const PassSpan& pass : line.passes)
    if (pass.hasWorkers && pass.key != 0) ours[pass.key] = true;
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
      const Nanos begin = fetchBegin(*task), end = fetchEnd(*task);
      worker.making.push_back({begin, end});
      worker.blockedAndQueued += std::max(kNone, end - begin - task->data.cpu);
    }
    pool(worker);
  }

  self_.thread = line.who.thread;
  for (std::size_t i = 0; i < line.fetches.size(); ++i) {
    if (line.passes[line.passOf[i]].hasWorkers) continue;
    const Timed<Fetch>& fetch = *line.fetches[i];
    if (!self_.making.empty() && fetch.end() <= self_.making.back().end) continue;  // within it
    self_.making.push_back({fetch.at, fetch.end()});
    self_.blockedAndQueued += std::max(kNone, fetch.data.duration - fetch.data.cpu);
  }
  pool(self_);
  if (stacks_.cpuKnown) return;
  stacks_.cpuExtract = readCpu_ = readCpuShare(trace_, readers());
}

std::vector<Reader> Producers::readers() const {
  std::vector<Reader> all;
  const auto add = [&](const Worker& w) {
    if (w.last > w.first)
      all.push_back({trace_.thread(w.thread).process, w.first, w.last, w.seen.extract});
  };
  for (const Worker& worker : workers_) add(worker);
  add(self_);
  return all;
}

void Producers::pool(Worker& worker) const {
  const ThreadLife& thread = trace_.thread(worker.thread);
  for (const Stretch& s : worker.making) {
    worker.first = std::min(worker.first, s.begin), worker.last = std::max(worker.last, s.end);
    worker.seen +=
        observeSlices(thread, s.begin, s.end, [](const Timed<ThreadSlice>&) { return false; });
  }
  // Only a slice's last look has an instant of its own, the others are told as evenly spaced: where
  // batches are made in less than two looks' time, those would fall beside their fetch half of the
  // time. They saw what the last one saw, so they are counted where it is.
  for (const Timed<ThreadSlice>& slice : thread.slices)
    if (worker.makesAt(slice.end())) weigh(worker.seen, slice.data, slice.data.looks);
}

FetchSplit Producers::split(const Worker& worker, Nanos begin, Nanos end, Nanos cpu) const {
  FetchSplit split;
  const Nanos wall = end - begin;
  split.cpu = std::clamp(cpu, kNone, std::max(kNone, wall));
  const Nanos rest = wall - split.cpu;
  // Run-queue time moves in tick-sized jumps, so it is told by the producer's average.
  split.queued = scaled(rest, std::min(1.0, shareOf(worker.seen.queued, worker.blockedAndQueued)));
  const Nanos blocked = rest - split.queued;
  Observed seen =
      observeSlices(trace_.thread(worker.thread), begin, end,
                    [&](const Timed<ThreadSlice>& s) { return worker.makesAt(s.end()); });
  if (seen.blockedLooks < kEnoughLooks) seen = worker.seen;
  const Nanos weights = seen.extract + seen.transform + seen.unknown;
  if (weights <= kNone) {  // never seen blocked: too short for any look
    split.transform = blocked;
    nameByStacks(split);
    return split;
  }
  split.extract = scaled(blocked, shareOf(seen.extract, weights));
  split.unknown = scaled(blocked, shareOf(seen.unknown, weights));
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
  split.extract += extract, split.load += load + vagueLoad;
  // A runnable thread keeps its phase. Looks cannot tell it from one on a CPU, so that their stacks
  // say what both were for; without stacks waits for a core are divided as the rest of the fetch
  // is.
  const Nanos rest = split.cpu + split.extract + split.transform + split.unknown + split.load;
  const double reads =
      stacks_.cpuKnown ? stacks_.cpuExtract : shareOf(split.extract + split.cpuExtract, rest);
  split.queuedExtract = scaled(split.queued, reads);
}

FetchSplit Producers::split(const Worker& worker, const Timed<WorkerTask>& task) const {
  return split(worker, fetchBegin(task), fetchEnd(task), task.data.cpu);
}

const Producers::Place* Producers::find(const PassSpan& pass, const Timed<Fetch>& fetch) const {
  const Place wanted{pass.key, fetch.data.batch};
  const auto after = std::upper_bound(places_.begin(), places_.end(), wanted, before);
  if (after == places_.begin()) return nullptr;
  const Place& last = *std::prev(after);
  return before(last, wanted) ? nullptr : &last;
}

Blame Producers::follow(const Place& place, Nanos begin, Nanos end) const {
  const Worker& worker = workers_[place.worker];
  Blame blame;
  Nanos cursor = end;
  // Backwards from the owed batch: handing over, making, waiting for an index, the batch before...
  for (std::size_t i = place.task + 1; i-- > 0 && cursor > begin;) {
    const Timed<WorkerTask>& task = *worker.tasks[i];
    blame.load += overlap(fetchEnd(task), cursor, begin, cursor);
    cursor = std::min(cursor, fetchEnd(task));
    const Nanos part = overlap(fetchBegin(task), cursor, begin, cursor);
    if (part > kNone) addShare(blame, split(worker, task), fetchEnd(task) - fetchBegin(task), part);
    cursor = std::min(cursor, std::max(begin, fetchBegin(task)));
    const Nanos before = i > 0 ? fetchEnd(*worker.tasks[i - 1]) : task.at;
    blame.load += overlap(before, cursor, begin, cursor);
    cursor = std::min(cursor, std::max(begin, before));
  }
  blame.startup += std::max(kNone, cursor - begin);
  return blame;
}

Blame Producers::blame(const PassSpan& pass, const Timed<Fetch>& fetch, Nanos begin,
                       Nanos end) const {
  Blame blame;
  if (end <= begin) return blame;
  if (!pass.hasWorkers) {
    FetchSplit own = split(self_, fetch.at, fetch.end(), fetch.data.cpu);
    if (pass.byThreads) own = waitingForThreads(own);
    addShare(blame, own, fetch.data.duration, end - begin);
    if (pass.byThreads && threads_.found())
      blameThreads(blame, threads_.in(trace_, begin, end), end - begin);
    return blame;
  }
  if (const Place* place = find(pass, fetch)) return follow(*place, begin, end);
  blame.unknown = end - begin;
  return blame;
}

// A worker that has the next index in hand still needs some time to take it: its queue's lock, the
// pipe, and its own feeder thread, which pickles the batch before under the same GIL.
Nanos Producers::taking(const PassSpan& pass, const Place& place, std::int64_t batch) const {
  const auto ahead = ahead_.find(pass.loader);
  if (place.task == 0 || ahead == ahead_.end() || ahead->second < 1) return kNone;
  const Timed<WorkerTask>& task = *workers_[place.worker].tasks[place.task];
  // Each batch that the trainer takes sends the index that is as far ahead as workers may be.
  const std::int64_t sender = batch - ahead->second;
  auto taken = pass.fetches.begin() + std::min<std::ptrdiff_t>(std::max<std::int64_t>(sender, 0),
                                                               std::ssize(pass.fetches));
  if (line_.before.until > kNone)  // the pass's first fetches are read already
    taken = std::partition_point(pass.fetches.begin(), pass.fetches.end(), [&](std::uint32_t i) {
      return line_.fetches[i]->data.batch < sender;
    });
  if (sender >= 0 && taken == pass.fetches.end()) return kNone;
  const Nanos sent = sender < 0 ? pass.iteratorEnd : line_.fetches[*taken]->end();
  return sent <= task.at ? fetchBegin(task) - task.at : kNone;
}

bool Producers::work(const PassSpan& pass, const Timed<Fetch>& fetch, BatchWork& out) const {
  out.pass = pass.pass, out.batch = fetch.data.batch;
  const auto fill = [&](const FetchSplit& split) {
    out.extract = split.extract, out.queued = split.queued;
    out.blocked = out.end - out.begin - split.cpu - split.extract - split.queued;
  };
  if (!pass.hasWorkers) {
    out.begin = fetch.at, out.end = fetch.end(), out.threadCpu = fetch.data.cpu;
    out.cpu = std::max(fetch.data.cpu, fetch.data.processCpu), out.bytes = fetch.data.bytes;
    fill(split(self_, out.begin, out.end, fetch.data.cpu));
    return true;
  }
  const Place* place = find(pass, fetch);
  if (!place) return false;
  const Worker& worker = workers_[place->worker];
  const Timed<WorkerTask>& task = *worker.tasks[place->task];
  out.worker = task.data.worker, out.bytes = task.data.bytes;
  out.begin = fetchBegin(task), out.end = fetchEnd(task), out.put = putEnd(task) - fetchEnd(task);
  out.taking = taking(pass, *place, fetch.data.batch);
  out.threadCpu = task.data.cpu, out.cpu = std::max(task.data.cpu, task.data.processCpu);
  fill(split(worker, task));
  return true;
}

}  // namespace stallprof
