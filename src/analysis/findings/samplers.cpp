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

extern const AdviceDefinition kSamplerOnce{
    "sampler_once", {}, [](const AdviceContext& c) {
      return "Compute once what the sampler needs of the data set, as the lengths of samples" +
             atLine(c.finding.where) +
             ", and keep it for the next epochs, or in a file. Workers do not help: it runs in the "
             "training process, before an epoch's first batch.";
    }};

namespace {

// Points at where the samplers spend `drawn`.
void describe(Finding& f, const Evidence& e, const Share& drawn) {
  addEvidence(f, "the loader's sampler takes {} of the time, in the training process",
              {ratioWord(drawn.value)}, ratioWord(drawn.value));
  addIntervalEvidence(f, drawn, e.trainer.stacks.trainer.samples);
  const Side side = e.workers() > 0 ? Side::kTrainer : Side::kProducer;
  HotQuery query{side, {}, {}, HotQuery::Of::kAll, kDrawsIndices};
  if (const auto line = hottest(e, query)) {
    f.where = line->where;
    point(f, *line);
    addEvidence(f, "most of it is in {}", {textWord(nameOf(*line))});
  }
}

}  // namespace

bool samplersDominate(const Evidence& e, double dataShare) {
  return e.drawing.low > kNotable && e.drawing.value > dataShare / 2;
}

Finding samplersFinding(const Evidence& e, double dataShare) {
  Finding f = loaderFinding(e, dataShare, "The sampler delays the training process between steps");
  describe(f, e, e.drawing);
  return withAdvice(
      f, {adviceOf(kCheaperSampler, {"code", "sampler", "", ""}, withoutHalf(e, e.drawing.value),
                   "the order of samples changes if the draws differ")});
}

Maybe<Finding> samplersAheadFinding(const Evidence& e) {
  const Share& drawn = e.drawingAhead;
  if (drawn.low <= kNotable) return {};
  Finding f = loaderFinding(e, drawn.value, "The sampler delays the first batch of each epoch");
  describe(f, e, drawn);
  return withAdvice(f, {adviceOf(kSamplerOnce, {"code", "sampler", "each epoch", "once"},
                                 reducedToTenth(e, drawn.value),
                                 "what is kept is out of date where the data set changes")});
}

}  // namespace stallprof
