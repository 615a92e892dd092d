// SPDX-License-Identifier: MIT
#include "agent/cupti/windows.h"

#include <string>

#include "tests/catch.h"

namespace stallprof::agent {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

using Record = Windows::Record;

// A program at a steady rate of launches, each a kernel and a call, that take so long where kernels
// are recorded and where not; too few for the cost to be measured, unless the test says so.
struct Program {
  std::uint64_t launches = 0, with = 0, without = 0;
  bool measurable = false;
  Record record = Record::kAll;

  // Ticks of a second: 'x' all on, 'c' calls alone, '.' off.
  std::string ticks(Windows& windows, int count) {
    std::string drawn;
    for (int i = 0; i < count; ++i) {
      drawn += record == Record::kAll ? 'x' : record == Record::kCalls ? 'c' : '.';
      Windows::Tick tick{record, kSecond, 0, 0, {}};
      if (record == Record::kAll) tick.kernels = launches;
      if (record != Record::kNone) tick.calls = launches;
      if (record != Record::kNone && measurable)
        tick.launches = {launches, record == Record::kAll ? with : without};
      record = windows.next(tick);
    }
    return drawn;
  }
};

std::string ticks(Windows& windows, std::uint64_t launches, int count) {
  return Program{launches}.ticks(windows, count);
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
  const auto all = [](std::uint64_t launches) {
    return Windows::Tick{Record::kAll, kSecond, launches, launches, {}};
  };
  CHECK(windows.next(all(kAtBudget * 9 / 10)) == Record::kNone);
  CHECK(windows.next({Record::kNone, kSecond, 0, 0, {}}) == Record::kAll);
  CHECK(windows.next(all(kAtBudget / 2)) == Record::kAll);
}

TEST_CASE("what a kernel's record costs is measured, and a dear one is seen in windows") {
  Windows windows;
  Program program{4000, 12'000, 2'000, true};  // 10 us each: 4 % of a thread's time
  CHECK(program.ticks(windows, 10) == "xcx..x..x.");
  // Measured again after five minutes, in the last tick before a window.
  CHECK(program.ticks(windows, 300).find('c') > 285);
}

TEST_CASE("a cost below what is assumed is not believed, and one beyond belief is cut") {
  Windows cheap, dear;
  CHECK(Program{4000, 2'000, 1'900, true}.ticks(cheap, 8) == "xcxxxxxx");
  CHECK(ticks(cheap, kAtBudget - 10, 2) == "xx");
  CHECK(ticks(cheap, kAtBudget + 10, 4) == "x.x.");
  Program{4000, 900'000, 1'000, true}.ticks(dear, 8);
  CHECK(ticks(dear, 150, 5) == "xxxxx");  // at 0.1 ms each within the budget, at 0.9 ms not
}

TEST_CASE("few launches need no measuring: ten times the cost would be tolerated") {
  Windows windows;
  CHECK(Program{500, 2'000, 1'000, true}.ticks(windows, 400).find_first_not_of('x') ==
        std::string::npos);
}

TEST_CASE("a quarter of the launches took no longer than the quartile") {
  static LaunchTimes times;
  CHECK(times.take().count == 0);
  for (std::uint64_t i = 0; i < 100; ++i) times.add(i < 30 ? 1000 : 1'000'000'000);
  const LaunchTimes::Sum sum = times.take();
  CHECK(sum.count == 100);
  CHECK(sum.quartile == 1000 / 128 * 128);
  CHECK(times.take().count == 0);
}

TEST_CASE("a tick that saw nothing keeps the window open") {
  Windows windows;
  CHECK(ticks(windows, 0, 4) == "xxxx");
}

}  // namespace
}  // namespace stallprof::agent
