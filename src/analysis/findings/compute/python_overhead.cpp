// SPDX-License-Identifier: MIT
// compute.python_overhead: the trainer's own Python, not a library's, between the operators.
#include <algorithm>

#include "analysis/findings/overhead.h"
#include "analysis/findings/torch_version.h"

namespace stallprof {
namespace {

constexpr double kMuchPython = 0.20;
// From here on, where most of it is one function, with low confidence. Of 160 recordings of 80
// programs none without such code was above a value of 0.085 or, at the low end of its interval,
// 0.04; those with it were above 0.12 and 0.069.
constexpr double kSomePython = 0.10, kSurelySome = 0.05;
constexpr double kMainPart = 0.5;
// Of the samples in steps: below it own Python and C that holds the lock are not distinguished.
constexpr double kLockSeen = 0.80;

const AdviceDefinition kLessPython{
    "less_python", {}, [](const AdviceContext& c) {
      const std::string& name = c.advice.change.name;
      const Has has = hasSince(c, kCompileSince);
      return "Move " + (name.empty() ? std::string("the Python code of the loop") : name) +
             " out of the step: work on whole tensors instead of element by element, keep metrics "
             "on the device and read them every N steps" +
             (has == Has::kNo
                  ? "."
                  : ", or torch.compile the step" + ifNewEnough(has, kCompileSince) + ".");
    }};

Maybe<Finding> pythonOverhead(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  if (s.gilKnown < kLockSeen * s.step.all.samples) return {};
  const Share share = shareOf(s.ownPython, s.trainer);
  const auto line = hottest(e, {Side::kTrainer, {}, {}, HotQuery::Of::kOwnPython});
  const bool oneFunction = line && line->samples > kMainPart * s.ownPython;
  const bool much = share.low > kMuchPython;
  if (!much && (share.value <= kSomePython || share.low <= kSurelySome || !oneFunction)) return {};
  Finding f = overheadFinding(e, share.value, "Python code of the training loop delays the step");
  if (share.high - share.value > 0.10) f.confidence = lowered(f.confidence);
  if (!much) f.confidence = Confidence::kLow;
  addEvidence(
      f, "the trainer's own lines hold the GIL {} of the time: Python, or C that keeps the GIL",
      {ratioWord(share.value)});
  addIntervalEvidence(f, share, s.trainer.samples);
  if (line) {
    f.where = line->where;
    point(f, *line);
    addEvidence(f, "{} of it in {}",
                {ratioWord(std::min(1.0, line->samples / s.ownPython)), textWord(nameOf(*line))});
  }
  return withAdvice(
      f, {adviceOf(kLessPython, {"code", nameOf(f.hot), "", ""}, withoutHalf(e, share.value))});
}

}  // namespace

extern const FindingDefinition kPythonOverhead(
    "compute.python_overhead", pythonOverhead, offers(kLessPython),
    within("compute.launch_bound", "compute.host_work"),
    {.cause = R"(Python code of the trainer takes a large part of the step.)",
     .rule =
         R"(in over 20 % of all samples of the training thread (at the low end of a 90 % interval)
  it runs a line of its own code with the GIL held and without Python code of a library below. Long
  operators release the GIL and do not count. If most of the time is in one function, the finding
  fires from 10 % on (5 % at the low end), with low confidence.)",
     .fixes = R"(- Vectorise loops over samples; move metrics out of the step; torch.compile.)",
     .wrong = R"(the line calls C code that keeps the GIL (small array operations, an extension
  module). Then this call takes the time.)"});

}  // namespace stallprof
