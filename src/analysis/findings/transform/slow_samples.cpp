// SPDX-License-Identifier: MIT
// transform.slow_samples: a few samples take far longer than all others.
#include <algorithm>
#include <cmath>

#include "analysis/findings/build.h"

namespace stallprof {
namespace {

constexpr std::size_t kShown = 5;

const AdviceDefinition kEvenSamples{
    "even_samples",
    "Prepare these samples before training: shrink them to the model's input size, re-encode them, "
    "cut long ones, or remove them. The evidence names the slowest."};

// Of the making of the window's batches.
double excessShare(const Evidence& e) {
  double excess = 0, all = 0;
  for (const BatchDemand& b : e.gains.workload().batches) {
    const double made = b.blocked + b.cpu;
    excess += b.excess * made;
    all += made;
  }
  return all > 0 ? excess / all : 0;
}

Advice evenSamples(const Evidence& e) {
  PipelineSettings s = e.gains.base();
  s.evenSamples = true;
  return adviceOf(kEvenSamples, {"data", "slow samples", "as they are", "like the others"},
                  e.gains.predict(s), "shrunk or removed samples change the data");
}

void addNames(Finding& f, const Evidence& e) {
  const auto& slowest = e.trainer.slowSamples.slowest;
  for (std::size_t i = 0; i < std::min(kShown, slowest.size()); ++i) {
    const SlowSample& s = slowest[i];
    const std::string file = escapeTerminal(e.trace.text(s.file), 160);
    const std::string name = s.index < 0 ? "" : "sample " + std::to_string(s.index);
    const std::string both = name.empty() || file.empty() ? name + file : name + ", " + file;
    addEvidence(f, "{}: {}",
                {textWord(both.empty() ? "a sample" : both), timeWord(seconds(s.duration))},
                timeWord(seconds(s.duration)));
  }
}

Maybe<Finding> slowSamples(const Evidence& e) {
  const SlowSampleFacts& slow = e.trainer.slowSamples;
  if (!e.loader || slow.batches == 0) return {};
  const double share = excessShare(e);
  if (e.transform * share <= kNotable) return {};
  Finding f =
      loaderFinding(e, e.transform * share, "A few samples take far longer than all others");
  const double made = static_cast<double>(e.trainer.works.size() + e.trainer.joined.works) *
                      static_cast<double>(std::max<std::int64_t>(1, e.loader->batchSize));
  const double one = slow.typical(), median = seconds(slow.median);
  const double count = seconds(slow.excess) / std::max(one - median, median);
  if (e.loader->batchSize > 0)
    addEvidence(f, "about 1 of {} samples takes {}; the median is {}",
                {numberWord(std::round(made / count)), timeWord(one), timeWord(median)},
                timeWord(one));
  else  // how many a batch has is not known
    addEvidence(f, "some samples take {}; the median is {}", {timeWord(one), timeWord(median)});
  addEvidence(f, "their time above the median is {} of the time to make batches, without reading",
              {ratioWord(share)});
  addNames(f, e);
  offer(f, evenSamples(e));
  return f;
}

}  // namespace

extern const FindingDefinition kSlowSamples(
    "transform.slow_samples", slowSamples, offers(kEvenSamples),
    within("transform.in_process", "transform.cpu_saturated", "transform.too_few_workers"),
    {.cause =
         R"(A few samples take many times as long as the others: very large images, long texts, files in
  another format. Each delays its batch.)",
     .rule =
         R"(some samples take over 5 times the median of earlier samples, and over 1 ms. Their time
  above the median is over 5 % of the window, as a share of the batch time that the trainer waits
  for. Time without a CPU, or waiting for storage, is subtracted.)",
     .fixes = R"(- Shrink, cut or re-encode those samples once, before training.
- Remove them, if they are few and faulty.
- Bucket by size, so that slow samples share batches.)",
     .wrong = R"(the sample was slow for another reason at that moment. Its index then differs from
  epoch to epoch. A name comes from a list of the data set (`samples`, paths) at that index; if the
  data set reorders the list, the name is wrong. Iterable data sets and those that make whole
  batches (__getitems__) are not measured.)"});

}  // namespace stallprof
