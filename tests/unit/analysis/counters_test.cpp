// SPDX-License-Identifier: MIT
#include "analysis/describe/describe.h"
#include "tests/catch.h"
#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;
using stallprof::test::traceOf;

namespace {

bool nearThousandth(const Maybe<double>& value, double expected) {
  return value && *value > expected * 0.999 && *value < expected * 1.001;
}

const std::string kCounted =
    "repeat 11 every 1s\n"
    "0 counter name=\"cycles\" count=0+2000*i enabled=0+1s*i running=0+1s*i\n"
    "0 counter name=\"instructions\" count=0+3000*i enabled=0+1s*i running=0+1s*i\n"
    "0 counter name=\"llc_misses\" count=0+6*i enabled=0+1s*i running=0+500ms*i\n"
    "0 counter name=\"stalled_cycles\" count=0+500*i enabled=0+1s*i running=0+1s*i\n"
    "0 counter name=\"fp_256_single\" count=0+10*i enabled=0+1s*i running=0+1s*i\n"
    "0 counter name=\"fp_scalar_double\" count=0+20*i enabled=0+1s*i running=0+1s*i\n"
    "end\n";

}  // namespace

TEST_CASE("counters give instructions a cycle, misses, stalls and operations") {
  const auto info = measureCounters(traceOf(kCounted), Nanos(0), std::chrono::seconds(10));
  REQUIRE(info);
  CHECK(nearThousandth(info->instructionsPerCycle, 1.5));
  CHECK(nearThousandth(info->stalledRatio, 0.25));
  CHECK(nearThousandth(info->flopsPerSecond, 10 * 8 + 20));
}

TEST_CASE("a counter that had half of the time stands for all of it") {
  const auto info = measureCounters(traceOf(kCounted), Nanos(0), std::chrono::seconds(10));
  REQUIRE(info);
  CHECK(nearThousandth(info->missesPerKiloInstruction, 4));  // 2 were counted
  CHECK(nearThousandth(info->runningRatio, 0.5));
}

TEST_CASE("only what lies in the window counts") {
  const std::string text =
      "0s counter name=\"cycles\" count=0 enabled=0s running=0s\n"
      "5s counter name=\"cycles\" count=1000 enabled=5s running=5s\n"
      "9s counter name=\"cycles\" count=5000 enabled=9s running=9s\n"
      "0s counter name=\"instructions\" count=0 enabled=0s running=0s\n"
      "5s counter name=\"instructions\" count=9000 enabled=5s running=5s\n"
      "9s counter name=\"instructions\" count=11000 enabled=9s running=9s\n";
  const auto info =
      measureCounters(traceOf(text), std::chrono::seconds(5), std::chrono::seconds(9));
  REQUIRE(info);
  CHECK(nearThousandth(info->instructionsPerCycle, 0.5));
}

TEST_CASE("what was not counted is not measured") {
  CHECK_FALSE(measureCounters(traceOf(stallprof::test::kTrainer), Nanos(0), Nanos(1)));
  const std::string never =
      "0s counter name=\"cycles\"\n"
      "1s counter name=\"cycles\" enabled=1s\n"
      "0s counter name=\"instructions\"\n"
      "1s counter name=\"instructions\" count=5 enabled=1s running=1s\n";
  const auto info = measureCounters(traceOf(never), Nanos(0), std::chrono::seconds(1));
  REQUIRE(info);
  CHECK_FALSE(info->instructionsPerCycle);
  CHECK_FALSE(info->stalledRatio);
  CHECK_FALSE(info->flopsPerSecond);
}
