// SPDX-License-Identifier: MIT
#include "analysis/findings/device_evidence.h"

#include <algorithm>

#include "analysis/device/device_use.h"

namespace stallprof {
namespace {

// Bytes of a copy: of a smaller one a good part of the time is its start, not the link's.
constexpr double kMeasuresLink = 1 << 20;

constexpr double kBound = 0.80;         // busy: the rest can gain 20 % at the very most
constexpr double kBoundByGauge = 0.90;  // the library's figure is an upper bound of the former

constexpr double kMinGapSamples = 30;  // in gaps: fewer say nothing of what the thread does in them

double shareOf(Nanos part, Nanos whole) {
  return whole > Nanos{} ? std::max(0.0, seconds(part) / seconds(whole)) : 0;
}

void addBusiest(const DeviceFacts& facts, DeviceEvidence& e) {
  if (facts.devices.empty() || facts.devices[0].traced <= Nanos{}) return;
  const DeviceBusy& d = facts.devices[0];
  const auto share = [&](Nanos part) { return shareOf(part, d.traced); };
  e.busy = share(d.busy());
  e.kernels = share(d.kernels);
  e.copies = share(d.copies);
  e.collectives = share(d.collectives);
  e.idleSync = share(d.idle.sync);
  e.idleLaunch = share(d.idle.launch);
  e.idleOfOthers = share(d.idle.data() + d.idle.copy + d.idle.comm);
}

void addUse(const DeviceFacts& facts, double tracedSteps, double annotatedSteps,
            DeviceEvidence& e) {
  double count = 0, time = 0, filled = 0, filledOf = 0;
  for (const KernelUse& k : facts.kernels) {
    count += static_cast<double>(k.count);
    time += seconds(k.time);
    // A collective leaves most units to the work beside it: that is no fault of its grid.
    if (k.category == KernelCategory::kCollective) continue;
    filled += seconds(k.filled);
    filledOf += seconds(k.filledOf);
  }
  if (tracedSteps > 0) e.kernelsPerStep = count / tracedSteps;
  if (count > 0) e.kernelSeconds = time / count;
  if (filledOf > 0) e.filled = std::min(1.0, filled / filledOf);
  for (const CopyUse& c : facts.copies) {
    if (c.kind != DeviceWorkKind::kToDevice) continue;
    const bool pinned = c.memory == HostMemory::kPinned;
    if (!pinned && c.memory != HostMemory::kPageable) continue;
    (pinned ? e.pinned : e.pageable) = shareOf(c.time, facts.covered);
    if (c.bytes < 0 || c.time <= Nanos{}) continue;
    const auto bytes = static_cast<double>(c.bytes);
    if (!pinned || bytes >= kMeasuresLink * static_cast<double>(c.count))
      (pinned ? e.pinnedRate : e.pageableRate) = bytes / seconds(c.time);
    if (pinned && annotatedSteps > 0) e.pinnedBytes = bytes / annotatedSteps;
  }
}

// Of the busiest device that the trainer uses: which those are, its work says, else the monitoring
// library's list of processes.
const DeviceGauge* gaugeOf(const Trace& trace, const TrainerFacts& t) {
  const DeviceFacts& facts = t.device;
  for (const DeviceGauge& gauge : facts.gauges)
    if (!facts.devices.empty() && gauge.device == facts.devices[0].device) return &gauge;
  if (!facts.devices.empty()) return nullptr;
  const std::vector<StringId> used = devicesUsed(trace, t);
  const DeviceGauge* found = nullptr;
  const auto busy = [](const DeviceGauge& gauge) { return gauge.busyRatio.value_or(-1); };
  for (const DeviceGauge& gauge : facts.gauges) {
    const bool uses = std::find(used.begin(), used.end(), gauge.device) != used.end();
    if (!uses && !used.empty()) continue;
    // Where nobody says, the least busy one: the trainer's is no less.
    if (!found || (used.empty() ? busy(gauge) < busy(*found) : busy(gauge) > busy(*found)))
      found = &gauge;
  }
  return found;
}

// A build of PyTorch for devices whose driver is not asked (AMD's, Intel's): nothing says whether
// one is busy.
bool otherDevices(const Trace& trace, ProcessId process) {
  return std::any_of(trace.frameworks.begin(), trace.frameworks.end(), [&](const auto& row) {
    const std::string_view version = trace.text(row.data.version);
    return row.data.process == process && (version.find("+rocm") != std::string_view::npos ||
                                           version.find("+xpu") != std::string_view::npos);
  });
}

}  // namespace

bool DeviceEvidence::bound() const {
  if (timeline) return busy >= kBound;
  return seen && gauge && gauge->busyRatio.value_or(0) >= kBoundByGauge;
}

DeviceEvidence deviceEvidence(const Trace& trace, const TrainerFacts& t) {
  const DeviceFacts& facts = t.device;
  DeviceEvidence e;
  e.seen = facts.seen || otherDevices(trace, t.process);
  e.timeline = facts.timeline;
  e.gauge = gaugeOf(trace, t);
  if (!facts.seen || t.window() <= Nanos{}) return e;
  const double traced = shareOf(facts.traced, t.window());
  const double untracedSteps = static_cast<double>(t.windowSteps()) - facts.tracedSteps;
  addUse(facts, facts.tracedSteps,
         facts.tracedSteps +
             shareOf(facts.covered - facts.traced, t.window() - facts.traced) * untracedSteps,
         e);
  if (!facts.timeline) return e;
  e.estimated = traced < kWholeTrace;
  e.devices = facts.devices.size();
  addBusiest(facts, e);
  e.hiddenWait = shareOf(t.split.hidden, t.window());
  e.blocking = shareOf(t.split.copy, t.window());
  e.longGaps = shareOf(facts.longGaps, facts.traced);
  if (t.stacks.inLongGaps >= kMinGapSamples) {
    double working = 0;
    for (const FunctionSamples& f : t.stacks.functions) working += f.whileIdle;
    e.hostGaps = e.longGaps * std::min(1.0, working / t.stacks.inLongGaps);
    // What waits have (settleGaps) is not counted again.
    if (!facts.devices.empty() && facts.devices[0].traced > Nanos{})
      e.hostGaps =
          std::min(e.hostGaps, shareOf(facts.devices[0].idle.host, facts.devices[0].traced));
  }
  e.syncsPerStep = syncsPerStep(t);
  e.slowdown = tracingSlowdown(t);
  e.hostWork = hostWork(facts);
  return e;
}

}  // namespace stallprof
