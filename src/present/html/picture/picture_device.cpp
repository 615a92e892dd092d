// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <set>

#include "analysis/device/device_time.h"
#include "base/units.h"
#include "present/html/picture/buckets.h"
#include "present/html/picture/picture.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxDeviceBlocks = 240, kMaxDeviceLanes = 8;  // as in the other lanes
constexpr std::string_view kMixed = "kernels and copies";

using Usages = std::map<StringId, Table<DeviceUsage>>;

// The level's mean over all devices at each sample (or their sum).
template <class Field>
void addLevel(Panel& panel, const char* name, Hue hue, const Usages& usages, Field field,
              const TimeAxis& axis, double unit, bool sum) {
  Buckets buckets(axis), held(axis);  // the first and the last row lie within a bucket
  double devices = 0;
  for (const auto& [id, rows] : usages)
    devices += std::any_of(rows.begin(), rows.end(), [&](auto& r) { return r.data.*field >= 0; });
  if (devices == 0) return;
  for (const auto& [id, rows] : usages)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto value = static_cast<double>(rows[i].data.*field);
      const Nanos end = i + 1 < rows.size() ? rows[i + 1].at : axis.end;
      if (value < 0) continue;
      buckets.level(rows[i].at, end, value * unit / (sum ? 1 : devices));
      held.level(rows[i].at, end, 1 / devices);
    }
  if (buckets.any()) panel.series.push_back({name, hue, buckets.over(held)});
}

template <class Field>
double maximum(const Usages& usages, Field field, bool sum) {
  double all = 0;
  for (const auto& [id, rows] : usages) {
    double top = 0;
    for (const auto& row : rows) top = std::max(top, static_cast<double>(row.data.*field));
    all = sum ? all + top : std::max(all, top);
  }
  return all;
}

// By device the time in which a process that works on it is traced piece by piece; where none
// works on any, by no device: all that is idle.
std::map<StringId, Intervals> tracedTime(const Trace& trace, const TrainerFacts& trainer) {
  std::map<ProcessId, std::set<StringId>> devices;
  for (const auto& row : trace.deviceSpans) devices[row.data.process].insert(row.data.device);
  std::map<StringId, Intervals> traced;
  const auto add = [&](const Interval& time, ProcessId process) {
    if (time.empty()) return;
    const auto found = devices.find(process);
    if (devices.empty()) traced[StringId{}].push_back(time);
    if (found == devices.end()) return;
    for (const StringId device : found->second) traced[device].push_back(time);
  };
  for (const auto& row : trace.deviceTraces) {
    if (!row.data.kernels) continue;
    const Interval time = intervalOf(row);
    if (trainer.joined.detailed.empty()) add(time, row.data.process);
    for (const Interval& held : trainer.joined.detailed)
      add(intersect(time, held), row.data.process);
  }
  for (auto& [device, times] : traced) times = joined(std::move(times));
  return traced;
}

// The traced share of each bucket that its devices worked in, their mean; what was not traced is
// not drawn.
void addTraced(Panel& panel, const Trace& trace, const TrainerFacts& trainer,
               const TimeAxis& axis) {
  const std::map<StringId, Intervals> traced = tracedTime(trace, trainer);
  std::map<StringId, Intervals> busy;
  for (const auto& row : trace.deviceSpans) busy[row.data.device].push_back(intervalOf(row));
  for (auto& [device, spans] : busy) spans = joined(std::move(spans));
  Series series{"busy, traced", Hue::kFirst, {}};
  const Nanos each =
      (axis.end - axis.begin) / static_cast<Nanos::rep>(std::max<std::size_t>(1, axis.buckets));
  for (std::size_t i = 0; i < axis.buckets; ++i) {
    const Nanos from = axis.begin + each * static_cast<Nanos::rep>(i);
    Nanos known{}, worked{};
    for (const auto& [device, times] : traced) {
      const Intervals& spans = busy[device];
      divide(times, {from, from + each}, [&](const Interval& piece, bool inside) {
        if (!inside) return;
        known += piece.length();
        worked += lengthIn(spans, piece);
      });
    }
    series.values.push_back(known > Nanos{} ? 100 * seconds(worked) / seconds(known)
                                            : std::numeric_limits<double>::quiet_NaN());
  }
  if (!traced.empty()) panel.series.push_back(std::move(series));
}

// Those that a process of the job worked on or has memory on; empty: nothing says which.
std::set<StringId> devicesOfJob(const Trace& trace) {
  std::set<StringId> devices;
  for (const auto& row : trace.deviceSpans) devices.insert(row.data.device);
  if (!devices.empty()) return devices;
  for (const auto& row : trace.deviceProcesses)
    if (!row.data.process.none()) devices.insert(row.data.device);
  return devices;
}

