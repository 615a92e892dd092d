// SPDX-License-Identifier: MIT
// host.gpu_throttled: the device's clocks are held down.
#include <algorithm>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

constexpr double kOften = 0.05;   // of the window
constexpr double kSlower = 0.95;  // of the highest clock: less is felt, a boost step is 1 %
constexpr std::int64_t kPower = 0x4 | 0x80, kHeat = 0x20 | 0x40;  // NVML's bits

std::string reason(std::int64_t bits) {
  std::string text;
  if (bits & kHeat) text = "heat";
  if (bits & kPower) text += text.empty() ? "power" : " and power";
  return text.empty() ? "a hardware slowdown" : text;
}

}  // namespace

Maybe<Finding> gpuThrottled(const Evidence& e) {
  const DeviceGauge* g = e.device.gauge;
  if (!e.device.seen || !g || g->throttledRatio.value_or(0) <= kOften) return {};
  if (!g->throttledClockMhz || g->maxClockMhz.value_or(0) <= 0) return {};
  const double pace = *g->throttledClockMhz / *g->maxClockMhz;
  if (pace >= kSlower) return {};
  Finding f = deviceFinding(e, "host.gpu_throttled", Phase::kOther, *g->throttledRatio,
                            "The device's clocks are held down");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  tell(f,
       "held down by " + reason(g->throttleReasons) + " " + percent(*g->throttledRatio) +
           " of the time",
       *g->throttledRatio, "ratio");
  tell(f,
       number(*g->throttledClockMhz) + " MHz meanwhile, of " + number(*g->maxClockMhz) +
           " at its highest",
       *g->throttledClockMhz, "MHz");
  if (g->powerWatts) tell(f, "draws " + number(*g->powerWatts) + " W", *g->powerWatts, "W");
  // Kernels that wait for memory gain nothing from the clock; only what keeps the device busy can.
  const double busy = e.device.timeline ? e.device.busy : g->busyRatio.value_or(0);
  const double most = busy * *g->throttledRatio * (1 - pace);
  // The step gets shorter by as much as the device sets its pace.
  const auto saved = [&](double part) {
    return Saved{part * most * std::min(1.0, busy), 0, part * most};
  };
  offer(f,
        adviceOf("cool_the_device",
                 {"hardware", "gpu clock", number(*g->throttledClockMhz), number(*g->maxClockMhz)},
                 predictSaved(e, saved(0.7), saved(0.2), saved(1))));
  return f;
}

}  // namespace stallprof
