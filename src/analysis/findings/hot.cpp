// SPDX-License-Identifier: MIT
#include "analysis/findings/hot.h"

#include <map>
#include <tuple>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"
#include "analysis/stack_table.h"

namespace stallprof {
namespace {

constexpr double kFewLooks = 30;       // of a phase: fewer name no function
constexpr double kWorthNaming = 0.10;  // share of the phase

double counted(const FunctionLooks& f, HotQuery::Of of) {
  switch (of) {
    case HotQuery::Of::kRunning:
      return f.running;
    case HotQuery::Of::kBlocked:
      return f.looks - f.running;
    case HotQuery::Of::kOwnPython:
      return f.ownPython;
    case HotQuery::Of::kLockWaits:
      return f.lockWaits;
    case HotQuery::Of::kAll:
      break;
  }
  return f.looks;
}

bool asked(const FunctionLooks& f, const HotQuery& q) {
  return f.side == q.side && (!q.phase || f.phase == *q.phase) && (!q.chore || f.chore == *q.chore);
}

double allOf(const Evidence& e, const HotQuery& q) {
  double all = 0;
  for (const FunctionLooks& f : e.trainer.stacks.functions)
    if (asked(f, q)) all += counted(f, q.of);
  return all;
}

Maybe<HotQuery> queryFor(const Finding& f) {
  const auto is = [&](const char* phase) { return f.id.starts_with(phase); };
  if (is("transform."))
    return HotQuery{Side::kProducer, Phase::kTransform, {}, HotQuery::Of::kRunning};
  if (is("extract.")) return HotQuery{Side::kProducer, Phase::kExtract, {}, HotQuery::Of::kBlocked};
  if (is("load.")) return HotQuery{Side::kTrainer, Phase::kLoad, {}, HotQuery::Of::kRunning};
  if (is("compute.")) return HotQuery{Side::kTrainer, Phase::kCompute, {}, {}};
  return {};
}

}  // namespace

Maybe<HotFunction> hottest(const Evidence& e, const HotQuery& q) {
  std::map<std::tuple<StringId, StringId>, HotFunction> functions;
  for (const FunctionLooks& f : e.trainer.stacks.functions) {  // most looks first
    if (!asked(f, q) || f.hot.none() || counted(f, q.of) <= 0) continue;
    const StackSeen& frame = e.trace.stack(f.hot);
    HotFunction& sum = functions[{frame.function, frame.file}];
    if (sum.looks == 0)
      sum = {lineOf(e.trace, f.hot), lineOf(e.trace, f.user), f.rule, 0, f.processes};
    sum.looks += counted(f, q.of);
    sum.processes = std::max(sum.processes, f.processes);
  }
  Maybe<HotFunction> best;
  for (auto& [key, function] : functions)
    if (!best || function.looks > best->looks) best = std::move(function);
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

void nameFunctions(const Evidence& e, std::vector<Finding>& findings) {
  for (Finding& f : findings) {
    if (f.hot.known()) continue;
    const Maybe<HotQuery> query = queryFor(f);
    const Maybe<HotFunction> best = query ? hottest(e, *query) : std::nullopt;
    const double all = best ? allOf(e, *query) : 0;
    if (!best || all < kFewLooks || best->looks < kWorthNaming * all) continue;
    point(f, *best);
    tell(f, percent(best->looks / all) + " of it in " + nameOf(*best), best->looks / all, "ratio");
  }
}

void tellInterval(Finding& f, const Share& share, double looks, const std::string& where) {
  tell(f,
       "90 % interval " + percent(share.low) + " to " + percent(share.high) + ", from " +
           number(looks) + " looks" + where,
       looks, "count");
}

}  // namespace stallprof
