// SPDX-License-Identifier: MIT
#include "recording/cupti/activity_clock.h"

#include "tests/catch.h"

namespace stallprof {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kDeviceEpoch = 1'700'000'000 * kSecond;

std::int64_t at(const ActivityClock& clock, std::uint64_t device) {
  const auto found = clock.monotonic(device);
  return found ? found->count() : -1;
}

TEST_CASE("one pair is an offset; pairs are a line from one to the next") {
  ActivityClock clock;
  CHECK_FALSE(clock.known());
  CHECK_FALSE(clock.monotonic(kDeviceEpoch));
  clock.add({10 * kSecond, kDeviceEpoch, 100});
  CHECK(clock.known());
  CHECK(at(clock, kDeviceEpoch + 5) == static_cast<std::int64_t>(10 * kSecond + 5));
  CHECK(at(clock, kDeviceEpoch - 5) == static_cast<std::int64_t>(10 * kSecond - 5));
  // 100 ppm fast: 1 s of it is 0.9999 s of ours.
  clock.add({20 * kSecond, kDeviceEpoch + 10 * kSecond + 1'000'000, 100});
  CHECK(clock.breaks() == 0);
  CHECK(std::abs(at(clock, kDeviceEpoch + 5 * kSecond + 500'000) -
                 static_cast<std::int64_t>(15 * kSecond)) <= 1);
  // And on at that rate behind the last.
  CHECK(std::abs(at(clock, kDeviceEpoch + 20 * kSecond + 2'000'000) -
                 static_cast<std::int64_t>(30 * kSecond)) <= 1);
}

TEST_CASE("a clock that was set gives no times between the pairs around it") {
  ActivityClock clock;
  clock.add({10 * kSecond, kDeviceEpoch, 100});
  clock.add({11 * kSecond, kDeviceEpoch + kSecond, 100});
  clock.add({12 * kSecond, kDeviceEpoch + 7 * kSecond, 100});  // set 5 s ahead
  clock.add({13 * kSecond, kDeviceEpoch + 8 * kSecond, 100});
  CHECK(clock.breaks() == 1);
  CHECK(at(clock, kDeviceEpoch + kSecond / 2) ==
        static_cast<std::int64_t>(10 * kSecond + kSecond / 2));
  CHECK(at(clock, kDeviceEpoch + 3 * kSecond) == -1);
  CHECK(at(clock, kDeviceEpoch + 7 * kSecond + 7) == static_cast<std::int64_t>(12 * kSecond + 7));
  clock.add({14 * kSecond, kDeviceEpoch + 2 * kSecond, 100});  // and back
  CHECK(clock.breaks() == 2);
  CHECK(at(clock, kDeviceEpoch + 2 * kSecond + 9) == static_cast<std::int64_t>(14 * kSecond + 9));
}

TEST_CASE("a clock of another unit has times once two intervals agree on its rate") {
  ActivityClock clock;
  for (std::uint64_t i = 0; i < 5; ++i) {
    clock.add({(10 + i) * kSecond, 7 + i * 2'500'000'000u, 100});
    CHECK(clock.unsettled() == (i == 1));
  }
  CHECK(clock.breaks() == 0);
  CHECK(at(clock, 7 + 1'250'000'000u) == static_cast<std::int64_t>(10 * kSecond + kSecond / 2));
  CHECK(at(clock, 7 + 2'500'000'000u) == static_cast<std::int64_t>(11 * kSecond));
  CHECK(at(clock, 7 + 3'750'000'000u) == static_cast<std::int64_t>(11 * kSecond + kSecond / 2));
  CHECK(at(clock, 7 + 11'250'000'000u) == static_cast<std::int64_t>(14 * kSecond + kSecond / 2));
}

TEST_CASE("a clock that changes its unit, as under torch's profiler, goes on after two intervals") {
  ActivityClock clock;
  clock.add({10 * kSecond, kDeviceEpoch, 100});
  clock.add({11 * kSecond, kDeviceEpoch + kSecond, 100});
  for (std::uint64_t i = 0; i < 4; ++i)
    clock.add({(12 + i) * kSecond, 300 * kSecond + i * 2'100'000'000u, 100});
  CHECK(clock.breaks() == 1);
  CHECK(at(clock, kDeviceEpoch + kSecond / 2) ==
        static_cast<std::int64_t>(10 * kSecond + kSecond / 2));
  CHECK(at(clock, 300 * kSecond + 1'050'000'000u) ==
        static_cast<std::int64_t>(12 * kSecond + kSecond / 2));
}

TEST_CASE("a clock without an even rate is no clock") {
  ActivityClock clock;
  std::uint64_t device = 7;
  for (std::uint64_t i = 0; i < 6; ++i) {
    clock.add({(10 + i) * kSecond, device, 100});
    device += i % 2 == 0 ? 2'500'000'000u : 3'500'000'000u;
  }
  CHECK(clock.breaks() == 5);
}

TEST_CASE("pairs that cannot be are left out, and many are forgotten from the oldest") {
  ActivityClock clock;
  clock.add({0, kDeviceEpoch, 100});
  clock.add({~0ull, kDeviceEpoch, 100});
  clock.add({5, ~0ull, 100});
  CHECK_FALSE(clock.known());
  for (std::uint64_t i = 1; i < 5000; ++i)
    clock.add({i * kSecond, kDeviceEpoch + i * kSecond, ~0ull});
  clock.add({7 * kSecond, kDeviceEpoch, 100});  // of long ago
  CHECK(clock.breaks() == 0);
  CHECK(at(clock, kDeviceEpoch + 4998 * kSecond + 3) ==
        static_cast<std::int64_t>(4998 * kSecond + 3));
  CHECK(at(clock, ~0ull) == -1);
}

}  // namespace
}  // namespace stallprof
