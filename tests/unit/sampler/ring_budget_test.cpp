// SPDX-License-Identifier: MIT
#include "sampler/perf_rings/ring_budget.h"

#include <unistd.h>

#include "sampler/perf/perf_samples.h"
#include "sampler/perf_rings/task_events.h"
#include "tests/catch.h"

using namespace stallprof;

TEST_CASE("rings are as large as was asked for where all fit, else a power of two that does") {
  CHECK(RingBudget(1000).dataPages(2, 64, 8, 1) == 64);
  CHECK(RingBudget(130).dataPages(2, 64, 8, 1) == 64);  // each has a page more
  CHECK(RingBudget(129).dataPages(2, 64, 8, 1) == 32);
  CHECK(RingBudget(130).dataPages(2, 64, 8, 0.5) == 16);
}

TEST_CASE("rings are not made smaller than they may be: then they do not fit") {
  RingBudget budget(10);
  CHECK(budget.dataPages(2, 64, 8, 1) == 8);
  CHECK(budget.take(9));
  CHECK_FALSE(budget.take(9));
  budget.give(9);
  CHECK(budget.take(10));
}

TEST_CASE("of 8 MiB that a user may lock 32 CPUs have task events and native samples") {
  RingBudget budget((8u << 20) / 4096 / 2);
  const std::size_t tasks = budget.dataPages(32, 64, 8, 2.0 / 3);
  CHECK(tasks == 16);
  REQUIRE(budget.take(32 * (tasks + 1)));
  const std::size_t samples = budget.dataPages(32, 32, 4, 1);
  CHECK(samples == 8);
  CHECK(budget.take(32 * (samples + 1)));
}

TEST_CASE("both users of rings stay inside one budget, and return what they had") {
  constexpr std::size_t kPages = 300;
  RingBudget budget(kPages);
  {
    TaskEvents events(budget);
    PerfSamples samples(budget);
    (void)events.open(::getpid());  // where the host permits it
    (void)samples.open(::getpid(), Nanos(10'000'000));
    CHECK_FALSE(budget.take(kPages + 1));
  }
  CHECK(budget.take(kPages));
}

TEST_CASE("without a budget both say so, and open nothing") {
  RingBudget none(0);
  TaskEvents events(none);
  PerfSamples samples(none);
  CHECK_FALSE(events.open(::getpid()));
  CHECK_FALSE(samples.open(::getpid(), Nanos(10'000'000)));
  CHECK(events.state() == Coverage::kAbsent);
  CHECK(samples.state() == Coverage::kAbsent);
  CHECK_FALSE(events.why().empty());
  CHECK_FALSE(samples.why().empty());
}
