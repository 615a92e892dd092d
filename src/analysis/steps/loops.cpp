// SPDX-License-Identifier: MIT
#include "analysis/steps/loops.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/stats.h"

namespace stallprof {
namespace {

// Visits of one sample, and gaps of one sample between visits, show that others may have been
// missed; more of them than this, and iterations may have been missed too.
constexpr double kFewSingle = 0.10;
// Lines of one loop are seen equally often, but for the first and last iteration of each entry.
constexpr double kSameIterations = 0.10;

struct LoopPlace {
  std::uint32_t line = 0;
  std::vector<std::size_t> visits;  // index in all visits
};

class Function {
 public:
  explicit Function(const std::vector<Visit>& visits) : visits_(visits) {
    std::size_t entry = 0;
    double samples = 0;
    for (std::size_t i = 0; i < visits.size(); ++i) {
      LoopPlace& place = places_[visits[i].place];
      place.line = visits[i].line;
      place.visits.push_back(i);
      entries_.push_back(entry += visits[i].entered);
      before_.push_back(samples);
      samples += visits[i].samples;
    }
  }

  [[nodiscard]] std::vector<Loop> loops() const {
    std::vector<std::pair<Loop, std::uint32_t>> found;
    for (const auto& [id, place] : places_)
      if (Loop loop = loopAt(id, place); loop.iterations.size() >= kMinIterations)
        found.emplace_back(std::move(loop), place.line);
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.first.iterations.size() < b.first.iterations.size();
    });
    std::vector<Loop> loops;
    std::uint32_t line = 0;
    for (auto& [loop, at] : found) {
      const auto count = static_cast<double>(loop.iterations.size());
      if (!loops.empty() &&
          static_cast<double>(loops.back().iterations.size()) >= (1 - kSameIterations) * count) {
        if (at < line) {
          loops.back() = std::move(loop);
          line = at;
        }
        continue;
      }
      loops.push_back(std::move(loop));
      line = at;
    }
    return loops;
  }

 private:
  // Iterations from visit to visit of one line; none where they cannot be counted.
  [[nodiscard]] Loop loopAt(StackId id, const LoopPlace& place) const {
    Loop loop;
    loop.anchor = id;
    std::vector<double> lengths, samples;
    double single = 0;
    for (std::size_t k = 0; k + 1 < place.visits.size(); ++k) {
      const std::size_t i = place.visits[k], next = place.visits[k + 1];
      if (entries_[i] != entries_[next]) continue;
      const Nanos begin = visits_[i].begin, end = visits_[next].begin;
      const double all = before_[next] - before_[i], here = visits_[i].samples;
      single += (here < 2) + (all - here < 2);
      loop.iterations.push_back({begin, end});
      loop.time += end - begin;
      lengths.push_back(seconds(end - begin));
      samples.push_back(all);
    }
    const auto count = static_cast<double>(lengths.size());
    if (lengths.size() < kMinIterations || single > kFewSingle * count) return {};
    const double middle = median(lengths);
    const auto even = std::count_if(lengths.begin(), lengths.end(), [&](double length) {
      return std::abs(length - middle) <= kEvenWithin * middle;
    });
    loop.period = fromSeconds(middle);
    loop.even = static_cast<double>(even) / count;
    if (loop.even < kEvenEnough || median(samples) < kIterationSamples) return {};
    addLast(place, loop);
    return loop;
  }

  // The iteration that an entry ends with has no next one to end at: the function's last sample is
  // its end, where it is as long as the others.
  void addLast(const LoopPlace& place, Loop& loop) const {
    std::vector<Interval> last;
    for (std::size_t k = 0; k < place.visits.size(); ++k) {
      const std::size_t i = place.visits[k];
      if (k + 1 < place.visits.size() && entries_[place.visits[k + 1]] == entries_[i]) continue;
      std::size_t end = i;
      while (end + 1 < visits_.size() && entries_[end + 1] == entries_[i]) ++end;
      const Interval iteration{visits_[i].begin, visits_[end].end};
      const double length = seconds(iteration.end - iteration.begin) / seconds(loop.period);
      if (std::abs(length - 1) <= kEvenWithin) last.push_back(iteration);
    }
    for (const Interval& iteration : last) loop.time += iteration.end - iteration.begin;
    loop.iterations.insert(loop.iterations.end(), last.begin(), last.end());
    std::sort(loop.iterations.begin(), loop.iterations.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  }

  const std::vector<Visit>& visits_;
  std::vector<std::size_t> entries_;  // of each visit: how many times the function was entered
  std::vector<double> before_;        // of each visit: samples before it
  std::map<StackId, LoopPlace> places_;
};

}  // namespace

std::vector<Loop> findLoops(const std::vector<Visit>& visits) { return Function(visits).loops(); }

std::size_t countReturns(const std::vector<Visit>& visits) {
  std::size_t returns = 0;
  for (std::size_t i = 1; i < visits.size(); ++i)
    returns += !visits[i].entered && visits[i].line < visits[i - 1].line;
  return returns;
}

}  // namespace stallprof
