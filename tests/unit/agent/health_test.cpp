// SPDX-License-Identifier: MIT
#include "agent/cupti/health.h"

#include <string>

#include "tests/catch.h"

namespace stallprof::agent {
namespace {

using Verdict = Health::Verdict;

// A process in which all goes well, tick by tick; a test changes what goes wrong.
struct HealthBench {
  Health health;
  Health::Sample now{100, 1000, 100, 0, 5000, 0, 1'000'000'000, 9'000'000'000};

  Verdict tick() {
    now.delivered += 2;
    now.calls += 50;
    now.taken += 2;
    now.kernels += 1000;
    now.monotonic += 1'000'000'000;
    now.device += 1'000'000'000;
    return health.judge(now);
  }
};

TEST_CASE("a process that traces, and one that idles, are well") {
  HealthBench bench;
  for (int i = 0; i < 20; ++i) CHECK(bench.tick() == Verdict::kWell);
  HealthBench idle;
  for (int i = 0; i < 20; ++i) {
    idle.now.monotonic += 1'000'000'000;
    idle.now.device += 1'000'000'000;
    CHECK(idle.health.judge(idle.now) == Verdict::kWell);
  }
}

TEST_CASE("calls that leave no records for five ticks mean that the buffers are stolen") {
  HealthBench bench;
  bench.tick();
  for (int i = 0; i < 4; ++i) {
    bench.now.delivered -= 2;
    CHECK(bench.tick() == Verdict::kWell);
  }
  bench.now.delivered -= 2;
  CHECK(bench.tick() == Verdict::kYield);
  CHECK(std::string(bench.health.why()).find("buffers") != std::string::npos);
}

TEST_CASE(
    "buffers that come back late were not stolen, and such a silence is tolerated from then on") {
  HealthBench bench;
  const auto silent = [&] { return bench.now.delivered -= 2, bench.tick(); };
  bench.tick();
  int ticks = 1;
  for (; silent() == Verdict::kWell; ++ticks) REQUIRE(ticks < 20);
  CHECK(ticks == 5);
  CHECK(bench.health.mayComeBack());
  for (; ticks < 8; ++ticks) CHECK(!bench.health.cameBack(bench.now.delivered));
  CHECK(bench.health.cameBack(++bench.now.delivered));
  bench.tick();
  for (ticks = 1; silent() == Verdict::kWell; ++ticks) REQUIRE(ticks < 40);
  CHECK(ticks == 18);  // twice the nine that were none
}

TEST_CASE("a step of the clock, or another unit of it, is tolerated; an uneven rate is not") {
  HealthBench bench;
  bench.tick();
  bench.now.device += 3'600'000'000'000;
  CHECK(bench.tick() == Verdict::kWell);
  for (int i = 0; i < 4; ++i) CHECK(bench.tick() == Verdict::kWell);
  for (int i = 0; i < 6; ++i) {  // three ticks a nanosecond
    bench.now.device += 2'000'000'000;
    CHECK(bench.tick() == Verdict::kWell);
  }
  CHECK(bench.tick() == Verdict::kWell);
  bench.now.device += 500'000'000;
  CHECK(bench.tick() == Verdict::kWell);
  bench.now.device += 4'000'000'000;
  CHECK(bench.tick() == Verdict::kYield);
  CHECK(!bench.health.mayComeBack());
}

TEST_CASE("without anybody who frees buffers it yields after ten ticks, until one comes back") {
  HealthBench bench;
  const auto unread = [&] {
    bench.now.starved += 7;
    bench.now.taken -= 2;
    bench.now.delivered -= 2;
    return bench.tick();
  };
  bench.tick();
  int ticks = 1;
  for (; unread() == Verdict::kWell; ++ticks) REQUIRE(ticks < 20);
  CHECK(ticks == 10);
  CHECK(std::string(bench.health.why()).find("nobody reads") != std::string::npos);
  CHECK(bench.health.isUnread());
  CHECK(bench.health.mayComeBack());
  for (int i = 0; i < 100; ++i) CHECK(!bench.health.cameBack(bench.now.delivered));
  CHECK(bench.health.cameBack(++bench.now.delivered));
  CHECK(!bench.health.isUnread());
  CHECK(bench.tick() == Verdict::kWell);
  // Silence is tolerated for no longer than before.
  const auto silent = [&] { return bench.now.delivered -= 2, bench.tick(); };
  for (ticks = 1; silent() == Verdict::kWell; ++ticks) REQUIRE(ticks < 20);
  CHECK(ticks == 5);
  CHECK(!bench.health.isUnread());
}

TEST_CASE("kernels with impossible times end the recording of kernels alone") {
  HealthBench bench;
  bench.tick();
  for (int i = 0; i < 2; ++i) {
    bench.now.invalid += 900;
    CHECK(bench.tick() == Verdict::kWell);
  }
  bench.now.invalid += 900;
  CHECK(bench.tick() == Verdict::kNoKernels);
}

}  // namespace
}  // namespace stallprof::agent
