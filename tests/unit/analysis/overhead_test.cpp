// SPDX-License-Identifier: MIT
// What leaves the trainer's own time shortens a step down to what others take, and no further.
#include "analysis/findings/overhead.h"

#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

double without(const Facts& f, double share) {
  return *withoutOverhead(gather(f.trace, f.trainer, f.run), share, 0, 0, 0).speedup;
}

}  // namespace

TEST_CASE("without a fifth of its own time a trainer waits for its workers") {
  const Training busy{.workers = 2, .compute = 97, .waitTransform = 3, .batchCpu = 194};
  CHECK(without(factsOf(busy), 0.2) == Approx(1 / 0.97));
  Training idle = busy;
  idle.batchCpu = 20;
  CHECK(without(factsOf(idle), 0.2) == Approx(1.25));
  idle.workers = 0;  // it makes them itself
  CHECK(without(factsOf(idle), 0.2) == Approx(1.25));
}

TEST_CASE(
    "the lock's share of the time is no more than the thread was blocked, whatever it was for") {
  Facts f = factsOf(Training{.workers = 0, .compute = 100});
  StackFacts& stacks = f.trainer.stacks;
  StackSlice seen;
  stacks.trainer.add(&seen, 1000);
  stacks.ownIdle.add(&seen, 100);
  stacks.ownLockWaits = 100;
  Evidence e = gather(f.trace, f.trainer, f.run);
  e.trainerBlockedKnown = true;
  e.trainerBlocked = 0.12;
  e.periodic = 0.2;  // on a CPU
  CHECK(shareOfLock(e).value == Approx(0.1));
  e.trainerBlocked = 0.08;
  CHECK(shareOfLock(e).value == Approx(0.08));
  e.trainerBlocked = 0.5;  // shorter waits than a sample sees
  CHECK(shareOfLock(e).value == Approx(0.3));
}

TEST_CASE("without a fifth of its own time a trainer waits for its device") {
  Facts f = factsOf(Training{.workers = 0, .compute = 100});
  DeviceFacts& device = f.trainer.device;
  device.seen = device.timeline = true;
  device.traced = device.covered = f.trainer.window();
  DeviceBusy busy;
  busy.traced = f.trainer.window();
  busy.kernels = scaled(busy.traced, 0.7);
  busy.idle.host = scaled(busy.traced, 0.3);
  device.devices.push_back(busy);
  CHECK(without(f, 0.2) == Approx(1.25));
  device.devices[0].idle = {};
  device.devices[0].idle.transform = scaled(busy.traced, 0.25);
  device.devices[0].idle.launch = scaled(busy.traced, 0.05);
  CHECK(without(f, 0.2) == Approx(1 / 0.95));
}
