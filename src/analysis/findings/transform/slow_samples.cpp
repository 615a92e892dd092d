// SPDX-License-Identifier: MIT
// transform.slow_samples: a few samples take far longer than all others.
#include <algorithm>
#include <cmath>

#include "analysis/findings/build.h"

namespace stallprof {
namespace {

constexpr std::size_t kShown = 5;

const AdviceDefinition kEvenSamples{"even_samples",
                                    "Prepare these samples before training: shrink them to what "
                                    "the model sees, re-encode them, cut "
                                    "long ones, or leave them out. The first are named above."};

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
                  e.gains.predict(s), "what is shrunk or left out is other data");
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
    addEvidence(f, "about 1 of {} samples takes {}, not {} (the median)",
                {numberWord(std::round(made / count)), timeWord(one), timeWord(median)},
                timeWord(one));
  else  // how many a batch has is not known
    addEvidence(f, "some samples take {}, not {} (the median)", {timeWord(one), timeWord(median)});
  addEvidence(f, "what they take beyond it is {} of the making of batches, reading apart",
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
         R"(A few samples cost many times what the others do: very large images, long texts, files in
  another format. Each makes its batch late.)",
     .rule = R"(samples that took over 5 times the median of those before, and 1 ms; what they
  take beyond the median is over 5 % of the window, as a share of the making of batches that
  is waited for. Time without a CPU, or waiting for storage, is subtracted.)",
     .fixes = R"(- Shrink, cut or re-encode those samples once, before training.
- Leave them out, if they are few and faulty.
- Bucket by size, so that slow ones share batches.)",
     .wrong = R"(the sample was slow because of something else at that moment, not of what
  it is: its index then differs from epoch to epoch. A name comes from a list of the data set
  (`samples`, paths) at that index; one that reorders its list misnames. Data sets that make
  whole batches (__getitems__) and iterable ones are not seen.)"});

}  // namespace stallprof
