// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/slow_samples.h"

#include <algorithm>
#include <map>

namespace stallprof {
namespace {

constexpr double kTimesMedian = 5;  // as the hook has it (hook/samples.c)

// The batches that each thread made, by time.
class WorksByThread {
 public:
  explicit WorksByThread(std::vector<BatchWork>& works) {
    for (BatchWork& work : works) byThread_[work.thread].push_back(&work);
    for (auto& [thread, made] : byThread_)
      std::sort(made.begin(), made.end(),
                [](const BatchWork* a, const BatchWork* b) { return a->begin < b->begin; });
  }
  [[nodiscard]] BatchWork* at(ThreadId thread, Nanos time) const {
    const auto made = byThread_.find(thread);
    if (made == byThread_.end()) return nullptr;
    const auto after =
        std::upper_bound(made->second.begin(), made->second.end(), time,
                         [](Nanos t, const BatchWork* work) { return t < work->begin; });
    if (after == made->second.begin()) return nullptr;
    BatchWork* work = *(after - 1);
    return time < work->end ? work : nullptr;
  }

 private:
  std::map<ThreadId, std::vector<BatchWork*>> byThread_;
};

// Of `time` within a batch, without all that it waited for a CPU or for storage: a time slice of
// another program's makes slow what it falls on, and there are few such samples.
Nanos served(Nanos time, const BatchWork& work) {
  const Nanos waited = std::max(Nanos{}, work.queued) + std::max(Nanos{}, work.extract);
  return std::clamp(time - waited, Nanos{}, work.end - work.begin);
}

}  // namespace

void SlowSampleFacts::add(const SlowSample& sample) {
  const auto same = std::find_if(slowest.begin(), slowest.end(), [&](const SlowSample& s) {
    return s.index == sample.index && s.file == sample.file;
  });
  if (same == slowest.end())
    slowest.push_back(sample);
  else
    same->duration = std::max(same->duration, sample.duration);
  std::stable_sort(slowest.begin(), slowest.end(), [](const SlowSample& a, const SlowSample& b) {
    return a.duration > b.duration;
  });
  if (slowest.size() > kNamed) slowest.resize(kNamed);
}

void SlowSampleFacts::add(const SlowSampleFacts& part) {
  const auto all = static_cast<Nanos::rep>(batches + part.batches);
  if (all > 0)
    median = Nanos((median.count() * static_cast<Nanos::rep>(batches) +
                    part.median.count() * static_cast<Nanos::rep>(part.batches)) /
                   all);
  weighted += part.weighted;
  batches += part.batches;
  excess += part.excess;
  for (const SlowSample& sample : part.slowest) add(sample);
}

SlowSampleFacts findSlowSamples(const Trace& trace, std::vector<BatchWork>& works) {
  SlowSampleFacts facts;
  if (trace.slowSamples.empty()) return facts;
  const WorksByThread made(works);
  Nanos medians{};
  for (const auto& row : trace.slowSamples) {
    BatchWork* work = made.at(row.data.thread, row.at);
    if (work == nullptr || row.data.slow <= 0) continue;
    const Nanos duration = served(row.data.duration, *work);
    if (seconds(duration) < kTimesMedian * seconds(row.data.median)) continue;
    const Nanos excess = served(row.data.excess, *work);
    work->excess += excess;
    facts.excess += excess;
    facts.weighted += seconds(excess) * seconds(duration);
    ++facts.batches;
    medians += row.data.median;
    facts.add(SlowSample{row.data.index, row.data.file, duration});
  }
  if (facts.batches > 0) facts.median = medians / static_cast<Nanos::rep>(facts.batches);
  return facts;
}

}  // namespace stallprof
