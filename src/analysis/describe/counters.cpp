// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <string_view>

#include "analysis/describe/describe.h"

namespace stallprof {
namespace {

// Operations that one counted instruction stands for: elements of a register, a fused
// multiply-add counts twice already (Intel, "Events for Intel Microarchitecture Code Name
// Skylake").
struct Weight {
  std::string_view name;
  double operations;
};
constexpr Weight kOperations[] = {
    {"fp_operations", 1}, {"fp_scalar_single", 1}, {"fp_scalar_double", 1},
    {"fp_128_single", 4}, {"fp_128_double", 2},    {"fp_256_single", 8},
    {"fp_256_double", 4}, {"fp_512_single", 16},   {"fp_512_double", 8},
};

struct Reading {
  const Timed<CounterUsage>* first = nullptr;
  const Timed<CounterUsage>* last = nullptr;

  // What it would have counted had it never made room for others; nullopt: it never counted.
  [[nodiscard]] Maybe<double> count() const {
    const Nanos enabled = last->data.enabled - first->data.enabled,
                running = last->data.running - first->data.running;
    if (running <= Nanos{} || last->data.count < first->data.count) return std::nullopt;
    return static_cast<double>(last->data.count - first->data.count) * seconds(enabled) /
           seconds(running);
  }
  [[nodiscard]] double share() const {
    const Nanos enabled = last->data.enabled - first->data.enabled;
    if (enabled <= Nanos{}) return 1;
    return seconds(last->data.running - first->data.running) / seconds(enabled);
  }
};

Maybe<double> over(const Maybe<double>& part, const Maybe<double>& whole, double scale = 1) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return *part / *whole * scale;
}

}  // namespace

Maybe<CountersInfo> measureCounters(const Trace& trace, Nanos begin, Nanos end) {
  std::map<std::string_view, Reading> readings;
  for (const auto& row : trace.counters) {
    Reading& reading = readings[trace.text(row.data.name)];
    // The last before the window begins, else the first within.
    if (reading.first == nullptr || row.at <= begin) reading.first = &row;
    if (reading.last == nullptr || row.at <= end) reading.last = &row;
  }
  std::erase_if(readings, [](const auto& r) { return r.second.last->at <= r.second.first->at; });
  if (readings.empty()) return std::nullopt;
  const auto count = [&](std::string_view name) -> Maybe<double> {
    const auto found = readings.find(name);
    return found == readings.end() ? std::nullopt : found->second.count();
  };
  CountersInfo info;
  const Maybe<double> cycles = count("cycles"), instructions = count("instructions");
  info.instructionsPerCycle = over(instructions, cycles);
  info.missesPerKiloInstruction = over(count("llc_misses"), instructions, 1000);
  info.stalledRatio = over(count("stalled_cycles"), cycles);
  for (const Weight& weight : kOperations) {
    const Maybe<double> operations = count(weight.name);
    if (!operations) continue;
    const Reading& reading = readings.find(weight.name)->second;
    const double wall = seconds(reading.last->at - reading.first->at);
    info.flopsPerSecond = info.flopsPerSecond.value_or(0) + *operations * weight.operations / wall;
  }
  for (const auto& [name, reading] : readings)
    info.runningRatio = std::min(info.runningRatio, reading.share());
  return info;
}

}  // namespace stallprof
