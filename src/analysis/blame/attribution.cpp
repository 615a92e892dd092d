// SPDX-License-Identifier: MIT
#include "analysis/blame/attribution.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/blame/device_blame.h"
#include "analysis/blame/loaders.h"
#include "analysis/blame/memory_growth.h"
#include "analysis/blame/samples/refine.h"
#include "analysis/blame/samples/slow_samples.h"
#include "analysis/blame/samples/stacks.h"
#include "analysis/blame/samples/worker_lock.h"
#include "analysis/blame/unwritten.h"
#include "analysis/device/device_use.h"
#include "analysis/facts/hook_parts.h"
#include "analysis/facts/usage.h"
#include "analysis/steps/pieces.h"
#include "analysis/steps/stopped.h"

namespace stallprof {
namespace {

// The trainer thread as pieces, in the order of evidence of README.md.
Timeline drawTimeline(const Trace& trace, const TrainerTimeline& timeline, const StepPlan& plan,
                      const Intervals& lost, const Intervals& stopped) {
  std::vector<Piece> base, evaluation;
  std::array<std::vector<Piece>, kSpanSourceNames.size()> spans;
  const auto compute = [&](const Interval& step) {
    base.push_back({step, Piece::Kind::kStep, Phase::kCompute});
  };
  // A program that marks its steps says what is in one, and what is beside.
  if (plan.annotated)
    for (const Interval& iteration : timeline.annotated.iterations) compute(iteration);
  else
    for (const StepSpan& step : plan.steps) compute(step);
  for (std::uint32_t i = 0; i < timeline.epochs.size(); ++i) {
    const EpochSpan& epoch = timeline.epochs[i];
    if (!epoch.evaluation) {
      base.push_back(
          {{epoch.iterator, epoch.iteratorEnd}, Piece::Kind::kIterator, Phase::kLoad, i});
      continue;
    }
    const Nanos begin = timeline.madeAhead(epoch) ? epoch.begin : epoch.iterator;
    evaluation.push_back({{begin, epoch.end}, Piece::Kind::kPhase, Phase::kPeriodic});
    evaluation.push_back(
        {{epoch.iterator, epoch.iteratorEnd}, Piece::Kind::kPhase, Phase::kPeriodic});
  }
  for (std::uint32_t i = 0; i < timeline.fetches.size(); ++i)
    base.push_back({intervalOf(timeline.fetches[i]), Piece::Kind::kFetch, Phase::kUnknown, i});
  for (const Timed<PhaseSpan>* span : timeline.spans)
    if (const auto source = static_cast<std::size_t>(span->data.source); source < spans.size())
      spans[source].push_back({{span->at, endOf(trace, timeline, *span)},
                               Piece::Kind::kPhase,
                               span->data.phase,
                               0,
                               span->data.source != SpanSource::kHook});
  const auto of = [&](SpanSource source) { return spans[static_cast<std::size_t>(source)]; };
  Timeline known = overlay(flatten(base), keepOuter(evaluation));
  known = overlay(known, keepOuter(of(SpanSource::kHook)));
  known = overlay(known, flatten(of(SpanSource::kNvtx)));
  known = overlay(known, flatten(of(SpanSource::kMark)));
  known = overlay(known, piecesOf(lost, Piece::Kind::kUnwritten));
  return overlay(known, piecesOf(stopped, Piece::Kind::kStopped));
}

void addPiece(Split& split, Blame& blame, const Piece& piece, Nanos time) {
  const Split before = split;
  if (!addPhase(split, blame, piece.phase, time)) split.other += time;
  if (!piece.annotated) return;
  split.annotated += time;
  split.annotatedCompute += split.compute - before.compute;
  split.annotatedOther += split.other - before.other;
}

void addUnwritten(Split& split, Nanos time) {
  split.other += time;
  split.annotatedOther += time;  // no sample of it is asked
}

// Sums the pieces of an interval of the timeline; each sum is the length of its interval.
class Tally {
 public:
  Tally(const TrainerTimeline& timeline, const Producers& producers, const Timeline& pieces,
        const DeviceSplit& device)
      : timeline_(timeline), producers_(producers), pieces_(pieces), device_(device) {}

