// SPDX-License-Identifier: MIT
#include "analysis/attribution.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/pieces.h"
#include "analysis/usage.h"

namespace stallprof {
namespace {

constexpr Nanos kNone{};

// The trainer thread as a line of pieces, by the evidence order.
Line drawLine(const TrainerTimeline& line, const StepPlan& plan) {
  std::vector<Piece> base, evaluation;
  std::array<std::vector<Piece>, kSpanSourceNames.size()> spans;
  for (const StepSpan& step : plan.steps)
    base.push_back({step.begin, step.end, Piece::Kind::kPhase, Phase::kCompute, 0});
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
      spans[source].push_back({span->at, span->end(), Piece::Kind::kPhase, span->data.phase, 0});
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

// Sums stretches of the line; each sums to its length.
class Tally {
 public:
  Tally(const TrainerTimeline& line, const Producers& producers, Line pieces)
      : line_(line), producers_(producers), pieces_(std::move(pieces)) {}

  void add(Nanos begin, Nanos end, Split& split, Blame& blame) const {
    auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                                  [](Nanos t, const Piece& p) { return t < p.end; });
    Nanos known{};
    for (; piece != pieces_.end() && piece->begin < end; ++piece) {
      const Nanos from = std::max(begin, piece->begin), to = std::min(end, piece->end);
      known += to - from;
      if (piece->kind == Piece::Kind::kFetch)
        addFetch(piece->index, from, to, split, blame);
      else
        addPhase(split, blame, piece->phase, to - from);
    }
    split.other += end - begin - known;
  }

 private:
  void addFetch(std::uint32_t index, Nanos from, Nanos to, Split& split, Blame& blame) const {
    const Timed<Fetch>& fetch = *line_.fetches[index];
    const PassSpan& pass = line_.passes[line_.passOf[index]];
    if (fetch.data.end && pass.hasWorkers) {
      split.load += to - from;
      return;
    }
    const Nanos own =
        pass.hasWorkers ? std::clamp(fetch.data.cpu, kNone, fetch.data.duration) : kNone;
    const Nanos turn = std::clamp(fetch.end() - own, from, to);
    split.load += to - turn;
    split.wait += turn - from;
    blame += producers_.blame(pass, fetch, from, turn);
  }

  const TrainerTimeline& line_;
  const Producers& producers_;
  Line pieces_;
};

std::vector<Step> makeSteps(const StepPlan& plan, const TrainerTimeline& line, const Tally& tally,
                            const ThreadLife& thread) {
  std::vector<Step> steps;
  steps.reserve(plan.steps.size());
  for (const StepSpan& span : plan.steps) {
    Step step;
    step.begin = span.begin, step.end = span.end, step.boundary = span.boundary;
    tally.add(span.begin, span.end, step.split, step.blame);
    const Observed seen = observe(thread, span.begin, span.end);
    step.cpu = seen.run, step.starved = seen.queued;
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

std::vector<Pass> makePasses(const Trace& trace, const TrainerTimeline& line,
                             const std::vector<Step>& steps) {
  std::map<std::uint64_t, Nanos> begun;  // key -> when its first worker entered its loop
  for (const auto& row : trace.workers) begun.try_emplace(row.data.key, row.at);
  std::unordered_map<std::uint32_t, Pass> sums;
  for (const Step& step : steps) ++sums[step.pass].steps, sums[step.pass].wait += step.split.wait;
  std::vector<Pass> passes;
  for (const PassSpan& span : line.passes) {
    if (!span.counted && !span.evaluation) continue;
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
  std::map<std::uint32_t, std::size_t> uses;
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

}  // namespace

TrainerFacts attribute(const Trace& trace, TrainerIdentity who, const StackLabels* labels) {
  TrainerTimeline line = readTimeline(trace, who);
  const StepPlan plan = planSteps(trace, line);
  const Line pieces = drawLine(line, plan);
  TrainerFacts facts;
  if (labels)
    facts.stacks = gatherStacks(trace, *labels, line, pieces, plan.windowBegin, plan.windowEnd);
  const Producers producers(trace, line, fetchShares(facts.stacks));
  const Tally tally(line, producers, pieces);
  const ThreadLife& thread = trace.thread(who.thread);

  facts.process = who.process, facts.thread = who.thread, facts.source = plan.source;
  facts.warmup = plan.warmup;
  facts.windowBegin = plan.windowBegin, facts.windowEnd = plan.windowEnd;
  facts.optimizerSteps = line.stepping.size();
  facts.loader = loaderIndex(trace, line);
  facts.readCpuShare = producers.readCpu();
  facts.steps = makeSteps(plan, line, tally, thread);
  tally.add(facts.windowBegin, facts.windowEnd, facts.split, facts.blame);
  const Observed seen = observe(thread, facts.windowBegin, facts.windowEnd);
  facts.cpu = seen.run, facts.starved = seen.queued;
  facts.processCpu = cpuBetween(trace.process(who.process), facts.windowBegin, facts.windowEnd);
  for (const StepSpan& step : plan.steps) {
    if (step.fetch < 0) continue;
    BatchWork work;
    if (producers.work(line.passes[step.pass], *line.fetches[static_cast<std::size_t>(step.fetch)],
                       work))
      facts.works.push_back(work);
  }
  facts.passes = makePasses(trace, line, facts.steps);
  facts.workers = makeWorkers(trace, line, facts.windowBegin, facts.windowEnd);
  return facts;
}

}  // namespace stallprof
