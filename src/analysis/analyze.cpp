// SPDX-License-Identifier: MIT
#include "analysis/analyze.h"

#include <algorithm>

#include "analysis/blame/samples/ranks.h"
#include "analysis/describe/describe.h"
#include "analysis/describe/device_describe.h"
#include "analysis/describe/resources.h"
#include "analysis/describe/stack_table.h"
#include "analysis/device/launch_cadence.h"
#include "analysis/facts/source_lines.h"
#include "analysis/first_epoch.h"
#include "analysis/steps/loops/inferred_steps.h"
#include "analysis/steps/timeline.h"
#include "analysis/verdict/judge.h"
#include "analysis/whole_run/native_run.h"
#include "analysis/whole_run/without_steps.h"
#include "base/units.h"
#include "classify/rule_table.h"

namespace stallprof {
namespace {

struct Judged {
  TrainerFacts facts;
  RunFacts run;
  Judgement judgement;
};

// The trainer of a program that the hook does not know, where its stacks or its device show one.
void addInferred(const Trace& trace, FactsAccumulator& facts, Roles& roles,
                 const StackLabels& labels, InferredSteps& inferred,
                 std::vector<Judged>& trainers) {
  inferred = inferSteps(trace, labels, roles);
  if (inferred.iterations.empty())
    if (InferredSteps launches = launchCadence(trace, roles); !launches.iterations.empty())
      inferred = std::move(launches);
  if (inferred.iterations.empty()) return;
  if (roles.of(inferred.who.process) != Role::kTrainer) roles.addTrainer(inferred.who);
  Judged judged;
  judged.facts = facts.factsOf(trace, inferred.who, &labels, inferred.iterations);
  judged.facts.sureSteps = inferred.sure;
  trainers.push_back(std::move(judged));
}

void addProducers(const TrainerFacts& facts, Roles& roles) {
  for (const ThreadId id : facts.threads) roles.threads[id.value - 1] = Role::kProducer;
}

// Of all trainers that step: what each is like first, as ranks are compared with each other.
std::vector<Judged> judgeTrainers(const Trace& trace, FactsAccumulator& run, Roles& roles,
                                  const StackLabels& labels, InferredSteps& inferred) {
  std::vector<Judged> trainers;
  for (const TrainerIdentity& who : roles.trainers) {
    Judged judged;
    judged.facts = run.factsOf(trace, who, &labels);
    if (!judged.facts.steps.empty()) trainers.push_back(std::move(judged));
  }
  if (trainers.empty()) addInferred(trace, run, roles, labels, inferred, trainers);
  std::vector<TrainerFacts*> ranks;
  for (Judged& judged : trainers) ranks.push_back(&judged.facts);
  addBlockedWaits(trace, ranks);
  const std::vector<const TrainerFacts*> facts(ranks.begin(), ranks.end());
  const RankBalance balance = balanceRanks(trace, facts);
  for (const Judged& judged : trainers) addProducers(judged.facts, roles);
  for (Judged& judged : trainers) {
    judged.run = measureRun(trace, judged.facts, roles);
    judged.run.balance = balance;
    judged.judgement = judge(trace, judged.facts, judged.run);
  }
  return trainers;
}

TrainerInfo describeTrainer(const Trace& trace, const Judged& judged, bool only) {
  TrainerInfo info;
  info.pid = trace.process(judged.facts.process).pid;
  info.rank = rankOf(trace, judged.facts.process, only);
  info.steps = describeSteps(trace, judged.facts);
  info.breakdown = describeBreakdown(judged.facts);
  info.verdict = judged.judgement.verdict;
  return info;
}

// A trainer that came when another of its rank had gone is a further attempt at the same. Without
// ranks the command says so.
void numberAttempts(const Trace& trace, const std::vector<Judged>& trainers,
                    std::vector<TrainerInfo>& infos) {
  for (std::size_t i = 1; i < trainers.size(); ++i) {
    const ProcessLife& life = trace.process(trainers[i].facts.process);
    for (std::size_t j = 0; j < i; ++j) {
      const ProcessLife& before = trace.process(trainers[j].facts.process);
      const bool same = infos[i].rank || infos[j].rank
                            ? infos[i].rank == infos[j].rank
                            : !life.command.none() && life.command == before.command;
      if (same && before.gone <= life.seen)
        infos[i].attempt = std::max(infos[i].attempt, infos[j].attempt + 1);
    }
  }
}

// Of a recording in which nobody steps.
Judged withoutSteps(const Trace& trace, Roles& roles, const StackLabels& labels,
                    const RuleTable& rules) {
  Judged judged;
  judged.facts = attributeWithoutSteps(trace, labels);
  if (judged.facts.thread.none()) judged.facts = attributeNativeRun(trace, rules);
  judged.facts.evaluations = evaluationsOf(trace, judged.facts.thread);
  if (!judged.facts.loopAt.none() || judged.facts.native.seen)
    roles.addTrainer({judged.facts.process, judged.facts.thread});
  addProducers(judged.facts, roles);
  judged.run = measureRun(trace, judged.facts, roles);
  if (judged.facts.stacks.seen()) judged.judgement = judge(trace, judged.facts, judged.run);
  return judged;
}

// JAX comes with other frameworks (Keras imports it): that its calls show from Python 3.12 on only
// is no gap of a run that never used it. What is absent by its names is: they say whether it was.
bool ofUnusedJax(const Trace& trace, const CoverageInfo::Source& source) {
  return source.name == "hook.jax_steps.calls" && !trace.frameworks.empty() &&
         std::none_of(trace.frameworks.begin(), trace.frameworks.end(),
                      [&](const auto& row) { return trace.text(row.data.name) == "jax"; });
}

// The hook's reasons say what is lost; its own names for the parts go last.
std::string sourceText(const CoverageInfo::Source& source) {
  const std::string name = source.name + (source.state == Coverage::kPartial ? ", in part" : "");
  if (source.why.empty()) return name;
  if (source.name.starts_with("hook.")) return source.why + " (" + name + ")";
  return source.name + (source.state == Coverage::kPartial ? " (in part)" : "") + ": " + source.why;
}

void addNotMeasured(const Trace& trace, const CoverageInfo& coverage, const InferredSteps& inferred,
                    bool steps, std::vector<std::string>& out) {
  for (const auto& source : coverage.sources)
    if (source.state != Coverage::kFull && !ofUnusedJax(trace, source))
      out.push_back(sourceText(source));
  const bool hookLost = std::any_of(
      coverage.sources.begin(), coverage.sources.end(),
      [](const auto& source) { return source.name == "hook" && source.state != Coverage::kFull; });
  if (trace.frameworks.empty())
    out.push_back(std::string(steps ? "loader" : "loader, steps") +
                  (hookLost ? ": the hook did not report"
                            : ": no process of the run loaded a framework that the hook supports"));
  if (!inferred.why.empty()) out.push_back("steps: " + inferred.why);
  if (trace.stacks.empty()) out.push_back("Python lines of slow operations: no stack was recorded");
}

// That not all of a long run is held, and what is.
CoverageInfo::Source inParts(const TrainerFacts& facts) {
  return {"steps", Coverage::kPartial,
          "a long run: " + std::to_string(facts.steps.size()) + " of " +
              std::to_string(facts.stepCount()) +
              " steps are stored individually, the others in sums; fetches and batches of the "
              "first, the slowest and the last steps"};
}

// What was established of the trainer that the report is about.
void describeChosen(const Trace& trace, const Judged& chosen, const Roles& roles, Analysis& out) {
  const TrainerFacts& facts = chosen.facts;
  out.steps = describeSteps(trace, facts);
  out.breakdown = describeBreakdown(facts);
  if (!facts.loopAt.none()) {
    out.breakdown.loop = lineOf(trace, facts.loopAt);
    out.breakdown.loop.function = {};
  }
  out.functions = functionTable(trace, facts);
  out.lines = lineTable(trace, facts);
  out.resources = measureResources(trace, facts, roles, chosen.run);
  out.device = describeDevice(trace, facts);
  out.run.host.gpus = deviceNames(trace);
  out.coverage.gpuTier = deviceTier(trace, facts);
  out.resources.gpuBusyRatio = deviceBusyRatio(trace, facts);
  if (const auto flops = estimateFlops(trace, facts)) {
    out.resources.flopsPerSecond = flops->perSecond;
    out.resources.flopsBasis = flops->basis;
  }
  out.counters = measureCounters(trace, facts.windowBegin, facts.windowEnd);
}

// What only steps say.
void describeStepped(const Trace& trace, const Judged& chosen, const Roles& roles, Analysis& out) {
  const TrainerFacts& facts = chosen.facts;
  out.coverage.slowdown = measureSlowdown(trace, facts);
  out.epochs = measureEpochs(trace, facts, roles, chosen.run);
  const auto first = std::find_if(facts.epochs.begin(), facts.epochs.end(),
                                  [](const Epoch& epoch) { return !epoch.evaluation; });
  if (first != facts.epochs.end() && first->end > facts.windowBegin)
    out.firstEpoch = unlikeLater(out.epochs);
}

// What limits how far the report carries, from what befell the whole run to what is in no share.
std::vector<std::string> caveatsOf(const Trace& trace, const Judged& chosen, const Analysis& out) {
  std::vector<std::string> caveats = overrideCaveats(trace, out.run);
  const std::vector<std::string> remarks = remarksOf(trace);
  caveats.insert(caveats.end(), remarks.begin(), remarks.end());
  const std::vector<std::string>& judged = chosen.judgement.caveats;
  caveats.insert(caveats.end(), judged.begin(), judged.end());
  const bool steps = !out.trainers.empty();
  if (std::string outside = steps ? outsideWindow(trace, chosen.facts, out.run) : "";
      !outside.empty())
    caveats.push_back(std::move(outside));
  constexpr double kSeen = 0.01;  // of the window
  if (seconds(chosen.facts.stopped) > kSeen * seconds(chosen.facts.window()))
    caveats.push_back("The training process was stopped for " + durationText(chosen.facts.stopped) +
                      ", by a signal or a debugger: that time is no part of the window.");
  const auto annotated = [](const auto& row) { return row.data.source != SpanSource::kHook; };
  if (!steps && std::any_of(trace.spans.begin(), trace.spans.end(), annotated))
    caveats.push_back(
        "Phases were annotated, and no steps: the shares do not follow the annotations. Annotate "
        "the steps, too, or give --map a range that is one (NAME=step).");
  if (out.firstEpoch)
    caveats.push_back("The first epoch waited for data " + percentText(out.firstEpoch->first) +
                      " of its time, later ones " + percentText(out.firstEpoch->later) +
                      ": shares and gains cover both; a longer training is like the later ones.");
  return caveats;
}

}  // namespace

TrainerFacts Analyzed::factsOf(const Trace& trace, TrainerIdentity who) const {
  if (who.process == trainer.process) return trainer;
  for (const TrainerFacts& other : others)
    if (other.process == who.process) return other;
  return attribute(trace, who);
}

Analysis analyze(const Trace& trace) { return analyzeWithFacts(trace).analysis; }

Analyzed analyzeWithFacts(const Trace& trace) {
  FactsAccumulator onePart;
  return analyzeWithFacts(trace, onePart);
}

Analyzed analyzeWithFacts(const Trace& trace, FactsAccumulator& accumulator) {
  Analyzed answer;
  Analysis& out = answer.analysis;
  out.run = describeRun(trace);
  describeOverrides(trace, out.run);
  out.coverage = describeCoverage(trace);
  Roles& roles = answer.roles = accumulator.rolesOf(trace);
  const StackLabels labels(trace, accumulator.rules());
  InferredSteps inferred;
  std::vector<Judged> trainers = judgeTrainers(trace, accumulator, roles, labels, inferred);
  for (const Judged& judged : trainers)
    out.trainers.push_back(describeTrainer(trace, judged, trainers.size() == 1));
  numberAttempts(trace, trainers, out.trainers);

  const bool steps = !trainers.empty();
  Judged unstepped;
  if (!steps) unstepped = withoutSteps(trace, roles, labels, accumulator.rules());
  std::vector<const TrainerFacts*> stepping;
  for (const Judged& judged : trainers) stepping.push_back(&judged.facts);
  const std::size_t shown = steps ? mainTrainer(stepping) : 0;
  Judged& chosen = steps ? trainers[shown] : unstepped;
  if (steps) out.trainers[shown].shown = true;
  describeChosen(trace, chosen, roles, out);
  if (steps) describeStepped(trace, chosen, roles, out);
  Judgement& judgement = chosen.judgement;
  out.verdict = judgement.verdict;
  placeUnexplained(out.verdict, out.lines);
  out.ceilings = std::move(judgement.ceilings);
  out.findings = std::move(judgement.findings);
  measureCeiling(out);
  out.caveats = caveatsOf(trace, chosen, out);
  out.notAProblem = std::move(judgement.notAProblem);
  out.notMeasured = std::move(judgement.notMeasured);
  addNative(trace, roles, chosen.facts, out);
  if (accumulator.severalParts()) out.coverage.sources.push_back(inParts(chosen.facts));
  addNotMeasured(trace, out.coverage, inferred, steps, out.notMeasured);
  for (Judged& judged : trainers)
    if (&judged != &chosen) answer.others.push_back(std::move(judged.facts));
  answer.trainer = std::move(chosen.facts);
  return answer;
}

}  // namespace stallprof
