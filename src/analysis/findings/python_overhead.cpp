// SPDX-License-Identifier: MIT
// compute.python_overhead: the trainer's own Python, not a library's, between the operators.
#include <algorithm>

#include "analysis/findings/hot.h"
#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"
#include "analysis/stack_table.h"

namespace stallprof {
namespace {

constexpr double kMuch = 0.20;      // the design's table
constexpr double kLockSeen = 0.80;  // of the looks in steps: else own Python and C look the same

// Arithmetic: the time is the trainer's own, so what leaves it shortens the step. How much can
// leave is not known: half, within a tenth and nine tenths.
Prediction less(double share) {
  const auto speedup = [&](double part) { return 1 / (1 - share * part); };
  return {speedup(0.5), speedup(0.1), speedup(0.9)};
}

}  // namespace

Maybe<Finding> pythonOverhead(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  if (s.gilKnown < kLockSeen * s.step.all.looks) return {};
  const Share share = shareOf(s.ownPython, s.trainer);
  if (share.low <= kMuch) return {};
  Finding f = findingOf(e, "compute.python_overhead", Phase::kCompute, share.value,
                        "The training loop's own Python holds up the step");
  f.confidence = e.trainer.windowSteps() < 100 ? Confidence::kMedium : Confidence::kHigh;
  if (share.high - share.value > 0.10) f.confidence = lowered(f.confidence);
  tell(f,
       "the trainer's own lines run " + percent(share.value) +
           " of the time with the interpreter's lock held: Python, or C that keeps the lock",
       share.value, "ratio");
  tellInterval(f, share, s.trainer.looks);
  const HotQuery own{Side::kTrainer, {}, {}, HotQuery::Of::kOwnPython};
  if (const auto line = hottest(e, own)) {
    f.where = line->where;
    point(f, *line);
    const double part = std::min(1.0, line->looks / s.ownPython);
    tell(f, percent(part) + " of it in " + nameOf(*line), part, "ratio");
  }
  offer(f, adviceOf("less_python", {"code", nameOf(f.hot), "", ""}, less(share.value)));
  return f;
}

}  // namespace stallprof
