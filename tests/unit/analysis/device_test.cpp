// SPDX-License-Identifier: MIT
#include <random>

#include "analysis/device/device_time.h"
#include "tests/unit/analysis/attributed.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

// 20 steps of 100 ms, 14 of them in the window: 40 ms of waiting for a loader with workers that
// nobody can be blamed for, then 60 ms inside the step.
const std::string kSteps =
    "0 loader process=1 loader=1 workers=1\n"
    "repeat 20 every 100ms\n"
    "1000ms fetch thread=1 loader=1 epoch=1 duration=40ms cpu=0 batch=0+1*i worker=0\n"
    "1095ms optimizer thread=1 duration=5ms optimizer=1\n"
    "end\n"
    "3000ms fetch thread=1 loader=1 epoch=1 duration=1ms end=1\n";
const std::string kTraced = "0 device_trace process=1 duration=4s kernels=1 calls=1\n";

std::string each(const std::string& lines) { return "repeat 20 every 100ms\n" + lines + "end\n"; }

}  // namespace

TEST_CASE("without a device nothing is known of one, and nothing changes") {
  const TrainerFacts facts = factsOf(kSteps);
  CHECK_FALSE(facts.device.seen);
  CHECK(facts.split.wait == 14 * 40ms);
  CHECK(facts.split.hidden == 0ns);
}

TEST_CASE("a data wait is compute while the device works, and a wait while it does not") {
  // From 60 ms of a step to 10 ms of the next: 10 of the 40 ms are hidden.
  const TrainerFacts facts =
      factsOf(kSteps + kTraced +
              each("960ms device_span device=\"GPU-1\" process=1 duration=50ms busy=50ms\n"));
  CHECK(facts.device.timeline);
  CHECK(facts.split.hidden == 14 * 10ms);
  CHECK(facts.split.wait == 14 * 30ms);
  CHECK(facts.split.compute == 14 * 70ms);
  CHECK(facts.blame.unknown == 14 * 30ms);
  REQUIRE(facts.device.devices.size() == 1);
  const DeviceBusy& d = facts.device.devices[0];
  CHECK(d.traced == 1400ms);
  // The last step's work was not begun before the window's end: 50 + 13 * 50 - 40.
  CHECK(d.kernels == 13 * 50ms + 10ms);
  CHECK(d.idle.unknown == 14 * 30ms);
  // After the wait the host takes 20 ms to launch; the last step never does.
  CHECK(d.idle.host == 13 * 20ms + 60ms);
}

TEST_CASE("another process's work hides nothing") {
  const TrainerFacts facts =
      factsOf(kSteps + kTraced +
              each("960ms device_span device=\"GPU-1\" process=7 duration=50ms busy=50ms\n"));
  CHECK(facts.split.hidden == 0ns);
  CHECK(facts.device.devices.empty());
}

TEST_CASE("a wait for the device is sync while it idles, compute while it works") {
  // In the step the trainer waits from 60 to 90; the device works from 60 to 80.
  const TrainerFacts facts =
      factsOf(kSteps + kTraced +
              each("1060ms device_call thread=1 duration=30ms kind=sync name=\"s\"\n"
                   "1060ms device_span device=\"GPU-1\" process=1 duration=20ms busy=20ms\n"));
  CHECK(facts.split.sync == 14 * 10ms);
  CHECK(facts.split.compute == 14 * 50ms);
  const DeviceIdle& idle = facts.device.devices[0].idle;
  // What follows the wait for 1 ms and more is the thread's own work.
  CHECK(idle.sync == 14 * 10ms);
  CHECK(idle.host == 14 * (20ms + 10ms));
  CHECK(facts.device.syncs == 14);
}

