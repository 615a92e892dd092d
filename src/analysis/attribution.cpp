// SPDX-License-Identifier: MIT
#include "analysis/attribution.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/device_gaps.h"
#include "analysis/device_split.h"
#include "analysis/device_use.h"
#include "analysis/pieces.h"
#include "analysis/usage.h"

namespace stallprof {
namespace {

constexpr Nanos kNone{};

// The trainer thread as a line of pieces, by the evidence order.
Line drawLine(const TrainerTimeline& line, const StepPlan& plan) {
  std::vector<Piece> base, evaluation;
  std::array<std::vector<Piece>, kSpanSourceNames.size()> spans;
  const auto compute = [&](Nanos begin, Nanos end) {
    base.push_back({begin, end, Piece::Kind::kStep, Phase::kCompute, 0});
  };
  // A program that marks its steps says what is in one, and what is beside.
  if (plan.told)
    for (const Lap& lap : line.told.laps) compute(lap.begin, lap.end);
  else
    for (const StepSpan& step : plan.steps) compute(step.begin, step.end);
  for (std::uint32_t i = 0; i < line.passes.size(); ++i) {
    const PassSpan& pass = line.passes[i];
    if (!pass.evaluation) {
      base.push_back({pass.iterator, pass.iteratorEnd, Piece::Kind::kIterator, Phase::kLoad, i});
      continue;
    }
    const Nanos begin = line.madeAhead(pass) ? pass.begin : pass.iterator;
    evaluation.push_back({begin, pass.end, Piece::Kind::kPhase, Phase::kPeriodic, 0});
    evaluation.push_back(
        {pass.iterator, pass.iteratorEnd, Piece::Kind::kPhase, Phase::kPeriodic, 0});
  }
  for (std::uint32_t i = 0; i < line.fetches.size(); ++i)
    base.push_back(
        {line.fetches[i]->at, line.fetches[i]->end(), Piece::Kind::kFetch, Phase::kUnknown, i});
  for (const Timed<PhaseSpan>* span : line.spans)
    if (const auto source = static_cast<std::size_t>(span->data.source); source < spans.size())
      spans[source].push_back({span->at, span->end(), Piece::Kind::kPhase, span->data.phase, 0,
                               span->data.source != SpanSource::kHook});
  const auto of = [&](SpanSource source) { return spans[static_cast<std::size_t>(source)]; };
  Line known = overlay(flatten(base), keepOuter(evaluation));
  known = overlay(known, keepOuter(of(SpanSource::kHook)));
  known = overlay(known, flatten(of(SpanSource::kNvtx)));
  return overlay(known, flatten(of(SpanSource::kMark)));
}

void addPhase(Split& split, Blame& blame, Phase phase, Nanos time) {
  switch (phase) {
    case Phase::kCompute:
      split.compute += time;
      return;
    case Phase::kSync:
      split.sync += time;
      return;
    case Phase::kComm:
      split.comm += time;
      return;
    case Phase::kPeriodic:
      split.periodic += time;
      return;
    case Phase::kLoad:
      split.load += time;
      return;
    // A user's mark for his own loading code: waited for, and by whom is known.
    case Phase::kExtract:
      split.wait += time, blame.extract += time;
      return;
    case Phase::kTransform:
      split.wait += time, blame.transform += time;
      return;
    case Phase::kUnknown:
    case Phase::kOther:
      break;
  }
  split.other += time;
}

void addPiece(Split& split, Blame& blame, const Piece& piece, Nanos time) {
  const Split before = split;
  addPhase(split, blame, piece.phase, time);
  if (!piece.told) return;
  split.told += time;
  split.toldCompute += split.compute - before.compute;
  split.toldOther += split.other - before.other;
}

// Sums stretches of the line; each sums to its length.
class Tally {
 public:
  Tally(const TrainerTimeline& line, const Producers& producers, const Line& pieces,
        const DeviceSplit& device)
      : line_(line), producers_(producers), pieces_(pieces), device_(device) {}

