// SPDX-License-Identifier: MIT
#include "agent/cupti/windows.h"

#include <string>

#include "tests/catch.h"

namespace stallprof::agent {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// A program at a steady rate of launches, each a kernel and a call. Ticks of a second: 'x'
// recorded,
// '.' not.
struct Program {
  Windows windows;
  bool record = true;

  std::string ticks(std::uint64_t launches, int count) {
    std::string drawn;
    for (int i = 0; i < count; ++i) {
      drawn += record ? 'x' : '.';
      const std::uint64_t seen = record ? launches : 0;
      record = windows.next({record, kSecond, seen, seen});
    }
    return drawn;
  }
};

constexpr auto kAtBudget = static_cast<std::uint64_t>(Windows::kBudget * kSecond /
                                                      (Windows::kKernelNs + Windows::kCallNs));

TEST_CASE("work is recorded all the time while that costs less than the budget") {
  CHECK(Program().ticks(kAtBudget - 10, 8) == "xxxxxxxx");
}

TEST_CASE("a rate over the budget is seen in windows, as often as the budget allows") {
  CHECK(Program().ticks(kAtBudget * 3 + 10, 9) == "x...x...x");
  CHECK(Program().ticks(kAtBudget + 10, 5) == "x.x.x");
}

TEST_CASE(
    "the first windows are close to each other, so that a short run has more than its start") {
  CHECK(Program().ticks(kAtBudget * 20, 53) ==
        "x....x........x................x...................x.");
}

TEST_CASE("whatever it costs, one tick in thirty is seen") {
  Program program;
  program.ticks(10'000'000, 31);  // the first windows
  CHECK(program.ticks(10'000'000, 61) ==
        "x" + std::string(29, '.') + "x" + std::string(29, '.') + "x");
}

TEST_CASE("it is continuous again only when the rate is well under the budget") {
  Program program;
  CHECK(program.ticks(kAtBudget + 10, 3) == "x.x");
  CHECK(program.ticks(kAtBudget * 9 / 10, 4) == ".x.x");
  CHECK(program.ticks(kAtBudget / 2, 4) == ".xxx");
}

TEST_CASE("a tick that saw nothing keeps the window open") {
  Program program;
  CHECK(program.ticks(0, 4) == "xxxx");
  CHECK(program.ticks(kAtBudget * 3 + 10, 4) == "x...");
  CHECK(program.ticks(0, 3) == "xxx");
}

TEST_CASE("a window that ends late, at a long step's update, has as much longer a gap") {
  for (const int length : {1, 5, 30}) {  // ticks until the update comes
    Windows windows;
    int recorded = 0, all = 0;
    for (int window = 0; window < 20; ++window) {
      bool more = windows.next({true, kSecond, kAtBudget * 10, kAtBudget * 10});
      REQUIRE_FALSE(more);
      const auto late = static_cast<std::uint64_t>(length - 1);
      windows.ended({true, late * kSecond, late * kAtBudget * 10, late * kAtBudget * 10});
      recorded += length;
      all += length;
      for (; !more; ++all) more = windows.next({false, kSecond, 0, 0});
    }
    // By 10 the budget, beside the first windows, which are closer.
    CHECK(static_cast<double>(recorded) / all < 1 / 8.0);
    CHECK(static_cast<double>(recorded) / all > 1 / 12.0);
  }
}

TEST_CASE("a pause within a window costs nothing, and makes no gap longer") {
  Windows windows;
  REQUIRE_FALSE(windows.next({true, kSecond, kAtBudget * 3 + 10, kAtBudget * 3 + 10}));
  windows.ended({true, 600 * kSecond, 0, 0});
  int gap = 1;
  while (!windows.next({false, kSecond, 0, 0})) ++gap;
  CHECK(gap == 3);
}

}  // namespace
}  // namespace stallprof::agent
