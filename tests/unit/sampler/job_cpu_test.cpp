// SPDX-License-Identifier: MIT
#include "sampler/processes/job_cpu.h"

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"

using namespace stallprof;

namespace {
constexpr ProcessId kTrainer{1}, kWorker{2}, kHelper{3}, kNobody{};

// A trainer that has used and waited for so much, and its worker.
JobCpu withWorker(Nanos trainer, Nanos waited, Nanos worker) {
  JobCpu cpu;
  cpu.set(kTrainer, kNobody, trainer, waited);
  cpu.set(kWorker, kTrainer, worker, s(0));
  return cpu;
}
}  // namespace

TEST_CASE("a dead child counts once: in what its parent waited for, or in what was seen of it") {
  JobCpu cpu = withWorker(s(10), s(0), s(4));
  CHECK(cpu.total() == s(14));
  cpu.gone(kWorker);
  CHECK(cpu.total() == s(14));
  cpu.set(kTrainer, kNobody, s(10), s(5));  // it had run one second more than we saw
  CHECK(cpu.total() == s(15));
}

TEST_CASE("children that came and went unseen are in what the parent waited for") {
  JobCpu cpu;
  cpu.set(kTrainer, kNobody, s(1), s(30));
  CHECK(cpu.total() == s(31));
}

TEST_CASE("a child that dies beside children waited for earlier is added to them") {
  JobCpu cpu = withWorker(s(3), s(2), s(4));
  cpu.gone(kWorker);
  CHECK(cpu.total() == s(9));
  cpu.nextRound();
  cpu.set(kTrainer, kNobody, s(3), s(6));
  CHECK(cpu.total() == s(9));
  cpu.nextRound();
  cpu.set(kTrainer, kNobody, s(3), s(8));  // one more, that nobody saw
  CHECK(cpu.total() == s(11));
}

TEST_CASE("a death noticed after its parent had waited is not counted twice") {
  JobCpu cpu = withWorker(s(1), s(0), s(4));
  cpu.nextRound();
  cpu.set(kTrainer, kNobody, s(1), s(4));
  cpu.gone(kWorker);
  CHECK(cpu.total() == s(5));
}

TEST_CASE("an orphan's time is kept, and so is a grandchild's") {
  JobCpu cpu = withWorker(s(1), s(0), s(2));
  cpu.set(kHelper, kWorker, s(3), s(0));
  cpu.gone(kWorker);
  cpu.gone(kHelper);  // after its parent
  CHECK(cpu.total() == s(6));
  cpu.gone(kTrainer);
  CHECK(cpu.total() == s(6));
}

TEST_CASE("a figure never goes back, and unknown processes may go") {
  JobCpu cpu;
  cpu.set(kTrainer, kNobody, s(5), s(0));
  cpu.set(kTrainer, kNobody, s(4), s(0));
  cpu.gone(kHelper);
  CHECK(cpu.total() == s(5));
}
