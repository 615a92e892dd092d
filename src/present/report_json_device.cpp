// SPDX-License-Identifier: MIT
#include "present/json_values.h"

namespace stallprof::json_values {
namespace {

Json deviceTime(const DeviceInfo::Device& d) {
  if (!d.time) return {};
  return summing({{"kernels", number(d.time->kernels)},
                  {"copies", number(d.time->copies)},
                  {"collectives", number(d.time->collectives)},
                  {"idle", number(d.time->idle)}});
}

Json deviceIdle(const DeviceInfo::Device& d) {
  if (!d.idle) return {};
  const DeviceInfo::IdleRatio& i = *d.idle;
  return summing({{"extract", number(i.extract)},
                  {"transform", number(i.transform)},
                  {"load", number(i.load)},
                  {"unknown", number(i.unknown)},
                  {"copy", number(i.copy)},
                  {"sync", number(i.sync)},
                  {"launch", number(i.launch)},
                  {"host", number(i.host)},
                  {"comm", number(i.comm)},
                  {"checkpoint", number(i.checkpoint)},
                  {"evaluation", number(i.evaluation)},
                  {"other", number(i.other)}});
}

Json oneDevice(const DeviceInfo::Device& d) {
  return {{"id", text(d.id)},
          {"name", textOrNull(d.name)},
          {"multiprocessors", orNull(d.multiprocessors)},
          {"busy_ratio", number(d.busy)},
          {"time_ratio", deviceTime(d)},
          {"idle_ratio", deviceIdle(d)},
          {"utilization_ratio", number(d.utilization)},
          {"sm_active_ratio", number(d.smActive)},
          {"sm_occupancy_ratio", number(d.occupancy)},
          {"tensor_active_ratio", number(d.tensorActive)},
          {"dram_active_ratio", number(d.dramActive)},
          {"power_watts", number(d.powerWatts)},
          {"clock_mhz", number(d.clockMhz)},
          {"max_clock_mhz", number(d.maxClockMhz)},
          {"throttled_ratio", number(d.throttled)},
          {"memory_total_bytes", orNull(d.memoryTotal)},
          {"memory_first_bytes", orNull(d.memoryFirst)},
          {"memory_last_bytes", orNull(d.memoryLast)},
          {"memory_peak_bytes", orNull(d.memoryPeak)},
          {"memory_headroom_bytes", orNull(d.memoryHeadroom)}};
}

}  // namespace

Json device(const DeviceInfo& d) {
  const auto kernel = [](const DeviceInfo::Kernel& k) -> Json {
    return {{"name", text(k.name.raw())},
            {"category", text(k.category)},
            {"count", k.count},
            {"time_ns", k.time.count()},
            {"time_ratio", number(k.ratio)},
            {"filled_ratio", number(k.filled)}};
  };
  const auto category = [](const DeviceInfo::Category& c) -> Json {
    return {{"name", text(c.name)},
            {"count", c.count},
            {"time_ns", c.time.count()},
            {"time_ratio", number(c.ratio)}};
  };
  const auto copy = [](const DeviceInfo::Copy& c) -> Json {
    return {{"kind", text(c.kind)},     {"memory", text(c.memory)},
            {"count", c.count},         {"time_ns", c.time.count()},
            {"bytes", orNull(c.bytes)}, {"bytes_per_s", number(c.bytesPerSecond)}};
  };
  const auto call = [](const DeviceInfo::Call& c) -> Json {
    return {{"name", text(c.name.raw())},
            {"kind", text(c.kind)},
            {"count", c.count},
            {"time_ns", c.time.count()}};
  };
  return {{"basis", text(d.basis)},
          {"traced_ratio", number(d.tracedRatio)},
          {"estimated", d.estimated},
          {"devices", list(d.devices, oneDevice)},
          {"kernel_categories", list(d.categories, category)},
          {"kernels", list(d.kernels, kernel)},
          {"copies", list(d.copies, copy)},
          {"calls", list(d.calls, call)}};
}

}  // namespace stallprof::json_values
