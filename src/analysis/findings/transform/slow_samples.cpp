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

const AdviceDefinition kShortenWaits{
    "shorten_waits",
    "Find what these samples wait for, and shorten it: retries that sleep, a lock, a limited "
    "service. The evidence names the slowest."};

// What slow samples take beyond the median, in seconds of the window's batches.
struct Excess {
  double all = 0;     // to make the batches, without reading
  double excess = 0;  // of `all`
  double cpu = 0;     // core seconds of the batches that have any
  [[nodiscard]] double share() const { return all > 0 ? excess / all : 0; }
  // Little of it can be work: these samples are no larger than others.
  [[nodiscard]] bool waits() const { return cpu < excess / 4; }
};

Excess excessOf(const Evidence& e) {
  Excess sum;
  for (const BatchDemand& b : e.gains.workload().batches) {
    const double made = b.blocked + b.cpu;
    sum.excess += b.excess * made;
    sum.all += made;
    if (b.excess > 0) sum.cpu += b.coreSeconds();
  }
  return sum;
}

Advice evenSamples(const Evidence& e, bool waits) {
  PipelineSettings s = e.gains.base();
  s.evenSamples = true;
  return adviceOf(waits ? kShortenWaits : kEvenSamples,
                  {"data", "slow samples", "as they are", "like the others"}, e.gains.predict(s),
                  waits ? "none" : "shrunk or removed samples change the data");
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
  const Excess excess = excessOf(e);
  if (excess.waits() && e.locked() > kNotable) return {};  // for the lock that workers share
  const double making = e.transform + (excess.waits() ? e.unknownWait : 0);
  if (making * excess.share() <= kNotable) return {};
  Finding f = loaderFinding(e, making * excess.share(),
                            excess.waits() ? "A few samples wait far longer than all others take"
                                           : "A few samples take far longer than all others");
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
              {ratioWord(excess.share())});
  if (excess.waits())
    addEvidence(f, "they wait: their batches take {} of CPU for each second above the median",
                {timeWord(excess.cpu / excess.excess)});
  addNames(f, e);
  offer(f, evenSamples(e, excess.waits()));
  return f;
}

}  // namespace

extern const FindingDefinition kSlowSamples(
    "transform.slow_samples", slowSamples, offers(kEvenSamples, kShortenWaits),
    within("transform.in_process", "transform.cpu_saturated", "transform.too_few_workers"),
    {.cause =
         R"(A few samples take many times as long as the others: very large images, long texts, files in
  another format. Each delays its batch.)",
     .rule =
         R"(some samples take over 5 times the median of earlier samples, and over 1 ms. Their time
  above the median is over 5 % of the window, as a share of the batch time that the trainer waits
  for. Time without a CPU, or waiting for storage, is subtracted. Where the CPU time of their
  batches is under a quarter of it, they wait: then they are no larger than others.)",
     .fixes = R"(- Shrink, cut or re-encode those samples once, before training.
- Remove them, if they are few and faulty.
- Bucket by size, so that slow samples share batches.
- If they wait: fewer retries, shorter sleeps, more of the service that limits them.)",
     .wrong = R"(the sample was slow for another reason at that moment. Its index then differs from
  epoch to epoch. A name comes from a list of the data set (`samples`, paths) at that index; if the
  data set reorders the list, the name is wrong. Iterable data sets and those that make whole
  batches (__getitems__) are not measured.)"});

}  // namespace stallprof
