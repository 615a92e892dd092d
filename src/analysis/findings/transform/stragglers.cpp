// SPDX-License-Identifier: MIT
// transform.stragglers: under in-order delivery a slow batch holds up those that are ready.
#include <algorithm>

#include "analysis/findings/loader_setting.h"
#include "analysis/findings/torch_version.h"
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

constexpr double kVaries = 0.30;      // CV of batch times: above it in-order delivery costs 9 %
constexpr double kFarFromMedian = 5;  // times: one batch in the queue that long empties it

// The libraries that name the loader's settings themselves have no name for this one.
const AdviceDefinition kOutOfOrder{
    "out_of_order", {}, [](const AdviceContext& c) {
      const std::string holder(settingsHolder(c));
      return "Pass in_order=False" +
             (holder.empty() ? atSetting(c)
                             : " to your own DataLoader (get_train_dataloader), because " + holder +
                                   " cannot") +
             ": a ready batch is then used at once instead of waiting for a slow earlier one.";
    }};

const AdviceDefinition kEvenBatches{
    "even_batches",
    "Make batches of similar cost: find the slow samples (very large images, long texts), shrink "
    "or remove them before training, or bucket by size."};

PipelineSettings anyOrder(const Evidence& e) {
  PipelineSettings s = e.gains.base();
  s.inOrder = false;
  return s;
}

Maybe<Advice> outOfOrder(const Evidence& e) {
  const Has has = hasSince(e, kInOrderSince);
  if (has == Has::kNo) return {};
  const Prediction p = e.gains.predict(anyOrder(e));
  if (p.speedup && *p.speedup < kNoGain) return {};
  const std::string needs = has == Has::kUnknown ? needsVersion(kInOrderSince) + "; " : "";
  return adviceOf(kOutOfOrder, {"loader_arg", "in_order", "True", "False"}, p,
                  needs + "the order of batches differs from run to run");
}

// Where order cannot be given up. Batches that cost alike gain at most what any order would, as
// then none waits for a slow one before it; how alike they can be made is not known.
Maybe<Advice> evenBatches(const Evidence& e) {
  if (hasSince(e, kInOrderSince) != Has::kNo) return {};
  const PipelineSettings any = anyOrder(e);
  return adviceOf(kEvenBatches, {"code", "cost of a batch", "uneven", "even"},
                  assuming("no batch then waits for a slow one before it",
                           e.gains.predictAssumed(any, e.gains.base(), any)),
                  "batches of similar size are less mixed");
}

// Share of the window waited while later batches already lay ready.
double waitedBehindReady(const Evidence& e) {
  const TrainerFacts& t = e.trainer;
  double wait = seconds(t.joined.behindReady);
  for (std::size_t i = t.warmup; i < t.steps.size(); ++i)
    if (t.steps[i].ready > 0)
      wait += std::max(0.0, seconds(t.steps[i].split.wait - t.steps[i].blame.startup));
  return e.window > 0 ? wait / e.window : 0;
}

Maybe<Finding> stragglers(const Evidence& e) {
  const Demand& d = e.gains.demand();
  if (e.workers() < 2 || !e.gains.base().inOrder) return {};
  if (d.batchCv <= kVaries && d.batchMaxOverMedian <= kFarFromMedian) return {};
  const double behind = waitedBehindReady(e);
  if (behind <= kNotable) return {};
  Finding f = loaderFinding(e, behind, "A slow batch delays batches that are ready");
  addEvidence(f, "waits {} of the time while later batches are ready", {ratioWord(behind)});
  addEvidence(f, "batch times vary by {} (deviation over mean)", {ratioWord(d.batchCv)});
  addEvidence(f, "the slowest batch takes {} times the median", {timesWord(d.batchMaxOverMedian)});
  return withAdvice(f, {outOfOrder(e), morePrefetch(e), evenBatches(e)});
}

}  // namespace

extern const FindingDefinition kStragglers(
    "transform.stragglers", stragglers, offers(kOutOfOrder, kMorePrefetch, kEvenBatches),
    within("transform.in_process", "transform.cpu_saturated", "transform.too_few_workers"),
    {.cause =
         R"(Batches are delivered in order. The trainer waits for a slow batch while later batches are
  ready, and the workers behind it are idle.)",
     .rule =
         R"(batch times vary by over 30 % (or the slowest takes over 5 times the median), and over
  5 % of the window is waiting while later batches are ready.)",
     .fixes = R"(- in_order=False (PyTorch 2.6 or newer): the trainer takes ready batches.
- A larger prefetch_factor compensates for single slow batches.
- Find the slow samples: very large images, long texts; bucket by size.)",
     .wrong = R"(storage or the host (a writeback, another program) causes the slow batches, not
  the samples. If the order matters to the training, only prefetch is possible.)"});

}  // namespace stallprof