TEST_CASE("blocking in a copy to the device is load; in one from it, a wait for it") {
  const std::string span =
      "1050ms device_span device=\"GPU-1\" process=1 duration=20ms busy=20ms copy_only=20ms\n";
  const std::string call =
      "1050ms device_call thread=1 duration=20ms kind=copy name=\"cudaMemcpy\" correlation=5+1*i\n";
  const auto work = [](const char* kind) {
    return std::string("1050ms device_work device=\"GPU-1\" process=1 duration=20ms kind=") + kind +
           " correlation=5+1*i memory=pageable\n";
  };
  const TrainerFacts in = factsOf(kSteps + kTraced + each(call + work("to_device") + span));
  CHECK(in.split.copy == 14 * 20ms);
  CHECK(in.split.load == 14 * 20ms);
  CHECK(in.split.compute == 14 * 40ms);
  const TrainerFacts out = factsOf(kSteps + kTraced + each(call + work("to_host") + span));
  CHECK(out.split.copy == 0ns);
  CHECK(out.split.compute == 14 * 60ms);  // the device works: its copy
}

TEST_CASE("a wait for a device that runs collectives alone is comm, as far as they fill it") {
  const TrainerFacts facts =
      factsOf(kSteps + kTraced +
              each("1060ms device_call thread=1 duration=30ms kind=sync name=\"s\"\n"
                   "1060ms device_span device=\"GPU-1\" process=1 duration=30ms busy=30ms "
                   "collective_only=15ms\n"));
  CHECK(facts.split.comm == 14 * 15ms);
  CHECK(facts.split.compute == 14 * 45ms);
}

TEST_CASE("short gaps are launching, longer ones the host's own work") {
  const TrainerFacts facts =
      factsOf(kSteps + kTraced +
              each("1041ms device_span device=\"GPU-1\" process=1 duration=10ms busy=9ms\n"
                   "1051500us device_span device=\"GPU-1\" process=1 duration=10ms busy=10ms\n"));
  const DeviceIdle& idle = facts.device.devices[0].idle;
  CHECK(idle.launch == 14 * (1ms + 500us));  // within the first span, and between the two
  CHECK(idle.host == 14 * (1ms + 38500us));
}

TEST_CASE("idle time in a checkpoint is not that in an evaluation") {
  const TrainerFacts facts = factsOf(
      kSteps + kTraced + "2550ms span thread=1 duration=30ms phase=periodic name=\"torch.save\"\n" +
      each("1041ms device_span device=\"GPU-1\" process=1 duration=1ms busy=1ms\n"));
  CHECK(facts.device.devices[0].idle.checkpoint == 30ms);
}

TEST_CASE("what was not traced is estimated from what was, and sums as exactly") {
  // Kernels are traced in three of the window's steps, 10 of 40 ms of each wait hidden.
  const std::string spans =
      each("960ms device_span device=\"GPU-1\" process=1 duration=50ms busy=50ms\n");
  const TrainerFacts facts =
      factsOf(kSteps + "2000ms device_trace process=1 duration=300ms kernels=1\n" + spans);
  CHECK(facts.device.timeline);
  CHECK(facts.device.traced == 300ms);
  CHECK(facts.split.hidden == 14 * 10ms);
  CHECK(facts.split.wait == 14 * 30ms);
  CHECK(facts.steps[7].split.hidden == 10ms);
}

TEST_CASE("too little tracing shows nothing") {
  const TrainerFacts facts =
      factsOf(kSteps + "2000ms device_trace process=1 duration=10ms kernels=1\n" +
              each("960ms device_span device=\"GPU-1\" process=1 duration=50ms busy=50ms\n"));
  CHECK(facts.device.seen);
  CHECK_FALSE(facts.device.timeline);
  CHECK(facts.split.hidden == 0ns);
  CHECK(facts.split.wait == 14 * 40ms);
}

TEST_CASE("an interval with copies alone says nothing of busy time") {
  const TrainerFacts facts =
      factsOf(kSteps + "0 device_trace process=1 duration=4s kernels=0\n" +
              each("960ms device_span device=\"GPU-1\" process=1 duration=50ms busy=50ms\n"));
  CHECK_FALSE(facts.device.timeline);
  CHECK(facts.device.covered == facts.window());
}

