// SPDX-License-Identifier: MIT
#include "analysis/whole_run/forward_alone.h"

#include <vector>

#include "tests/catch.h"

using namespace stallprof;

namespace {

// Two seconds of a hundred samples a second: of steps, of evaluation.
constexpr PassSamples kTrains{40, 150, 10};
constexpr PassSamples kEvaluates{195, 0, 5};

using Parts = std::vector<PassSamples>;
Parts times(std::size_t count, const PassSamples& part) { return Parts(count, part); }
Parts operator+(Parts first, const Parts& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

TEST_CASE("a model that is run without going back is run alone, as long as that takes") {
  const Parts round = times(20, kTrains) + times(5, kEvaluates);
  CHECK(forwardAlone(round + round) == 10 * 200.0);
  // Intervals that are divided between both.
  const Parts divided = times(20, kTrains) + Parts{{118, 75, 7}};
  CHECK(forwardAlone(divided + divided) == 200.0);
}

TEST_CASE("what goes forward alone but once may be a stage in which few layers are trained") {
  CHECK(forwardAlone(times(15, {180, 15, 5}) + times(60, kTrains)) == 0);
  CHECK(forwardAlone(times(20, kTrains) + times(5, kEvaluates) + times(20, kTrains)) == 0);
}

TEST_CASE("steps that go forward and back are no evaluation, however unevenly samples fall") {
  Parts parts;
  for (int i = 0; i < 200; ++i) parts.push_back({40.0 + (i * 7) % 13 - 6, 150.0 - (i * 5) % 9, 10});
  CHECK(forwardAlone(parts) == 0);
}

TEST_CASE("steps longer than the intervals are joined before they are compared") {
  // Each of four intervals, of which the first alone goes forward; or it does in a half of it.
  Parts parts, half;
  for (int i = 0; i < 32; ++i) half = half + Parts{{100, 100, 0}} + times(3, {0, 195, 5});
  CHECK(forwardAlone(half) == 0);
  for (int i = 0; i < 32; ++i) parts = parts + Parts{{200, 0, 0}} + times(3, {0, 195, 5});
  CHECK(forwardAlone(parts) == 0);
  CHECK(forwardAlone(parts + times(12, kEvaluates) + parts + times(12, kEvaluates)) > 22 * 200.0);
}

TEST_CASE("few samples of functions that go back say nothing of intervals that have none") {
  // Both passes call the same product of matrices; what else goes back is one sample in a hundred.
  Parts parts;
  for (int i = 0; i < 100; ++i) parts.push_back({10, i % 4 == 0 ? 0.0 : 1 + i % 3, 190});
  CHECK(forwardAlone(parts) == 0);
}

TEST_CASE("where each step is evaluated, or nothing goes back, nothing distinguishes the two") {
  CHECK(forwardAlone(times(40, {120, 75, 5})) == 0);
  CHECK(forwardAlone(times(40, kEvaluates)) == 0);
  CHECK(forwardAlone(times(7, kTrains)) == 0);
  CHECK(forwardAlone({}) == 0);
}

TEST_CASE("what computes before anything goes forward is not evaluation") {
  CHECK(forwardAlone(times(5, {0, 0, 200}) + times(20, kTrains)) == 0);
}
