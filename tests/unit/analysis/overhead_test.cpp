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