TEST_CASE("any device events whatever sum exactly, and nothing is below zero") {
  std::mt19937_64 random(20261121);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 60; ++round) {
    std::string text = kSteps;
    for (int i = 0; i < 4; ++i)
      text += std::to_string(1000 + below(2000)) +
              "ms device_trace process=1 duration=" + std::to_string(below(900)) +
              "ms kernels=" + std::to_string(below(3) > 0) + "\n";
    for (int i = 0; i < 40; ++i) {
      const auto busy = below(60'000'000);
      text += std::to_string(900'000'000 + below(2'200'000'000)) + " device_span device=\"GPU-" +
              std::to_string(below(2)) +
              "\" process=1 duration=" + std::to_string(below(60'000'000)) +
              " busy=" + std::to_string(busy) + " copy_only=" + std::to_string(below(60'000'000)) +
              " collective_only=" + std::to_string(below(60'000'000)) + "\n";
      text += std::to_string(900'000'000 + below(2'200'000'000)) +
              " device_call thread=1 duration=" + std::to_string(below(30'000'000)) +
              " kind=" + (below(2) ? "sync" : "copy") + " correlation=" + std::to_string(below(9)) +
              "\n";
      text +=
          std::to_string(900'000'000 + below(2'200'000'000)) +
          " device_work device=\"GPU-0\" process=1 duration=" + std::to_string(below(30'000'000)) +
          " kind=" + (below(2) ? "to_device" : "to_host") +
          " correlation=" + std::to_string(below(9)) + "\n";
    }
    factsOf(text);
  }
}

TEST_CASE("totals: kernels by name and kind, copies by memory, calls of the process alone") {
  const Trace trace = traceOf(
      kTrainer + kSteps + kTraced +
      "2000ms device_use device=\"GPU-1\" process=1 duration=500ms kind=kernel name=\"my_gemm\" "
      "count=10 time=100ms filled=50ms\n"
      "2500ms device_use device=\"GPU-1\" process=1 duration=500ms kind=kernel name=\"my_gemm\" "
      "count=5 time=50ms\n"
      "2000ms device_use device=\"GPU-1\" process=7 duration=500ms kind=kernel name=\"x\" time=9s\n"
      "2000ms device_use device=\"GPU-1\" process=1 duration=500ms kind=to_device memory=pinned "
      "count=2 time=10ms bytes=200000000\n"
      "2000ms device_calls thread=1 duration=500ms kind=launch name=\"cudaLaunchKernel\" count=7 "
      "time=1ms\n"
      "9000ms device_calls thread=1 duration=500ms kind=launch name=\"late\" count=7 time=1ms\n"
      "2000ms device_calls duration=500ms kind=copy name=\"(other)\" count=3 time=300us process=1\n"
      "2000ms device_calls duration=500ms kind=sync name=\"(other)\" count=2 time=200us process=1\n"
      "2000ms device_calls duration=500ms kind=sync name=\"(other)\" count=9 time=9ms process=7\n");
  const DeviceFacts facts = attribute(trace, {ProcessId{1}, ThreadId{1}}).device;
  REQUIRE(facts.kernels.size() == 1);
  CHECK(facts.kernels[0].count == 15);
  CHECK(facts.kernels[0].category == KernelCategory::kMatmul);
  CHECK(facts.kernels[0].filled == 50ms);
  CHECK(facts.kernels[0].filledOf == 100ms);
  REQUIRE(facts.copies.size() == 1);
  CHECK(facts.copies[0].bytes == 200'000'000);
  REQUIRE(facts.calls.size() == 3);
  CHECK(facts.calls[0].name == "cudaLaunchKernel");
  CHECK(facts.calls[1].name == "(other)");  // of no thread, each kind for itself
  CHECK(facts.calls[1].kind == DeviceCallKind::kCopy);
  CHECK(facts.calls[1].count == 3);
  CHECK(facts.calls[2].kind == DeviceCallKind::kSync);
  CHECK(facts.calls[2].count == 2);
}

TEST_CASE(
    "a gauge that does not say is not zero; idle clocks and the power cap are no throttling") {
  const Trace trace =
      traceOf(kTrainer + kSteps +
              "2000ms device_usage device=\"GPU-1\" busy=400 memory=10 memory_total=100 clock=1000 "
              "max_clock=2000 throttle=1\n"
              "2500ms device_usage device=\"GPU-1\" busy=600 memory=30 memory_total=100 clock=1500 "
              "max_clock=2000 throttle=36\n"  // heat, at the power cap
              "2600ms device_usage device=\"GPU-1\" busy=500 memory=30 memory_total=100 clock=1800 "
              "max_clock=2000 throttle=4 power_throttled=600000000\n");
  const auto gauges = attribute(trace, {ProcessId{1}, ThreadId{1}}).device.gauges;
  REQUIRE(gauges.size() == 1);
  CHECK(std::abs(*gauges[0].busyRatio - 0.5) < 1e-9);
  CHECK_FALSE(gauges[0].smActiveRatio.has_value());
  CHECK(std::abs(*gauges[0].throttledRatio - 1.0 / 3) < 1e-9);
  CHECK(std::abs(*gauges[0].throttledClockMhz - 1500) < 1e-9);
  CHECK(gauges[0].memoryPeak == 30);
  CHECK(gauges[0].memoryFirst == 10);
}

TEST_CASE("clocks held by the power brake or a slowdown count for as long as they were held") {
  const auto held = [](const std::string& rows) {
    const auto gauges =
        attribute(traceOf(kTrainer + kSteps + rows), {ProcessId{1}, ThreadId{1}}).device.gauges;
    REQUIRE(gauges.size() == 1);
    return *gauges[0].throttledRatio;
  };
  const auto row = [](int at, int reasons, const std::string& rest) {
    return std::to_string(at) +
           "ms device_usage device=\"GPU-1\" busy=500 clock=1200 max_clock=2000 throttle=" +
           std::to_string(reasons) + rest + "\n";
  };
  const std::string none = " power_throttled=0 thermal_throttled=0";
  const std::string always = " power_throttled=2000000000 thermal_throttled=0";
  // The counter of power counts the cap, too.
  CHECK(std::abs(held(row(2000, 4, none) + row(2100, 4 | 0x80, always) + row(2200, 4, always) +
                      row(2300, 4, always)) -
                 0.25) < 1e-9);
  CHECK(held(row(2000, 0x80, none) + row(2900, 4 | 0x80, always)) > 0.6);
  // Of a slowdown the driver has no counter.
  CHECK(std::abs(held(row(2000, 8, none) + row(2500, 8, none)) - 1) < 1e-9);
}

TEST_CASE("totals of a damaged recording stop at the largest number, and reports stand") {
  std::string text = kTrainer + kSteps + kTraced;
  for (int i = 0; i < 3; ++i)
    text +=
        "2000ms device_use device=\"GPU-1\" process=1 duration=500ms kind=kernel name=\"k\" "
        "time=9223372036854775807 filled=9223372036854775807 count=18446744073709551615\n"
        "2000ms device_use device=\"GPU-1\" process=1 duration=500ms kind=to_device memory=pinned "
        "time=9223372036854775807 bytes=9223372036854775807 count=1\n"
        "2000ms device_use device=\"GPU-1\" process=1 duration=500ms kind=kernel name=\"minus\" "
        "time=-5 filled=7\n"
        "2000ms device_calls thread=1 duration=500ms kind=sync name=\"c\" "
        "time=9223372036854775807\n";
  const Trace trace = traceOf(text);
  const DeviceFacts facts = attribute(trace, {ProcessId{1}, ThreadId{1}}).device;
  REQUIRE(facts.kernels.size() == 2);
  CHECK(facts.kernels[0].time == Nanos::max());
  CHECK(facts.kernels[1].time == 0ns);
  CHECK(facts.copies[0].bytes == INT64_MAX);
  CHECK(analyze(trace).device.has_value());
}
