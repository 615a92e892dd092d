// SPDX-License-Identifier: MIT
// host.gpu_throttled: the device's clocks are held down.
#include <algorithm>
#include <cmath>

#include "analysis/findings/device_rules.h"
#include "base/units.h"

namespace stallprof {
namespace {

constexpr double kOften = 0.05;   // of the window
constexpr double kSlower = 0.95;  // of the highest clock: less is felt, a boost step is 1 %
constexpr std::int64_t kPower = 0x4 | 0x80, kHeat = 0x20 | 0x40;  // NVML's

const AdviceDefinition kCoolTheDevice{
    "cool_the_device",
    {},
    [](const AdviceContext& c) {
      return "Raise the device's clock above " + c.advice.change.from + " MHz (its maximum is " +
             c.advice.change.to +
             "): for a power limit raise it (nvidia-smi -pl), for heat check cooling and "
             "neighbouring devices, or move the job.";
    },
    true};

std::string throttleReason(std::int64_t bits) {
  std::string text;
  if (bits & kHeat) text = "heat";
  if (bits & kPower) text += text.empty() ? "power" : " and power";
  return text.empty() ? "a hardware slowdown" : text;
}

Maybe<Finding> gpuThrottled(const Evidence& e) {
  const DeviceGauge* g = e.device.gauge;
  if (!e.device.seen || !g || g->throttledRatio.value_or(0) <= kOften) return {};
  if (!g->throttledClockMhz || g->maxClockMhz.value_or(0) <= 0) return {};
  const double pace = *g->throttledClockMhz / *g->maxClockMhz;
  if (pace >= kSlower) return {};
  const std::string clock = numberText(*g->throttledClockMhz),
                    highest = numberText(*g->maxClockMhz);
  Finding f = deviceFinding(e, *g->throttledRatio, "The device's clocks are throttled");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "throttled by {} {} of the time",
              {textWord(throttleReason(g->throttleReasons)), ratioWord(*g->throttledRatio)},
              ratioWord(*g->throttledRatio));
  addEvidence(f, "{} MHz while throttled, of {} at most",
              {{clock, g->throttledClockMhz, "MHz"}, textWord(highest)});
  if (g->powerWatts)
    addEvidence(f, "draws {} W", {{numberText(*g->powerWatts), g->powerWatts, "W"}});
  // Kernels that wait for memory gain nothing from the clock; only what keeps the device busy can.
  const double busy = e.device.timeline ? e.device.busy : g->busyRatio.value_or(0);
  const double maximum = busy * *g->throttledRatio * (1 - pace);
  // The step gets shorter by as much as the device sets its pace.
  const double own = maximum * std::min(1.0, busy);
  return withAdvice(
      f, {adviceOf(
             kCoolTheDevice,
             {"hardware", "gpu clock", std::to_string(std::lround(*g->throttledClockMhz)),
              std::to_string(std::lround(*g->maxClockMhz))},
             predictSaved(
                 e, {.own = own, .device = maximum}, {0.7, 0.2},
                 "kernels get faster by seven tenths of the clock's gain, at most by all of it"))});
}

}  // namespace

extern const FindingDefinition kGpuThrottled(
    "host.gpu_throttled", gpuThrottled, offers(kCoolTheDevice),
    {.cause = R"(The device's clocks are throttled by heat or power.)",
     .rule =
         R"(for over 5 % of the window the monitoring library (NVML) reports a reason (heat, power
  brake, hardware slowdown), and the clock is then under 95 % of its maximum. The power cap alone is
  not a reason: a card under full load runs at this cap.)",
     .fixes = R"(- Power limit (nvidia-smi -pl), cooling, placement.)",
     .wrong = R"(the power limit was set below the card's default (nvidia-smi -q -d POWER). Then
  the finding does not fire. Kernels that wait for memory gain nothing from a higher clock.)"});

}  // namespace stallprof
