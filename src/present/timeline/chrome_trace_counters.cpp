// SPDX-License-Identifier: MIT
#include <algorithm>

#include "present/timeline/chrome_trace_lanes.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxPoints = 1000;  // a series; a viewer has no more pixels across

struct CounterSeries {
  const TraceLane& lane;
  TraceSink& sink;
  std::uint64_t& written;
  void point(std::string_view name, std::string_view unit, Nanos at, double value) const {
    ++written;
    sink.counter(lane, name, unit, at, value);
  }
};

std::size_t strideOf(std::size_t rows, bool full) {
  return full ? 1 : std::max<std::size_t>(1, (rows + kMaxPoints - 1) / kMaxPoints);
}

// What grows, as a rate between samples: from one to the next it is taken as even.
template <class P>
void rates(const Table<P>& table, Nanos P::*counter, std::string_view name, std::size_t stride,
           const CounterSeries& out) {
  const Timed<P>* last = nullptr;
  for (std::size_t i = 0; i < table.size(); i += stride) {
    const Timed<P>& row = table[i];
    if ((row.data.*counter).count() < 0) continue;
    if (last != nullptr && row.at > last->at)
      out.point(name, "cores", last->at,
                std::max(0.0, seconds(row.data.*counter - last->data.*counter) /
                                  seconds(row.at - last->at)));
    last = &row;
  }
  if (last != nullptr) out.point(name, "cores", last->at, 0);
}

void processSeries(const ProcessLife& process, bool full, const CounterSeries& out) {
  const std::size_t stride = strideOf(process.usage.size(), full);
  rates(process.usage, &ProcessUsage::cpu, "CPU", stride, out);
  for (std::size_t i = 0; i < process.usage.size(); i += stride)
    if (const auto& row = process.usage[i]; row.data.residentBytes >= 0)
      out.point("RSS", "MB", row.at, static_cast<double>(row.data.residentBytes) * 1e-6);
  if (!process.usage.empty() && process.gone < Nanos::max())
    out.point("RSS", "MB", std::max(process.gone, process.usage.back().at), 0);
}

void deviceSeries(const Trace& trace, StringId device, bool full, const CounterSeries& out) {
  std::vector<const Timed<DeviceUsage>*> rows;
  for (const auto& row : trace.deviceUsages)
    if (row.data.device == device) rows.push_back(&row);
  const std::size_t stride = strideOf(rows.size(), full);
  for (std::size_t i = 0; i < rows.size(); i += stride) {
    const DeviceUsage& u = rows[i]->data;
    if (u.busyMilli >= 0) out.point("device busy", "%", rows[i]->at, u.busyMilli * 0.1);
    if (u.memoryUsed >= 0)
      out.point("device memory", "MB", rows[i]->at, static_cast<double>(u.memoryUsed) * 1e-6);
    if (u.powerMilliwatts >= 0)
      out.point("device power", "W", rows[i]->at, static_cast<double>(u.powerMilliwatts) * 1e-3);
  }
}

}  // namespace

std::uint64_t drawCounters(const Trace& trace, const TimelineLanes& lanes, bool full,
                           TraceSink& sink) {
  std::uint64_t written = 0;
  for (std::size_t i = 0; i < lanes.counted.size(); ++i)
    processSeries(trace.process(lanes.counted[i]), full, {lanes.processes[i], sink, written});
  for (std::size_t i = 0; i < lanes.devices.size(); ++i)
    deviceSeries(trace, lanes.devices[i], full, {lanes.deviceProcesses[i], sink, written});
  const CounterSeries host{lanes.host, sink, written};
  const std::size_t stride = strideOf(trace.host.size(), full);
  rates(trace.host, &HostUsage::busy, "CPU of the host", stride, host);
  rates(trace.host, &HostUsage::jobCpu, "CPU of the job", stride, host);
  return written;
}

}  // namespace stallprof
