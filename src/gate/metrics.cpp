// SPDX-License-Identifier: MIT
#include "gate/metrics.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stallprof {
namespace {

// Levenshtein: words are short and few.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, other}));
    }
  }
  return row[b.size()];
}

}  // namespace

const MetricKind* findMetric(std::string_view path) {
  const std::span<const MetricKind> kinds = metricKinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const MetricKind& k) { return k.path == path; });
  return found == kinds.end() ? nullptr : &*found;
}

std::string_view nearestOf(std::string_view word, std::span<const std::string_view> words) {
  constexpr std::size_t kLongest = 64;  // longer is no slip of the fingers
  if (word.size() > kLongest || words.empty()) return {};
  const auto nearest = *std::min_element(
      words.begin(), words.end(), [&](auto a, auto b) { return edits(word, a) < edits(word, b); });
  // Half of the word may be wrong: `step_time.p50` is to find `steps.time_ns.p50`.
  return edits(word, nearest) * 2 > std::max(word.size(), nearest.size()) ? "" : nearest;
}

std::string didYouMean(std::string_view word, std::span<const std::string_view> words) {
  const std::string_view nearest = nearestOf(word, words);
  return nearest.empty() ? "" : "; did you mean '" + std::string(nearest) + "'?";
}

std::string didYouMeanMetric(std::string_view path) {
  std::vector<std::string_view> paths;
  for (const MetricKind& kind : metricKinds()) paths.push_back(kind.path);
  return didYouMean(path, paths);
}

}  // namespace stallprof
