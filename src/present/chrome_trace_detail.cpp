// SPDX-License-Identifier: MIT
#include "present/chrome_trace_detail.h"

#include <algorithm>

namespace stallprof {
namespace {

constexpr std::uint64_t kMostMerged = 200'000;  // slices of all lanes, half of what is written
constexpr Nanos::rep kMostBins = 1000;          // a viewer's width in pixels, about
constexpr Nanos::rep kFewestBins = 20;

Nanos lengthOf(const Step& step) { return step.end - step.begin; }

// Of the window's steps away from boundaries, by time taken; of all where there are none.
std::vector<std::size_t> byLength(const TrainerFacts& trainer) {
  std::vector<std::size_t> order;
  for (std::size_t i = trainer.warmup; i < trainer.steps.size(); ++i)
    if (!trainer.steps[i].boundary) order.push_back(i);
  if (order.empty())
    for (std::size_t i = 0; i < trainer.steps.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lengthOf(trainer.steps[a]) < lengthOf(trainer.steps[b]);
  });
  return order;
}

// The steps from `middle - around` to `middle + around`.
void addStretch(const TrainerFacts& trainer, const char* what, std::size_t middle,
                std::size_t around, TimelineDetail& detail) {
  std::size_t first = middle, last = middle;
  while (middle - first < around && trainer.follows(first)) --first;
  while (last - middle < around && last + 1 < trainer.steps.size() && trainer.follows(last + 1))
    ++last;
  detail.stretches.push_back({trainer.steps[first].begin, trainer.steps[last].end});
  const auto number = [&](std::size_t i) { return std::to_string(trainer.steps[i].number); };
  detail.words.push_back(std::string(what) + " step " + number(middle) + " (steps " +
                         number(first) + " to " + number(last) + ")");
}

void addRepresentative(const TrainerFacts& trainer, std::size_t around, TimelineDetail& detail) {
  const std::vector<std::size_t> order = byLength(trainer);
  addStretch(trainer, "median", trainer.typicalOf(order), around, detail);
  addStretch(trainer, "worst", order.back(), around, detail);
  for (std::size_t i = 1; i < trainer.steps.size(); ++i)
    if (trainer.steps[i].pass != trainer.steps[i - 1].pass && trainer.toldWhole(i)) {
      addStretch(trainer, "first of a pass:", i, around, detail);
      return;
    }
}

// The steps that lie in the longest stretch with every piece of the device's work; where none lies
// in such a one, as many as there is room for around the median one.
void addOneStretch(const Trace& trace, const TrainerFacts& trainer, std::size_t room,
                   TimelineDetail& detail) {
  const Timed<DeviceTrace>* longest = nullptr;
  for (const auto& row : trace.deviceTraces)
    if (row.data.each && row.data.kernels && row.data.process == trainer.process &&
        (longest == nullptr || row.data.duration > longest->data.duration))
      longest = &row;
  std::size_t first = 0, count = 0;
  for (std::size_t i = 0; longest != nullptr && i < trainer.steps.size(); ++i) {
    if (trainer.steps[i].begin < longest->at || trainer.steps[i].end > longest->end()) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) {
    const std::vector<std::size_t> order = byLength(trainer);
    return addStretch(trainer, "median", trainer.typicalOf(order), room / 2, detail);
  }
  const std::size_t last = first + std::min(count, room) - 1;
  detail.stretches.push_back({trainer.steps[first].begin, trainer.steps[last].end});
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
  const bool many = options.oneStretch && options.mostSteps > 0 && steps > options.mostSteps;
  const bool fits = options.full || (slices <= options.most && !many);
  const bool some = trainer.joined.steps > 0;
  if (some)
    detail.words.push_back("of " + std::to_string(trainer.stepCount()) + " steps " +
                           std::to_string(steps) + " one by one");
  if ((fits && !some && !(options.oneStretch && traced)) || trainer.steps.empty()) {
    detail.whole = fits;
    if (fits) return detail;
  }
  detail.whole = false, detail.only = options.oneStretch;
  const Nanos length = std::max(trace.end - trace.begin, Nanos(1));
  const auto bins = static_cast<Nanos::rep>(kMostMerged / std::max<std::size_t>(lanes, 1));
  detail.bin = length / std::clamp(bins, kFewestBins, kMostBins) + Nanos(1);
  detail.longest = length / kMostBins;
  if (trainer.steps.empty()) return detail;
  const std::uint64_t each = slices / steps + 1;
  std::size_t room = options.full ? steps : options.most / each + 1;
  if (many && !options.full) room = std::min(room, options.mostSteps);
  if (options.oneStretch)
    addOneStretch(trace, trainer, room, detail);
  else
    addRepresentative(trainer, options.most / 8 / each, detail);  // 3 of 2n + 1, within 3/4 of it
  detail.stretches = joined(std::move(detail.stretches));
  return detail;
}

}  // namespace stallprof
