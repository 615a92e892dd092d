// SPDX-License-Identifier: MIT
#include "analysis/blame/memory_growth.h"

#include <functional>

#include "tests/catch.h"

using namespace stallprof;

namespace {

constexpr Nanos kSecond = std::chrono::seconds(1);

// A process for a minute: private and shared MB at each second.
double growthOf(
    const std::function<double(int)>& own,
    const std::function<double(int)>& shared = [](int) { return 100.0; }, Nanos settled = {}) {
  ProcessLife life;
  for (int i = 0; i < 60; ++i) {
    ProcessUsage usage;
    usage.sharedBytes = static_cast<std::int64_t>(1e6 * shared(i));
    usage.residentBytes = usage.sharedBytes + static_cast<std::int64_t>(1e6 * own(i));
    life.usage.push_back({i * kSecond, usage});
  }
  return steadyGrowth(life, settled) / 1e6;
}

}  // namespace

TEST_CASE("a steady leak has its rate") {
  CHECK(growthOf([](int t) { return 200 + 3.0 * t; }) == 3);
  // With batches that come and go by 20 MB.
  const double rate = growthOf([](int t) { return 200 + 3.0 * t + (t % 2) * 20; });
  CHECK(rate > 2.4);
  CHECK(rate < 3.6);
}

TEST_CASE("first allocations, what is shared, and what levels off are no leak") {
  CHECK(growthOf([](int t) { return t < 18 ? 40.0 * t : 720.0; }) == 0);
  CHECK(growthOf([](int) { return 200.0; }, [](int t) { return 10.0 * t; }) == 0);
  CHECK(growthOf([](int t) { return t < 40 ? 5.0 * t : 200.0; }) == 0);  // a cache that is full
  CHECK(growthOf([](int t) { return 200 + (t * 7 % 13) * 10.0; }) == 0);
  CHECK(growthOf([](int t) { return 900 - 3.0 * t; }) == 0);
}

TEST_CASE("what came before the window does not count, and a short life says nothing") {
  const auto leak = [](int t) { return 200 + 3.0 * t; };
  const auto none = [](int) { return 0.0; };
  CHECK(growthOf(leak, none, 50 * kSecond) == 3);
  CHECK(growthOf(leak, none, 52 * kSecond) == 0);
  CHECK(steadyGrowth(ProcessLife{}, {}) == 0);
}
