// SPDX-License-Identifier: MIT
#include "present/timeline/chrome_trace_detail.h"

#include <algorithm>

#include "analysis/device/device_time.h"

namespace stallprof {
namespace {

constexpr std::uint64_t kMaxMerged = 200'000;  // slices of all lanes, half of what is written
constexpr Nanos::rep kMaxBins = 1000;          // a viewer's width in pixels, about
constexpr Nanos::rep kMinBins = 20;

// Of the window's steps away from boundaries, by time taken; of all where there are none.
std::vector<std::size_t> byLength(const TrainerFacts& trainer) {
  std::vector<std::size_t> order;
  for (std::size_t i = trainer.warmup; i < trainer.steps.size(); ++i)
    if (!trainer.steps[i].boundary) order.push_back(i);
  if (order.empty())
    for (std::size_t i = 0; i < trainer.steps.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return trainer.steps[a].length() < trainer.steps[b].length();
  });
  return order;
}

// The steps from `middle - around` to `middle + around`.
void addInterval(const TrainerFacts& trainer, const char* what, std::size_t middle,
                 std::size_t around, TimelineDetail& detail) {
  std::size_t first = middle, last = middle;
  while (middle - first < around && trainer.follows(first)) --first;
  while (last - middle < around && last + 1 < trainer.steps.size() && trainer.follows(last + 1))
    ++last;
  detail.intervals.push_back({trainer.steps[first].begin, trainer.steps[last].end});
  const auto number = [&](std::size_t i) { return std::to_string(trainer.steps[i].number); };
  detail.words.push_back(std::string(what) + " step " + number(middle) + " (steps " +
                         number(first) + " to " + number(last) + ")");
}

void addRepresentative(const TrainerFacts& trainer, std::size_t around, TimelineDetail& detail) {
  const std::vector<std::size_t> order = byLength(trainer);
  addInterval(trainer, "median", trainer.typicalOf(order), around, detail);
  addInterval(trainer, "worst", order.back(), around, detail);
  for (std::size_t i = 1; i < trainer.steps.size(); ++i)
    if (trainer.steps[i].epoch != trainer.steps[i - 1].epoch && trainer.detailed(i)) {
      addInterval(trainer, "first of an epoch:", i, around, detail);
      return;
    }
}

// The steps that lie in the longest interval with every piece of the device's work; where none lies
// in such a one, as many as there is room for around the median one.
void addOneInterval(const Trace& trace, const TrainerFacts& trainer, std::size_t room,
                    TimelineDetail& detail) {
  const Timed<DeviceTrace>* longest = longestOfEach(trace, trainer.process);
  std::size_t first = 0, count = 0;
  for (std::size_t i = 0; longest != nullptr && i < trainer.steps.size(); ++i) {
    if (trainer.steps[i].begin < longest->at || trainer.steps[i].end > longest->end()) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) {
    const std::vector<std::size_t> order = byLength(trainer);
    return addInterval(trainer, "median", trainer.typicalOf(order), room / 2, detail);
  }
  const std::size_t last = first + std::min(count, room) - 1;
  detail.intervals.push_back({trainer.steps[first].begin, trainer.steps[last].end});
  detail.words.push_back("each piece of the device's work (steps " +
                         std::to_string(trainer.steps[first].number) + " to " +
                         std::to_string(trainer.steps[last].number) + ")");
}

}  // namespace

TimelineDetail chooseDetail(const Trace& trace, const TrainerFacts& trainer,
                            const TimelineOptions& options, std::uint64_t slices,
                            std::size_t lanes) {
  TimelineDetail detail;
  bool traced = false;
  for (const auto& row : trace.deviceTraces)
    traced = traced || (row.data.each && row.data.process == trainer.process);
  const std::size_t steps = trainer.steps.size();
  const bool many = options.oneInterval && steps > kMaxHtaSteps;
  const bool fits = options.full || (slices <= options.maximum && !many);
  const bool some = trainer.joined.steps > 0;
  if (some)
    detail.words.push_back("of " + std::to_string(trainer.stepCount()) + " steps " +
                           std::to_string(steps) + " one by one");
  if ((fits && !some && !(options.oneInterval && traced)) || trainer.steps.empty()) {
    detail.whole = fits;
    if (fits) return detail;
  }
  detail.whole = false;
  detail.only = options.oneInterval;
  const Nanos length = std::max(trace.end - trace.begin, Nanos(1));
  const auto bins = static_cast<Nanos::rep>(kMaxMerged / std::max<std::size_t>(lanes, 1));
  detail.bin = length / std::clamp(bins, kMinBins, kMaxBins) + Nanos(1);
  detail.longest = length / kMaxBins;
  if (trainer.steps.empty()) return detail;
  const std::uint64_t each = slices / steps + 1;
  std::size_t room = options.full ? steps : options.maximum / each + 1;
  if (many && !options.full) room = std::min(room, kMaxHtaSteps);
  if (options.oneInterval)
    addOneInterval(trace, trainer, room, detail);
  else
    addRepresentative(trainer, options.maximum / 8 / each,
                      detail);  // 3 of 2n + 1, within 3/4 of it
  detail.intervals = joined(std::move(detail.intervals));
  return detail;
}

}  // namespace stallprof
