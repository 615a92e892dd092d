// SPDX-License-Identifier: MIT
#include "analysis/findings/samplers.h"

#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"
#include "classify/own_rules.h"

namespace stallprof {

extern const AdviceDefinition kCheaperSampler{
    "cheaper_sampler", {}, [](const AdviceContext& c) {
      return "Draw indices at lower cost" + atLine(c.finding.where) +
             ": draw all indices of an epoch at once, as arrays (torch.multinomial, numpy), "
             "without a loop over the data set for each batch. More workers do not help.";
    }};

bool samplersDominate(const Evidence& e, double dataShare) {
  return e.drawing.low > kNotable && e.drawing.value > dataShare / 2;
}

Finding samplersFinding(const Evidence& e, double dataShare) {
  Finding f = loaderFinding(e, dataShare, "The sampler delays the training process between steps");
  addEvidence(f, "the loader's sampler takes {} of the time, in the training process",
              {ratioWord(e.drawing.value)}, ratioWord(e.drawing.value));
  addIntervalEvidence(f, e.drawing, e.trainer.stacks.trainer.samples);
  const Side side = e.workers() > 0 ? Side::kTrainer : Side::kProducer;
  HotQuery query{side, {}, {}, HotQuery::Of::kAll, kDrawsIndices};
  if (const auto line = hottest(e, query)) {
    f.where = line->where;
    point(f, *line);
    addEvidence(f, "most of it is in {}", {textWord(nameOf(*line))});
  }
  return withAdvice(
      f, {adviceOf(kCheaperSampler, {"code", "sampler", "", ""}, withoutHalf(e, e.drawing.value),
                   "the order of samples changes if the draws differ")});
}

}  // namespace stallprof
