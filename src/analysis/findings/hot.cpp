// SPDX-License-Identifier: MIT
#include "analysis/findings/hot.h"

#include <map>
#include <tuple>

namespace stallprof {
namespace {

constexpr double kFewHotSamples = 30;  // of a phase: fewer name no function
constexpr double kWorthNaming = 0.10;  // share of the phase

bool asked(const FunctionSamples& f, const HotQuery& q) {
  return f.side == q.side && (!q.phase || f.phase == *q.phase) &&
         (!q.overhead || f.overhead == *q.overhead) && (q.rule.empty() || f.rule == q.rule);
}

Maybe<HotQuery> queryFor(Phase phase) {
  switch (phase) {
    case Phase::kTransform:
      return HotQuery{Side::kProducer, phase, {}, HotQuery::Of::kRunning};
    case Phase::kExtract:
      return HotQuery{Side::kProducer, phase, {}, HotQuery::Of::kBlocked};
    case Phase::kLoad:
    case Phase::kCompute:
      return HotQuery{Side::kTrainer, phase, {}, HotQuery::Of::kRunning};
    default:
      return {};
  }
}

}  // namespace

double counted(const FunctionSamples& f, const HotQuery& q) {
  if (!asked(f, q)) return 0;
  switch (q.of) {
    case HotQuery::Of::kRunning:
      return f.running;
    case HotQuery::Of::kBlocked:
      return f.samples - f.running;
    case HotQuery::Of::kOwnPython:
      return f.ownPython;
    case HotQuery::Of::kLockWaits:
      return f.lockWaits;
    case HotQuery::Of::kBlockedInOwn:
      return f.blockedInOwn;
    case HotQuery::Of::kWhileIdle:
      return f.whileIdle;
    case HotQuery::Of::kAll:
      break;
  }
  return f.samples;
}

double allOf(const Evidence& e, const HotQuery& q) {
  double all = 0;
  for (const FunctionSamples& f : e.trainer.stacks.*q.functions) all += counted(f, q);
  return all;
}

Confidence shareConfidence(const Evidence& e) {
  const Share share = shareOf(e.wait * e.trainer.stacks.trainer.samples, e.trainer.stacks.trainer);
  const Confidence c = share.high - share.low > 0.10 ? Confidence::kMedium : Confidence::kHigh;
  return e.shared > 0.05 ? lowered(c) : c;
}

Maybe<HotFunction> hottest(const Evidence& e, const HotQuery& q) {
  std::map<std::tuple<StringId, StringId>, HotFunction> functions;
  for (const FunctionSamples& f : e.trainer.stacks.*q.functions) {  // most samples first
    if (f.hot.none() || counted(f, q) <= 0) continue;
    const StackSeen& frame = e.trace.stack(f.hot);
    HotFunction& sum = functions[{frame.function, frame.file}];
    if (sum.samples == 0)
      sum = {lineOf(e.trace, f.hot), lineOf(e.trace, f.user), f.rule, 0, f.processes, 0, 0};
    sum.samples += counted(f, q);
    sum.reading += f.phase == Phase::kExtract ? counted(f, q) : 0;
    sum.handing += f.phase == Phase::kLoad ? counted(f, q) : 0;
    sum.processes = std::max(sum.processes, f.processes);
  }
  Maybe<HotFunction> best;
  for (auto& [key, function] : functions)
    if (!best || function.samples > best->samples) best = std::move(function);
  return best;
}

std::string nameOf(const HotFunction& f) {
  const std::string hot = nameOf(f.hot);
  const bool own = f.where.file == f.hot.file && f.where.line == f.hot.line;
  return own || !f.where.known() ? hot : hot + " called from " + nameOf(f.where);
}

void point(Finding& to, const HotFunction& f) {
  to.hot = f.hot;
  if (!to.where.known()) to.where = f.where;
}

void nameFunction(const Evidence& e, Finding& f) {
  if (f.hot.known()) return;
  const Maybe<HotQuery> query = queryFor(f.phase);
  const Maybe<HotFunction> best = query ? hottest(e, *query) : std::nullopt;
  const double all = best ? allOf(e, *query) : 0;
  if (!best || all < kFewHotSamples || best->samples < kWorthNaming * all) return;
  point(f, *best);
  addEvidence(f, "{} of it in {}", {ratioWord(best->samples / all), textWord(nameOf(*best))});
}

void addIntervalEvidence(Finding& f, const Share& share, double samples, const std::string& where) {
  const Word count = numberWord(samples);
  addEvidence(f, "90 % interval {} to {}, from {} samples{}",
              {ratioWord(share.low), ratioWord(share.high), count, textWord(where)}, count);
}

}  // namespace stallprof
