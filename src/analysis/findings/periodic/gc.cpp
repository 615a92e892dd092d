// SPDX-License-Identifier: MIT
// periodic.gc: Python's garbage collector stops the training.
#include <algorithm>
#include <string>
#include <string_view>

#include "analysis/facts/source_lines.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

constexpr double kGcNotable = 0.01;  // over ranks the stops add up

constexpr std::string_view kAtOneLine = "at one line";

const AdviceDefinition kGcFreeze{
    "gc_freeze", {}, [](const AdviceContext& c) {
      return (c.advice.change.from == kAtOneLine
                  ? "If a call of gc.collect() is" + atLine(c.finding.where) +
                        ", make it rarely, or leave it to Python. Else call"
                  : std::string("Call")) +
             " gc.collect() and gc.freeze() once before the loop, so that objects of the setup are "
             "not traversed again. With many ranks, call gc.disable(), and gc.collect() every N "
             "steps on all ranks at once.";
    }};

// Collections that begin by themselves do so where objects are made, often at many lines that do
// other work, too. A line with nearly all of it that does nothing else may call gc.collect().
bool atOneLine(const Evidence& e) {
  constexpr double kNearlyAll = 0.9, kFew = 20;
  const auto line = hottest(e, {Side::kTrainer, {}, OverheadKind::kGc, {}});
  if (!line || !line->where.known()) return false;
  double all = 0, here = 0, rest = 0;
  for (const FunctionSamples& f : e.trainer.stacks.functions) {
    if (f.side != Side::kTrainer || f.user.none()) continue;
    const SourceLine user = lineOf(e.trace, f.user);
    const bool same = user.line == line->where.line && user.file == line->where.file;
    const bool collects = f.overhead == OverheadKind::kGc;
    all += collects ? f.samples : 0;
    if (same) (collects ? here : rest) += f.samples;
  }
  return here >= kFew && here >= kNearlyAll * all && here >= kNearlyAll * (here + rest);
}

Maybe<Finding> garbageCollection(const Evidence& e) {
  Maybe<Finding> f = sampledOverhead(e, OverheadKind::kGc, kGcNotable,
                                     "Python's garbage collector stops the training",
                                     "garbage collection takes {} of the training thread's time");
  if (!f) return {};
  // Receiving a batch starts the collector: its time is in the row of the fetch. How much of it is
  // for objects of the setup is not known.
  if (2 * e.periodic < f->shareRatio && e.ownLoad > e.compute) {
    f->phase = Phase::kLoad;
    f->confidence = std::min(f->confidence, Confidence::kMedium);
  }
  // What is alive since setup is most of what a collection walks; of calls of the program's own
  // less is known.
  const bool one = atOneLine(e);
  return withAdvice(
      *f,
      {adviceOf(kGcFreeze, {"code", "gc", one ? std::string(kAtOneLine) : "automatic", "frozen"},
                assuming(std::string(one ? "half" : "a fifth") +
                             " of the collection time remains, at best a fiftieth",
                         withoutOverhead(e, f->shareRatio, one ? 0.5 : 0.2, 0.6, 0.02)),
                "objects in cycles made before gc.freeze() are never freed")});
}

}  // namespace

extern const FindingDefinition kGarbageCollection(
    "periodic.gc", garbageCollection, offers(kGcFreeze),
    {.cause =
         R"(Python's garbage collector interrupts some steps. With several ranks these interruptions add
  up.)",
     .rule =
         R"(the garbage collector runs in over 1 % of the samples of the training thread (at the low
  end of a 90 % interval).)",
     .fixes = R"(- gc.freeze() after setup; collect every N steps on all ranks at once.
- Calls of gc.collect() in the program: rarely, or none.)",
     .wrong = R"(memory grows if cycles are never collected.)"});

}  // namespace stallprof
