// SPDX-License-Identifier: MIT
#include "analysis/analyze.h"

#include <algorithm>

#include "analysis/attribution.h"
#include "analysis/describe.h"
#include "analysis/device_describe.h"
#include "analysis/findings.h"
#include "analysis/resources.h"
#include "analysis/stack_table.h"

namespace stallprof {
namespace {

struct Judged {
  TrainerFacts facts;
  RunFacts run;
  Judgement judgement;
};

Judged judgeTrainer(const Trace& trace, const Roles& roles, TrainerIdentity who,
                    const StackLabels& labels, const AnalyzeOptions& options) {
  Judged judged;
  judged.facts = attribute(trace, who, &labels);
  judged.run = measureRun(trace, judged.facts, roles);
  judged.judgement = judge(trace, judged.facts, judged.run, options.recording);
  return judged;
}

TrainerInfo describeTrainer(const Trace& trace, const Judged& judged) {
  TrainerInfo info;
  info.pid = trace.process(judged.facts.process).pid;
  info.steps = describeSteps(trace, judged.facts);
  info.breakdown = describeBreakdown(judged.facts);
  info.verdict = judged.judgement.verdict;
  return info;
}

// Of the whole run, for a recording in which nobody steps.
TrainerFacts wholeRun(const Trace& trace) {
  TrainerFacts facts;
  facts.windowBegin = trace.begin, facts.windowEnd = trace.end;
  return facts;
}

void addNotMeasured(const Trace& trace, const CoverageInfo& coverage,
                    const Maybe<DeviceInfo>& device, std::vector<std::string>& out) {
  for (const auto& source : coverage.sources)
    if (source.state != Coverage::kFull)
      out.push_back(source.name + (source.state == Coverage::kPartial ? " (in part)" : "") +
                    (source.why.empty() ? "" : ": " + source.why));
  if (trace.frameworks.empty())
    out.push_back("loader, steps: no process of the run loaded a framework the hook knows");
  if (!device)
    out.push_back(trace.stacks.empty()
                      ? "Python lines of slow operations, GPU activity: not in this version"
                      : "GPU activity: not in this version");
}

}  // namespace

Analysis analyze(const Trace& trace, const AnalyzeOptions& options) {
  return analyzeWithFacts(trace, options).analysis;
}

Analyzed analyzeWithFacts(const Trace& trace, const AnalyzeOptions& options) {
  Analyzed answer;
  Analysis& out = answer.analysis;
  out.run = describeRun(trace);
  out.coverage = describeCoverage(trace);
  const Roles& roles = answer.roles = findRoles(trace);
  const StackLabels labels(trace, options.rules ? *options.rules : RuleTable::builtIn());
  std::vector<Judged> trainers;
  for (const TrainerIdentity& who : roles.trainers)
    trainers.push_back(judgeTrainer(trace, roles, who, labels, options));
  std::erase_if(trainers, [](const Judged& j) { return j.facts.steps.empty(); });
  for (const Judged& judged : trainers) out.trainers.push_back(describeTrainer(trace, judged));

  const auto longest = std::max_element(
      trainers.begin(), trainers.end(),
      [](const Judged& a, const Judged& b) { return a.facts.window() < b.facts.window(); });
  const bool steps = longest != trainers.end();
  TrainerFacts whole = wholeRun(trace);
  if (!steps) {
    whole.stacks = stacksOfRun(trace, labels);
    if (whole.stacks.seen()) whole.split.other = whole.window();
  }
  const TrainerFacts& facts = steps ? longest->facts : whole;
  const RunFacts run = steps ? longest->run : measureRun(trace, whole, roles);
  out.steps = describeSteps(trace, facts);
  out.breakdown = describeBreakdown(facts);
  out.functions = functionTable(trace, facts);
  out.resources = measureResources(trace, facts, roles, run);
  out.device = describeDevice(trace, facts);
  out.run.host.gpus = deviceNames(trace);
  out.coverage.gpuTier = deviceTier(trace, facts);
  out.resources.gpuBusyRatio = deviceBusyRatio(trace, facts);
  if (steps) {
    out.epochs = measureEpochs(trace, facts, roles);
    Judgement& judgement = longest->judgement;
    out.verdict = judgement.verdict;
    out.ceilings = std::move(judgement.ceilings);
    out.findings = std::move(judgement.findings);
    out.notAProblem = std::move(judgement.notAProblem);
    out.notMeasured = std::move(judgement.notMeasured);
  }
  addNotMeasured(trace, out.coverage, out.device, out.notMeasured);
  answer.trainer = steps ? std::move(longest->facts) : whole;
  return answer;
}

}  // namespace stallprof
