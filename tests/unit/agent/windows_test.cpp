// SPDX-License-Identifier: MIT
#include "agent/windows.h"

#include <string>

#include "tests/catch.h"

namespace stallprof::agent {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Ticks of a second at a steady rate of launches, each a kernel and a call: 'x' on, '.' off.
std::string ticks(Windows& windows, std::uint64_t launches, int count) {
  std::string drawn;
  static bool on;
  if (drawn.empty()) on = true;
  for (int i = 0; i < count; ++i) {
    drawn += on ? 'x' : '.';
    on = windows.next(on, kSecond, on ? launches : 0, on ? launches : 0);
  }
  return drawn;
}

constexpr std::uint64_t kAtBudget = static_cast<std::uint64_t>(
    Windows::kBudget * kSecond / (Windows::kKernelNs + Windows::kCallNs));

TEST_CASE("kernels are recorded all the time while that costs less than the budget") {
  Windows windows;
  CHECK(ticks(windows, kAtBudget - 10, 8) == "xxxxxxxx");
}

TEST_CASE("a rate over the budget is seen in windows, as often as the budget allows") {
  Windows windows;
  CHECK(ticks(windows, kAtBudget * 4 + 10, 11) == "x....x....x");
  Windows slightly;
  CHECK(ticks(slightly, kAtBudget + 10, 5) == "x.x.x");
}

TEST_CASE("whatever it costs, one tick in twenty is seen") {
  Windows windows;
  CHECK(ticks(windows, 10'000'000, 41) == "x...................x...................x");
}

TEST_CASE("it is continuous again only when the rate is well under the budget") {
  Windows windows;
  CHECK(ticks(windows, kAtBudget + 10, 3) == "x.x");
  CHECK_FALSE(windows.next(true, kSecond, kAtBudget * 9 / 10, kAtBudget * 9 / 10));
  CHECK(windows.next(false, kSecond, 0, 0));
  CHECK(windows.next(true, kSecond, kAtBudget / 2, kAtBudget / 2));
}

TEST_CASE("a tick that saw nothing keeps the window open") {
  Windows windows;
  CHECK(ticks(windows, 0, 4) == "xxxx");
}

}  // namespace
}  // namespace stallprof::agent