  DeviceTally add(Nanos begin, Nanos end, Split& split, Blame& blame) const {
    auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                                  [](Nanos t, const Piece& p) { return t < p.end; });
    Nanos known{};
    DeviceTally tally;
    for (; piece != pieces_.end() && piece->begin < end; ++piece) {
      const Nanos from = std::max(begin, piece->begin), to = std::min(end, piece->end);
      known += to - from;
      if (piece->kind == Piece::Kind::kFetch)
        addFetch(piece->index, from, to, split, blame, tally);
      else if (piece->kind == Piece::Kind::kStep)
        device_.step(from, to, split, tally);
      else
        addPiece(split, blame, *piece, to - from);
    }
    split.other += end - begin - known;
    return tally;
  }

 private:
  void addFetch(std::uint32_t index, Nanos from, Nanos to, Split& split, Blame& blame,
                DeviceTally& tally) const {
    const Nanos turn = std::clamp(line_.waitEnd(index), from, to);
    split.load += to - turn;
    if (turn > from)
      device_.wait(producers_, line_.passes[line_.passOf[index]], *line_.fetches[index], from, turn,
                   split, blame, tally);
  }

  const TrainerTimeline& line_;
  const Producers& producers_;
  const Line& pieces_;
  const DeviceSplit& device_;
};

std::vector<Step> makeSteps(const StepPlan& plan, const TrainerTimeline& line, const Tally& tally,
                            const ThreadLife& thread, const DeviceTally::Seen& seen) {
  std::vector<Step> steps;
  steps.reserve(plan.steps.size());
  for (const StepSpan& span : plan.steps) {
    Step step;
    step.begin = span.begin, step.end = span.end, step.boundary = span.boundary;
    step.number = line.before.steps + static_cast<std::uint32_t>(steps.size());
    const DeviceTally traced = tally.add(span.begin, span.end, step.split, step.blame);
    estimateDark(seen, traced.dark, step.split, step.blame);
    const Observed observed = observe(thread, span.begin, span.end);
    step.cpu = observed.run, step.starved = observed.queued;
    if (span.fetch >= 0) {
      const Fetch& fetch = line.fetches[static_cast<std::size_t>(span.fetch)]->data;
      step.pass = fetch.pass, step.batch = fetch.batch, step.ready = fetch.ready;
    }
    step.boundary = step.boundary || step.split.periodic > kNone;
    step.updates = line.updates.empty() || line.firstStep(span.begin, span.end) != nullptr;
    steps.push_back(step);
  }
  return steps;
}

// Those whose steps count in this part, and those that took its time.
bool inPart(const PassSpan& pass, const CountedBefore& before, Nanos end) {
  return pass.iterator < end && (before.until == kNone || pass.end > before.windowEnd);
}

std::vector<Pass> makePasses(const Trace& trace, const TrainerTimeline& line,
                             const std::vector<Step>& steps, Nanos end) {
  std::map<std::uint64_t, Nanos> begun;  // key -> when its first worker entered its loop
  for (const auto& row : trace.workers) begun.try_emplace(row.data.key, row.at);
  std::unordered_map<std::uint32_t, Pass> sums;
  for (const Step& step : steps) ++sums[step.pass].steps, sums[step.pass].wait += step.split.wait;
  std::vector<Pass> passes;
  for (const PassSpan& span : line.passes) {
    if ((!span.counted && !span.evaluation) || !inPart(span, line.before, end)) continue;
    Pass pass;
    pass.pass = span.pass, pass.evaluation = span.evaluation;
    pass.begin = line.madeAhead(span) ? span.begin : span.iterator, pass.end = span.end;
    Nanos ready = span.iteratorEnd;
    if (const auto first = begun.find(span.key); span.key != 0 && first != begun.end())
      ready = std::clamp(first->second, ready, std::max(ready, pass.end));
    if (span.hasWorkers && !span.reused) pass.startup = ready - span.iterator;
    if (span.counted) pass.steps = sums[span.pass].steps, pass.wait = sums[span.pass].wait;
    passes.push_back(pass);
  }
  return passes;
}

int loaderIndex(const Trace& trace, const TrainerTimeline& line) {
  std::map<std::uint32_t, std::size_t> uses = line.before.fetches;
  for (const PassSpan& pass : line.passes)
    if (pass.counted) uses[pass.loader] += pass.fetches.size();
  if (uses.empty()) return -1;
  const auto most = std::max_element(uses.begin(), uses.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  for (std::size_t i = 0; i < trace.loaders.size(); ++i)
    if (trace.loaders[i].data.process == line.who.process &&
        trace.loaders[i].data.loader == most->first)
      return static_cast<int>(i);
  return -1;
}

void measureWorker(const ProcessLife& process, WorkerFacts& facts) {
  for (const auto& usage : process.usage) {
    const ProcessUsage& u = usage.data;
    if (u.residentBytes < 0) continue;
    if (facts.firstResident < 0) facts.firstResident = u.residentBytes;
    facts.lastResident = u.residentBytes;
    if (u.sharedBytes >= 0)
      facts.peakPrivate = std::max(facts.peakPrivate, u.residentBytes - u.sharedBytes);
    facts.threads = std::max(facts.threads, u.threads - 1);  // the queue feeder is not counted
  }
}

std::vector<WorkerFacts> makeWorkers(const Trace& trace, const TrainerTimeline& line, Nanos begin,
                                     Nanos end) {
  std::set<std::uint64_t> counted;
  for (const PassSpan& pass : line.passes)
    if (pass.counted && pass.key != 0) counted.insert(pass.key);
  std::map<ProcessId, WorkerFacts> found;
  const auto meet = [&](ThreadId thread, std::uint64_t key, std::int32_t worker) {
    const ProcessId process = trace.thread(thread).process;
    if (process.none() || counted.count(key) == 0) return;
    found[process].process = process, found[process].worker = worker;
  };
  for (const auto& row : trace.workers) meet(row.data.thread, row.data.key, row.data.worker);
  for (const auto& row : trace.tasks) meet(row.data.thread, row.data.key, row.data.worker);
  std::vector<WorkerFacts> workers;
  for (auto& [id, facts] : found) {
    facts.cpu = cpuBetween(trace.process(id), begin, end);
    measureWorker(trace.process(id), facts);
    workers.push_back(facts);
  }
  return workers;
}

DeviceFacts deviceFacts(const Trace& trace, const DeviceTimeline& devices,
                        const TrainerTime& trainer, const StackLabels* labels, bool timeline,
                        Nanos begin, Nanos end) {
  DeviceFacts facts;
  facts.seen = devices.seen, facts.timeline = timeline;
  facts.gauges = readGauges(trace, begin, end);
  if (!devices.seen) return facts;
  const TrainerIdentity& who = trainer.line.who;
  facts.traced = lengthIn(devices.traced, begin, end);
  facts.told = lengthIn(devices.told, begin, end);
  if (timeline) facts.devices = blameDevices(trainer, devices, begin, end);
  sumDeviceUse(trace, devices.process, begin, end, facts);
  for (const StandingCall& call : devices.calls)
    facts.syncs += !call.copy && call.end > begin && call.begin < end &&
                   lengthIn(devices.traced, call.begin, call.end) > kNone;
  if (!labels) return facts;
  facts.syncSite = findSite(trace, *labels, devices, who.thread, begin, end, false);
  facts.copySite = findSite(trace, *labels, devices, who.thread, begin, end, true);
  return facts;
}

std::vector<BatchWork> makeWorks(const StepPlan& plan, const TrainerTimeline& line,
                                 const Producers& producers) {
  std::vector<BatchWork> works;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const StepSpan& step = plan.steps[i];
    if (step.fetch < 0) continue;
    BatchWork work;
    work.step = line.before.steps + static_cast<std::uint32_t>(i);
    if (producers.work(line.passes[step.pass], *line.fetches[static_cast<std::size_t>(step.fetch)],
                       work))
      works.push_back(work);
  }
  return works;
}

void count(const TrainerTimeline& line, const StepPlan& plan, Nanos end, CountedBefore& before) {
  for (const PassSpan& pass : line.passes)
    for (std::size_t i = 0; pass.counted && i < pass.fetches.size(); ++i)
      if (const Nanos at = line.fetches[pass.fetches[i]]->at; at >= before.until && at < end)
        ++before.fetches[pass.loader];
  before.updates = before.updates || !line.updates.empty();
  before.until = end;
  if (plan.steps.empty()) return;
  before.steps += static_cast<std::uint32_t>(plan.steps.size());
  before.windowEnd = plan.windowEnd;
}

TrainerFacts attributeLine(const Trace& trace, TrainerTimeline line, const StackLabels* labels,
                           CountedBefore& before, Nanos end) {
  const TrainerIdentity who = line.who;
  line.before = before;
  StepPlan plan = planSteps(trace, line);
  const Line pieces = drawLine(line, plan);
  keepPart(line, end, plan);
  TrainerFacts facts;
  const DeviceTimeline devices = readDevices(trace, who);
  ProducerThreads threads;
  if (labels) {
    threads = findProducerThreads(trace, *labels, line, plan.windowBegin, plan.windowEnd);
    threads.getNexts.leaveOut(devices.busy);
    facts.stacks =
        gatherStacks(trace, *labels, line, pieces, plan.windowBegin, plan.windowEnd, threads);
  }
  const Producers producers(trace, line, fetchShares(facts.stacks), threads);
  const DeviceSplit device(devices, plan.windowBegin, plan.windowEnd);
  const Tally tally(line, producers, pieces, device);
  const ThreadLife& thread = trace.thread(who.thread);

  facts.process = who.process, facts.thread = who.thread, facts.source = plan.source;
  facts.warmup = plan.warmup;
  facts.windowBegin = plan.windowBegin, facts.windowEnd = plan.windowEnd;
  for (const auto* step : line.stepping)
    if (step->at >= before.until && step->at < end)
      facts.optimizerSteps += std::max(1u, step->data.steps);
  facts.loader = loaderIndex(trace, line);
  facts.readCpuShare = producers.readCpu();
  const DeviceTally traced =
      tally.add(facts.windowBegin, facts.windowEnd, facts.split, facts.blame);
  estimateDark(traced.seen, traced.dark, facts.split, facts.blame);
  facts.steps = makeSteps(plan, line, tally, thread, traced.seen);
  facts.device = deviceFacts(trace, devices, {line, pieces, producers}, labels, device.known(),
                             facts.windowBegin, facts.windowEnd);
  const Observed seen = observe(thread, facts.windowBegin, facts.windowEnd);
  facts.cpu = seen.run, facts.starved = seen.queued;
  facts.processCpu = cpuBetween(trace.process(who.process), facts.windowBegin, facts.windowEnd);
  facts.works = makeWorks(plan, line, producers);
  facts.passes = makePasses(trace, line, facts.steps, end);
  facts.workers = makeWorkers(trace, line, facts.windowBegin, facts.windowEnd);
  facts.threads = std::move(threads.threads);
  count(line, plan, end, before);
  return facts;
}

}  // namespace

TrainerFacts attribute(const Trace& trace, TrainerIdentity who, const StackLabels* labels,
                       std::vector<Lap> laps) {
  TrainerTimeline line = readTimeline(trace, who);
  line.laps = std::move(laps);
  CountedBefore nothing;
  return attributeLine(trace, std::move(line), labels, nothing, Nanos::max());
}

TrainerFacts attributePart(const Trace& trace, TrainerIdentity who, const StackLabels* labels,
                           CountedBefore& before, Nanos end) {
  return attributeLine(trace, readTimeline(trace, who), labels, before, end);
}

void measureAnew(const Trace& trace, TrainerFacts& facts) {
  const Nanos begin = facts.windowBegin, end = facts.windowEnd;
  facts.processCpu = cpuBetween(trace.process(facts.process), begin, end);
  facts.device.gauges = readGauges(trace, begin, end);
  for (WorkerFacts& worker : facts.workers) {
    worker.cpu = cpuBetween(trace.process(worker.process), begin, end);
    worker.firstResident = worker.lastResident = worker.peakPrivate = -1, worker.threads = 1;
    measureWorker(trace.process(worker.process), worker);
  }
}

}  // namespace stallprof