Panel usePanel(const Trace& trace, const TrainerFacts& trainer, const Usages& usages,
               const TimeAxis& axis) {
  Panel panel{
      .title = "GPU",
      .note = "For several devices, the mean. NVML counts any kernel of any process as busy.",
      .unit = Panel::Unit::kPercent};
  addTraced(panel, trace, trainer, axis);
  addLevel(panel, "busy, NVML", Hue::kSecond, usages, &DeviceUsage::busyMilli, axis, 0.1, false);
  addLevel(panel, "SMs active", Hue::kThird, usages, &DeviceUsage::smActiveMilli, axis, 0.1, false);
  return panel;
}

Panel deviceMemoryPanel(const Usages& usages, const TimeAxis& axis) {
  Panel panel{
      .title = "GPU memory", .note = "Of all processes that use it.", .unit = Panel::Unit::kBytes};
  addLevel(panel, "used", Hue::kFirst, usages, &DeviceUsage::memoryUsed, axis, 1, true);
  if (const double total = maximum(usages, &DeviceUsage::memoryTotal, true); total > 0) {
    panel.limit = total;
    panel.limitName = bytesText(total);
  }
  return panel;
}

Panel powerPanel(const Usages& usages, const TimeAxis& axis) {
  Panel panel{.title = "GPU power", .unit = Panel::Unit::kWatts};
  addLevel(panel, "drawn", Hue::kFirst, usages, &DeviceUsage::powerMilliwatts, axis, 1e-3, true);
  return panel;
}

Panel clockPanel(const Usages& usages, const TimeAxis& axis) {
  Panel panel{.title = "GPU clock", .unit = Panel::Unit::kMegahertz};
  addLevel(panel, "of its SMs", Hue::kFirst, usages, &DeviceUsage::clockMhz, axis, 1, false);
  if (const double top = maximum(usages, &DeviceUsage::maxClockMhz, false); top > 0) {
    panel.limit = top;
    panel.limitName = numberText(top) + " MHz";
  }
  return panel;
}

Block blockOf(const DeviceSpan& span, Nanos from, Nanos to) {
  if (span.copyOnly >= span.busy) return {from, to, Hue::kLoad, "copies", false};
  const bool collectives = span.copyOnly + span.collectiveOnly >= span.busy;
  return {from, to, collectives ? Hue::kComm : Hue::kCompute,
          collectives ? "collectives"
                      : "kernels, busy " + percentText(seconds(span.busy) / seconds(span.duration)),
          false};
}

Lane laneOf(const DeviceTimeline::Device& device, Nanos from, Nanos to, const std::string& name) {
  Lane lane{name, "", {}};
  auto span = std::partition_point(device.spans.begin(), device.spans.end(),
                                   [&](const Timed<DeviceSpan>* s) { return s->end() <= from; });
  const Nanos narrow = (to - from) / static_cast<Nanos::rep>(kMaxDeviceBlocks);
  for (; span != device.spans.end() && (*span)->at < to; ++span) {
    Block block = blockOf((*span)->data, std::max(from, (*span)->at), std::min(to, (*span)->end()));
    Block* last = lane.blocks.empty() ? nullptr : &lane.blocks.back();
    // What is small and close together is one block: a page has no room for thousands. One too
    // short to be drawn takes in what follows it, whichever that is, with the longer one's colour.
    const bool alike = last && last->hue == block.hue;
    if (last && block.begin - last->end < narrow && (alike || last->end - last->begin < narrow)) {
      if (!alike && block.end - block.begin > last->end - last->begin) last->hue = block.hue;
      last->end = block.end;
      last->name = alike && last->name != kMixed ? "kernels and gaps between them" : kMixed;
    } else {
      lane.blocks.push_back(std::move(block));
    }
  }
  return lane;
}

}  // namespace

std::vector<Panel> drawDevicePanels(const Trace& trace, const TrainerFacts& trainer,
                                    const TimeAxis& axis) {
  const std::set<StringId> ours = devicesOfJob(trace);
  Usages usages;
  for (const auto& row : trace.deviceUsages)
    if (ours.empty() || ours.contains(row.data.device)) usages[row.data.device].push_back(row);
  if (usages.empty() && trace.deviceTraces.empty()) return {};
  return {usePanel(trace, trainer, usages, axis), deviceMemoryPanel(usages, axis),
          powerPanel(usages, axis), clockPanel(usages, axis)};
}

std::vector<Lane> deviceLanes(const Trace& trace, const TrainerFacts& trainer, Nanos from,
                              Nanos to) {
  std::vector<Lane> lanes;
  if (!trainer.device.seen) return lanes;
  const DeviceTimeline devices = readDevices(trace, {trainer.process, trainer.thread});
  const bool traced = lengthIn(devices.traced, {from, to}) > Nanos{};
  for (const DeviceTimeline::Device& device : devices.devices) {
    if (lanes.size() == kMaxDeviceLanes || !traced) break;
    lanes.push_back(
        laneOf(device, from, to,
               devices.devices.size() < 2 ? "GPU" : "GPU " + std::to_string(lanes.size())));
  }
  if (!traced) lanes.push_back({"GPU", "not traced here", {}});
  return lanes;
}

}  // namespace stallprof