  DeviceTally add(const Interval& interval, Split& split, Blame& blame) const {
    DeviceTally tally;
    divide(pieces_, interval, [&](const Interval& part, const Piece* piece) {
      if (!piece)
        split.other += part.length();
      else if (piece->kind == Piece::Kind::kFetch)
        addFetch(piece->index, part, split, blame, tally);
      else if (piece->kind == Piece::Kind::kStep)
        device_.step(part, split, tally);
      else if (piece->kind == Piece::Kind::kUnwritten)
        addUnwritten(split, part.length());
      else if (piece->kind != Piece::Kind::kStopped)
        addPiece(split, blame, *piece, part.length());
    });
    return tally;
  }

 private:
  void addFetch(std::uint32_t index, const Interval& part, Split& split, Blame& blame,
                DeviceTally& tally) const {
    const Interval wait{part.begin, std::clamp(timeline_.waitEnd(index), part.begin, part.end)};
    split.load += part.end - wait.end;
    if (!wait.empty())
      device_.wait(producers_, timeline_.epochs[timeline_.epochOf[index]],
                   *timeline_.fetches[index], wait, split, blame, tally);
  }

  const TrainerTimeline& timeline_;
  const Producers& producers_;
  const Timeline& pieces_;
  const DeviceSplit& device_;
};

std::vector<Step> makeSteps(const StepPlan& plan, const TrainerTimeline& timeline,
                            const Tally& tally, const ThreadLife& thread,
                            const DeviceTally::Seen& seen) {
  std::vector<Step> steps;
  steps.reserve(plan.steps.size());
  for (const StepSpan& span : plan.steps) {
    Step step;
    static_cast<Interval&>(step) = span;
    step.boundary = span.boundary;
    step.number = timeline.before.steps + static_cast<std::uint32_t>(steps.size());
    const DeviceTally traced = tally.add(span, step.split, step.blame);
    estimateUntraced(seen, traced.untraced, step.split, step.blame);
    const Observed observed = observe(thread, span);
    step.cpu = observed.run;
    step.starved = observed.queued;
    if (span.fetch >= 0) {
      const Fetch& fetch = timeline.fetches[static_cast<std::size_t>(span.fetch)]->data;
      step.epoch = fetch.epoch;
      step.batch = fetch.batch;
      step.ready = fetch.ready;
    }
    step.boundary = step.boundary || step.split.periodic > Nanos::zero();
    step.updates = timeline.updates.empty() || timeline.firstStep(span.begin, span.end) != nullptr;
    steps.push_back(step);
  }
  return steps;
}

// Of this part: as epochs below. Several parts may have one.
Intervals evaluationsIn(const Trace& trace, const TrainerTimeline& timeline, Nanos end) {
  const CountedBefore& before = timeline.before;
  Intervals found = evaluationsOf(trace, timeline);
  std::erase_if(found, [&](const Interval& evaluation) {
    return evaluation.begin >= end ||
           (before.until != Nanos::zero() && evaluation.end <= before.windowEnd);
  });
  return found;
}

// Those whose steps count in this part, and those that took its time. An evaluation is of the part
// that it begins in, none ends in it; its iterator may be made long before.
bool inPart(const EpochSpan& epoch, const CountedBefore& before, Nanos end) {
  return (epoch.evaluation ? epoch.begin : epoch.iterator) < end &&
         (before.until == Nanos::zero() || epoch.end > before.windowEnd);
}

void addStart(const TrainerTimeline& timeline, const EpochSpan& span, Epoch& epoch) {
  epoch.batches = span.fetches.size();
  if (!span.hasWorkers || span.reused || span.fetches.empty()) return;
  epoch.starting = span.iteratorEnd - span.iterator +
                   timeline.fetches[span.fetches[0]]->data.duration +
                   (span.ended ? span.end - span.closing : Nanos{});
}

std::vector<Epoch> makeEpochs(const TrainerTimeline& timeline, const std::vector<Step>& steps,
                              Nanos end) {
  std::unordered_map<std::uint32_t, Epoch> sums;
  for (const Step& step : steps) {
    ++sums[step.epoch].steps;
    sums[step.epoch].wait += step.split.wait;
  }
  std::vector<Epoch> epochs;
  for (const EpochSpan& span : timeline.epochs) {
    if ((!span.counted && !span.evaluation) || !inPart(span, timeline.before, end)) continue;
    Epoch epoch;
    epoch.epoch = span.epoch;
    epoch.loader = span.loader;
    epoch.evaluation = span.evaluation;
    if (span.evaluation) addStart(timeline, span, epoch);
    epoch.whole = span.ended;
    epoch.begin = timeline.madeAhead(span) ? span.begin : span.iterator;
    epoch.end = span.end;
    if (span.counted) {
      epoch.steps = sums[span.epoch].steps;
      epoch.wait = sums[span.epoch].wait;
    }
    epochs.push_back(epoch);
  }
  return epochs;
}

std::vector<WorkerFacts> findWorkers(const Trace& trace, const TrainerTimeline& timeline) {
  std::set<std::uint64_t> counted;
  for (const EpochSpan& epoch : timeline.epochs)
    if (epoch.counted && epoch.key != 0) counted.insert(epoch.key);
  std::map<ProcessId, WorkerFacts> found;
  const auto meet = [&](ThreadId thread, std::uint64_t key, std::int32_t worker) {
    const ProcessId process = trace.thread(thread).process;
    if (process.none() || counted.count(key) == 0) return;
    found[process].process = process;
    found[process].worker = worker;
  };
  for (const auto& row : trace.workers) meet(row.data.thread, row.data.key, row.data.worker);
  for (const auto& row : trace.tasks) meet(row.data.thread, row.data.key, row.data.worker);
  std::vector<WorkerFacts> workers;
  for (const auto& [id, facts] : found) workers.push_back(facts);
  return workers;
}

void addTraced(const Step& step, const DeviceTimeline& devices, DeviceFacts& facts) {
  if (step.length() <= Nanos{}) return;
  const Nanos traced = lengthIn(devices.traced, step);
  const double part = seconds(traced) / seconds(step.length());
  facts.tracedSteps += part;
  if (step.boundary) return;
  facts.plain.add(1, step.length());
  facts.tracedPlain.add(part, traced);
}

DeviceFacts deviceFacts(const Trace& trace, const DeviceTimeline& devices,
                        const TrainerTime& trainer, const StackLabels* labels, bool timelineKnown,
                        const StepPlan& plan, const std::vector<Step>& steps,
                        const Intervals& gaps) {
  const Interval& window = plan.window;
  DeviceFacts facts;
  facts.seen = devices.seen;
  facts.timeline = timelineKnown;
  if (!devices.seen) return facts;
  const TrainerIdentity& who = trainer.timeline.who;
  facts.traced = lengthIn(devices.traced, window);
  facts.covered = lengthIn(devices.covered, window);
  for (std::size_t i = plan.warmup; i < steps.size(); ++i) addTraced(steps[i], devices, facts);
  facts.longGaps = lengthIn(gaps, window);
  if (timelineKnown) facts.devices = blameDevices(trace, trainer, devices, window);
  sumDeviceUse(trace, devices.process, window, facts);
  for (const BlockingCall& call : devices.calls) {
    // Shorter ones are known in some parts of the time alone.
    if (call.copy || call.length() < kLongCall || !call.overlaps(window)) continue;
    const Nanos traced = lengthIn(devices.traced, call);
    facts.syncs += traced > Nanos::zero();
    facts.syncTime += traced;
  }
  if (!labels) return facts;
  facts.syncSite = findSite(trace, *labels, devices, who.thread, window, false);
  facts.copySite = findSite(trace, *labels, devices, who.thread, window, true);
  return facts;
}

// A step is compute as far as the hook saw what else it held. Where it could not, and nothing else
// shows what ran (enough samples, which refine the split later; a device's timeline), nothing says
// what the step was.
void dropUnclear(const HookParts& parts, bool deviceKnown, TrainerFacts& facts) {
  if (!parts.stepsUnclear() || deviceKnown) return;
  if (facts.stacks.step.all.samples >= kEnoughWorkerSamples) return;
  const auto drop = [](Split& split) {
    split.other += split.compute - split.annotatedCompute;
    split.compute = split.annotatedCompute;
  };
  drop(facts.split);
  for (Step& step : facts.steps) drop(step.split);
}

void count(const TrainerTimeline& timeline, const StepPlan& plan, Nanos end,
           CountedBefore& before) {
  for (const EpochSpan& epoch : timeline.epochs)
    for (std::size_t i = 0; epoch.counted && i < epoch.fetches.size(); ++i)
      if (const Nanos at = timeline.fetches[epoch.fetches[i]]->at; at >= before.until && at < end)
        ++before.fetches[epoch.loader];
  before.updates = before.updates || !timeline.updates.empty();
  before.until = end;
  if (plan.steps.empty()) return;
  before.steps += static_cast<std::uint32_t>(plan.steps.size());
  before.windowEnd = plan.window.end;
}

}  // namespace

TrainerFacts attributePart(const Trace& trace, TrainerTimeline timeline, const StackLabels* labels,
                           CountedBefore& before, Nanos end) {
  const TrainerIdentity who = timeline.who;
  timeline.before = before;
  StepPlan plan = planSteps(trace, timeline);
  const Intervals lost = unwritten(trace, timeline);
  const Intervals stopped = stoppedTimes(trace, timeline);
  const Timeline pieces = drawTimeline(trace, timeline, plan, lost, stopped);
  keepPart(timeline, end, plan);
  TrainerFacts facts;
  const DeviceTimeline devices = readDevices(trace, who);
  const Intervals gaps = longGaps(devices, plan.window);
  ProducerThreads threads;
  if (labels) {
    threads = findProducerThreads(trace, *labels, timeline, plan.window.begin, plan.window.end);
    threads.getNexts.leaveOut(devices.busy);
    facts.stacks = gatherStacks(trace, *labels, timeline, pieces, plan.window.begin,
                                plan.window.end, threads, gaps);
  }
  const Producers producers(trace, timeline, fetchShares(facts.stacks), threads);
  const DeviceSplit device(devices, plan.window);
  const Tally tally(timeline, producers, pieces, device);
  const ThreadLife& thread = trace.thread(who.thread);

  facts.process = who.process;
  facts.thread = who.thread;
  facts.source = plan.source;
  facts.warmup = plan.warmup;
  facts.windowBegin = plan.window.begin;
  facts.windowEnd = plan.window.end;
  facts.stopped = lengthIn(stopped, plan.window);
  for (const auto* step : timeline.stepping)
    if (step->at >= before.until && step->at < end)
      facts.optimizerSteps += std::max(1u, step->data.steps);
  facts.loader = loaderIndex(trace, timeline);
  facts.readCpuShare = producers.readCpu();
  const DeviceTally traced = tally.add(plan.window, facts.split, facts.blame);
  estimateUntraced(traced.seen, traced.untraced, facts.split, facts.blame);
  facts.steps = makeSteps(plan, timeline, tally, thread, traced.seen);
  for (Step& step : facts.steps)
    step.boundary = step.boundary || lengthIn(lost, step) + lengthIn(stopped, step) > Nanos{};
  facts.device = deviceFacts(trace, devices, {timeline, pieces, producers}, labels, device.known(),
                             plan, facts.steps, gaps);
  dropUnclear(missingParts(trace, facts), device.known(), facts);
  const Observed seen = observe(thread, plan.window);
  facts.cpu = seen.run;
  facts.starved = seen.queued;
  facts.works = producers.works(plan);
  std::erase_if(facts.works, [&](const BatchWork& work) {
    return lengthIn(stopped, {work.begin, work.end}) > Nanos{};
  });
  facts.batches = batchesOf(timeline, plan.window);
  facts.zipped = findZipped(trace, timeline, plan.window, producers);
  facts.evaluations = evaluationsIn(trace, timeline, end);
  facts.slowSamples = findSlowSamples(trace, facts.works);
  facts.workerLock = findWorkerLock(trace, facts.works, plan.window);
  facts.epochs = makeEpochs(timeline, facts.steps, end);
  const Interval part{before.windowEnd, plan.window.end};
  for (Epoch& epoch : facts.epochs)
    epoch.stopped = lengthIn(stopped, intersect({epoch.begin, epoch.end}, part));
  facts.workers = findWorkers(trace, timeline);
  facts.threads = std::move(threads.threads);
  count(timeline, plan, end, before);
  return facts;
}

void measureCounters(const Trace& trace, TrainerFacts& facts) {
  const Interval window = facts.windowInterval();
  facts.processCpu = cpuIn(trace.process(facts.process), window);
  facts.growthPerSecond = steadyGrowth(trace.process(facts.process), window.begin);
  facts.device.gauges = readGauges(trace, facts.process, window);
  for (WorkerFacts& worker : facts.workers) {
    const ProcessLife& process = trace.process(worker.process);
    worker.growthPerSecond = steadyGrowth(process, window.begin);
    for (const auto& row : process.usage) {
      const ProcessUsage& usage = row.data;
      if (usage.residentBytes < 0) continue;
      worker.lastResident = usage.residentBytes;
      if (usage.sharedBytes >= 0)
        worker.peakPrivate = std::max(worker.peakPrivate, usage.residentBytes - usage.sharedBytes);
      worker.threads = std::max(worker.threads, usage.threads - 1);  // the queue feeder aside
    }
  }
}

}  // namespace stallprof
