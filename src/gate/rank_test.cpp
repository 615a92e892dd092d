// SPDX-License-Identifier: MIT
#include "gate/rank_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/stats.h"

namespace stallprof {
namespace {

// C(100, 50) is 1e29: a double counts that far with the precision that a probability needs.
constexpr std::size_t kLargestExact = 50;

// Twice each value's place in the order of both sides, base first; equal values share the middle.
std::vector<std::size_t> doubledRanks(std::span<const double> base, std::span<const double> head) {
  std::vector<double> all(base.begin(), base.end());
  all.insert(all.end(), head.begin(), head.end());
  std::vector<double> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> ranks;
  for (const double v : all) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), v);
    ranks.push_back(
        static_cast<std::size_t>((first - sorted.begin()) + (last - sorted.begin()) + 1));
  }
  return ranks;
}

std::size_t sumOf(std::span<const std::size_t> ranks) {
  std::size_t sum = 0;
  for (const std::size_t r : ranks) sum += r;
  return sum;
}

// out[s]: how likely `taken` of the ranks, drawn at random, have the sum s.
std::vector<double> sumsOf(std::span<const std::size_t> ranks, std::size_t taken) {
  const std::size_t largest = sumOf(ranks);
  std::vector<std::vector<double>> ways(taken + 1, std::vector<double>(largest + 1));
  ways[0][0] = 1;
  for (std::size_t seen = 0; seen < ranks.size(); ++seen)
    for (std::size_t k = std::min(taken, seen + 1); k > 0; --k)
      for (std::size_t s = ranks[seen]; s <= largest; ++s)
        ways[k][s] += ways[k - 1][s - ranks[seen]];
  double all = 0;
  for (const double w : ways[taken]) all += w;
  for (double& w : ways[taken]) w /= all;
  return std::move(ways[taken]);
}

double normalBelow(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

// What is known of a sum of `head` ranks of all, where every choice is as likely.
class RankSums {
 public:
  RankSums(std::vector<std::size_t> ranks, std::size_t head) : ranks_(std::move(ranks)) {
    const auto all = static_cast<double>(ranks_.size()), taken = static_cast<double>(head);
    if (head <= kLargestExact && ranks_.size() - head <= kLargestExact) {
      chances_ = sumsOf(ranks_, head);
      return;
    }
    double squares = 0;
    const double middle = static_cast<double>(sumOf(ranks_)) / all;
    for (const std::size_t r : ranks_) squares += std::pow(static_cast<double>(r) - middle, 2);
    mean_ = taken * middle;
    deviation_ = std::sqrt(taken * (all - taken) / all * squares / (all - 1));
  }

  // P(a sum of at most `sum`).
  [[nodiscard]] double chanceUpTo(std::size_t sum) const {
    // Half a step of 2 for continuity.
    if (chances_.empty()) return normalBelow((static_cast<double>(sum) + 1 - mean_) / deviation_);
    double below = 0;
    for (std::size_t s = 0; s <= std::min(sum, chances_.size() - 1); ++s) below += chances_[s];
    return std::min(1.0, below);
  }

 private:
  std::vector<std::size_t> ranks_;
  std::vector<double> chances_;  // empty: normal
  double mean_ = 0, deviation_ = 1;
};

// How many of the base x head differences may be on the wrong side at alpha; < 0: none may, or
// alpha is far from reached.
std::ptrdiff_t criticalCount(std::size_t base, std::size_t head, double alpha) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 1; i <= base + head; ++i) ranks.push_back(2 * i);
  const RankSums sums(std::move(ranks), head);
  const std::size_t minimum = head * (head + 1);  // twice 1 + 2 + ... + head
  std::ptrdiff_t count = -1;
  double level = 0;
  for (std::size_t u = 0; u <= base * head; ++u) {
    const double chance = sums.chanceUpTo(minimum + 2 * u);
    if (chance > alpha) break;
    count = static_cast<std::ptrdiff_t>(u);
    level = chance;
  }
  return level * 2 < alpha ? -1 : count;
}

}  // namespace

Maybe<RankTest> rankTest(std::span<const double> base, std::span<const double> head, double alpha) {
  if (base.empty() || head.empty()) return {};
  const std::ptrdiff_t count = criticalCount(base.size(), head.size(), alpha);
  if (count < 0) return {};
  std::vector<double> differences;
  for (const double h : head)
    for (const double b : base) differences.push_back(h - b);
  std::sort(differences.begin(), differences.end());
  const std::vector<std::size_t> ranks = doubledRanks(base, head);
  const std::size_t all = sumOf(ranks);
  const std::size_t ofHead = sumOf(std::span(ranks).subspan(base.size()));
  RankTest test;
  test.low = differences[static_cast<std::size_t>(count)];
  test.high = differences[differences.size() - 1 - static_cast<std::size_t>(count)];
  test.size = median(std::move(differences));
  test.better = RankSums(ranks, head.size()).chanceUpTo(ofHead);
  test.worse = RankSums(ranks, base.size()).chanceUpTo(all - ofHead);
  return test;
}

}  // namespace stallprof
