// SPDX-License-Identifier: MIT
#include "analysis/device/device_use.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/facts/stack_samples.h"
#include "analysis/facts/usage.h"

namespace stallprof {
namespace {

// A total of a second belongs to the interval that most of it lies in.
template <class Row>
bool belongsTo(const Interval& within, const Row& row) {
  const Nanos middle = row.at + row.data.duration / 2;
  return within.contains(middle);
}

// A damaged recording may claim any time or size: sums stop at the largest number there is.
void addUp(std::int64_t& sum, std::int64_t more) {
  if (more > 0 && __builtin_add_overflow(sum, more, &sum)) sum = INT64_MAX;
}
void addUp(Nanos& sum, Nanos more) {
  Nanos::rep ticks = sum.count();
  addUp(ticks, more.count());
  sum = Nanos(ticks);
}

// Each name is read once: a run has a few hundred, in as many rows a second.
class Names {
 public:
  explicit Names(const Trace& trace) : trace_(trace) {}
  const KernelName& of(const DeviceUse& use) {
    const auto [at, isNew] = names_.try_emplace(use.name);
    if (isNew) {
      const std::string_view raw = trace_.text(use.name);
      at->second = kernelName(raw);
      if (raw == "(other)") at->second.shortName = raw;
    }
    return at->second;
  }

 private:
  const Trace& trace_;
  std::unordered_map<StringId, KernelName> names_;
};

void addKernel(const DeviceUse& use, Names& names, std::map<std::string, KernelUse>& kernels) {
  const KernelName& name = names.of(use);
  const bool graph = use.kind == DeviceWorkKind::kGraph && name.shortName.empty();
  KernelUse& sum = kernels[graph ? "CUDA graph" : name.shortName];
  sum.name = graph ? "CUDA graph" : name.shortName;
  sum.category =
      use.kind == DeviceWorkKind::kCollective ? KernelCategory::kCollective : name.category;
  sum.count += use.count;
  addUp(sum.time, use.time);
  if (use.filled < Nanos{}) return;
  addUp(sum.filled, use.filled);
  addUp(sum.filledOf, use.time);
}

template <class Map>
auto valuesOf(Map& map) {
  std::vector<typename Map::mapped_type> all;
  for (auto& [key, value] : map) all.push_back(std::move(value));
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return all;
}

// The mean of a level over an interval; -1 is not known.
template <class Field>
std::optional<double> meanOf(const Table<DeviceUsage>& rows, Field field, const Interval& within,
                             double unit) {
  double sum = 0, count = 0;
  for (const auto& row : rows) {
    const auto value = static_cast<double>(row.data.*field);
    if (row.at < within.begin || row.at > within.end || value < 0) continue;
    sum += value;
    count += 1;
  }
  if (count == 0) return std::nullopt;
  return sum / count * unit;
}

// NVML's reasons that hold clocks down against the program's will: hardware slowdown, software and
// hardware thermal, power brake. Idle clocks and set clocks are no throttling, nor is the power cap
// alone: a card under full load runs there, unless somebody set the limit below its own.
constexpr std::int64_t kPowerCap = 0x4, kPowerBrake = 0x80, kHeat = 0x20 | 0x40,
                       kThrottles = 0x8 | kHeat | kPowerBrake;

void gaugeThrottling(const Table<DeviceUsage>& rows, const Interval& within, DeviceGauge& gauge) {
  double samples = 0, held = 0, notByHeat = 0, capAlone = 0, clock = 0, clocks = 0;
  for (const auto& row : rows) {
    if (row.at < within.begin || row.at > within.end || row.data.throttleReasons < 0) continue;
    samples += 1;
    const std::int64_t reasons = row.data.throttleReasons;
    capAlone += (reasons & (kPowerCap | kPowerBrake)) == kPowerCap;
    if ((reasons & kThrottles) == 0) continue;
    held += 1;
    notByHeat += (reasons & kThrottles & ~kHeat) != 0;
    gauge.throttleReasons |= row.data.throttleReasons & (kThrottles | kPowerCap);
    if (row.data.clockMhz > 0) {
      clock += row.data.clockMhz;
      clocks += 1;
    }
  }
  if (clocks > 0) gauge.throttledClockMhz = clock / clocks;
  // The driver's own clocks of it, where it reports them, are exact; reasons are sampled. That of
  // power counts the cap, too: where the cap was met alone, nothing says how much of it is the
  // brake.
  const bool brake = (gauge.throttleReasons & kPowerBrake) != 0 && capAlone == 0;
  const auto power = brake ? growth(rows, &DeviceUsage::powerThrottled, within) : std::nullopt;
  const auto heat = growth(rows, &DeviceUsage::thermalThrottled, within);
  const double whole = seconds(within.length()) * 1e9;
  const double sampled = samples > 0 ? (heat ? notByHeat : held) / samples : 0;
  if ((power || heat) && whole > 0)
    gauge.throttledRatio =
        std::clamp(std::max(power.value_or(0), heat.value_or(0)) / whole, power ? 0 : sampled, 1.0);
  else if (samples > 0)
    gauge.throttledRatio = sampled;
}

std::string nameOf(const DeviceProcess& p) {
  if (p.pid == 0) return {};
  std::string name = "process " + std::to_string(p.pid);
  if (!p.process.none()) name += " of this job";
  return name;
}

// What others than the trainer had of the device: its busy share, by the shares of processes, which
// the library gives seldom. Lists without the trainer say nothing: its own may be under a number
// that is not known here.
void gaugeOthers(const Trace& trace, ProcessId trainer, const Interval& within,
                 DeviceGauge& gauge) {
  struct List {
    double own = -1, others = 0, largest = 0;
    std::string name;
  };
  std::map<Nanos, List> lists;
  for (const auto& row : trace.deviceProcesses) {
    const DeviceProcess& p = row.data;
    if (p.device != gauge.device || row.at < within.begin || row.at > within.end || p.busyMilli < 0)
      continue;
    List& list = lists[row.at];
    const double busy = p.busyMilli * 1e-3;
    if (p.process == trainer) {
      list.own = std::max(list.own, 0.0) + busy;
      continue;
    }
    list.others += busy;
    if (busy > list.largest) list.name = nameOf(p);
    list.largest = std::max(list.largest, busy);
  }
  double own = 0, others = 0, largest = 0;
  for (const auto& [at, list] : lists) {
    if (list.own < 0) continue;
    own += list.own;
    others += list.others;
    if (list.largest > largest) gauge.othersNamed = list.name;
    largest = std::max(largest, list.largest);
  }
  if (own + others > 0 && gauge.busyRatio)
    gauge.othersRatio = *gauge.busyRatio * others / (own + others);
}

DeviceGauge gaugeOf(StringId device, const Table<DeviceUsage>& rows, const Interval& within) {
  DeviceGauge gauge;
  gauge.device = device;
  const auto level = [&](auto field, double unit) { return meanOf(rows, field, within, unit); };
  gauge.busyRatio = level(&DeviceUsage::busyMilli, 1e-3);
  gauge.smActiveRatio = level(&DeviceUsage::smActiveMilli, 1e-3);
  gauge.occupancyRatio = level(&DeviceUsage::occupancyMilli, 1e-3);
  gauge.tensorRatio = level(&DeviceUsage::tensorMilli, 1e-3);
  gauge.dramRatio = level(&DeviceUsage::dramMilli, 1e-3);
  gauge.powerWatts = level(&DeviceUsage::powerMilliwatts, 1e-3);
  gauge.clockMhz = level(&DeviceUsage::clockMhz, 1);
  gauge.maxClockMhz = level(&DeviceUsage::maxClockMhz, 1);
  gaugeThrottling(rows, within, gauge);
  for (const auto& row : rows) {
    if (row.data.memoryUsed < 0) continue;
    gauge.memoryTotal = std::max(gauge.memoryTotal, row.data.memoryTotal);
    if (row.at < within.begin || row.at > within.end) continue;
    if (gauge.memoryFirst < 0) gauge.memoryFirst = row.data.memoryUsed;
    gauge.memoryLast = row.data.memoryUsed;
    gauge.memoryPeak = std::max(gauge.memoryPeak, row.data.memoryUsed);
  }
  return gauge;
}

}  // namespace

void sumDeviceUse(const Trace& trace, ProcessId process, const Interval& within,
                  DeviceFacts& facts) {
  Names names(trace);
  std::map<std::string, KernelUse> kernels;
  std::map<std::pair<DeviceWorkKind, HostMemory>, CopyUse> copies;
  for (const auto& row : trace.deviceUses) {
    const DeviceUse& use = row.data;
    if (use.process != process || !belongsTo(within, row)) continue;
    if (isKernel(use.kind)) {
      addKernel(use, names, kernels);
      addUp(facts.kernelTime, use.time);
      continue;
    }
    CopyUse& sum = copies[{use.kind, use.memory}];
    sum.kind = use.kind;
    sum.memory = use.memory;
    sum.count += use.count;
    addUp(sum.time, use.time);
    if (use.bytes < 0) continue;
    sum.bytes = std::max<std::int64_t>(0, sum.bytes);
    addUp(sum.bytes, use.bytes);
  }
  std::map<std::pair<StringId, DeviceCallKind>, CallUse> calls;  // "(other)" is of any kind
  for (const auto& row : trace.deviceCallUses) {
    const ProcessId of =  // old recordings have the thread alone, totals of several the process
        row.data.process.none() ? trace.thread(row.data.thread).process : row.data.process;
    if (of != process || !belongsTo(within, row)) continue;
    CallUse& sum = calls[{row.data.name, row.data.kind}];
    sum.name = trace.text(row.data.name);
    sum.kind = row.data.kind;
    sum.count += row.data.count;
    addUp(sum.time, row.data.time);
  }
  facts.kernels = valuesOf(kernels);
  facts.copies = valuesOf(copies);
  facts.calls = valuesOf(calls);
}

std::vector<DeviceGauge> readGauges(const Trace& trace, ProcessId trainer, const Interval& within) {
  std::map<StringId, Table<DeviceUsage>> rows;
  for (const auto& row : trace.deviceUsages) rows[row.data.device].push_back(row);
  std::vector<DeviceGauge> all;
  for (const auto& [device, table] : rows) {
    all.push_back(gaugeOf(device, table, within));
    gaugeOthers(trace, trainer, within, all.back());
  }
  return all;
}

double syncsPerStep(const TrainerFacts& trainer) {
  const double steps = trainer.device.tracedSteps;
  return steps > 0 ? static_cast<double>(trainer.device.syncs) / steps : 0;
}

double tracingSlowdown(const TrainerFacts& trainer) {
  constexpr double kEnough = 10;  // steps
  const StepSum &all = trainer.device.plain, &traced = trainer.device.tracedPlain;
  const double rest = all.steps - traced.steps;
  if (traced.steps < kEnough || rest < kEnough) return 1;
  const double beside = seconds(all.time - traced.time) / rest;
  return beside > 0 ? seconds(traced.time) / traced.steps / beside : 1;
}

double hostWork(const DeviceFacts& facts) {
  const double traced = seconds(facts.traced);
  return traced > 0 ? std::max(0.0, 1 - seconds(facts.syncTime) / traced) : 1;
}

std::vector<StringId> devicesUsed(const Trace& trace, const TrainerFacts& trainer) {
  std::vector<StringId> ids;
  const auto add = [&](StringId id) {
    if (!id.none() && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  for (const DeviceBusy& busy : trainer.device.devices) add(busy.device);
  if (!ids.empty()) return ids;
  for (const auto& row : trace.deviceSpans)
    if (row.data.process == trainer.process) add(row.data.device);
  for (const auto& row : trace.deviceProcesses)
    if (row.data.process == trainer.process) add(row.data.device);
  return ids;
}

void settleGaps(TrainerFacts& trainer) {
  DeviceFacts& facts = trainer.device;
  if (facts.devices.empty() || syncsPerStep(trainer) < kWaitsEachStep) return;
  const DeviceBusy& busiest = facts.devices[0];
  if (hostWork(facts) * seconds(busiest.traced) >= seconds(busiest.busy())) return;
  for (DeviceBusy& device : facts.devices) {
    DeviceIdle& idle = device.idle;
    const Nanos bridged = std::exchange(idle.hostBridged, Nanos{});
    idle.host -= bridged;
    idle.sync += bridged + std::exchange(idle.launch, Nanos{});
  }
}

void removeTracing(TrainerFacts& trainer) {
  // Of its launching thread, of reports/gpu_cost.md; more is not of the recording.
  constexpr Nanos kMaxForOne{15'000};
  const double slowdown = tracingSlowdown(trainer);
  if (slowdown <= 1) return;
  for (DeviceBusy& device : trainer.device.devices) {
    Nanos excess = std::min(scaled(device.traced, 1 - 1 / slowdown),
                            kMaxForOne * static_cast<std::int64_t>(device.works));
    const auto take = [&](Nanos& from) {
      const Nanos part = std::min(from, excess);
      from -= part;
      excess -= part;
      device.traced -= part;
    };
    take(device.idle.launch);
    take(device.idle.host);
    device.idle.hostBridged = std::min(device.idle.hostBridged, device.idle.host);
    take(device.idle.sync);
  }
}

CallSite findSite(const Trace& trace, const StackLabels& labels, const DeviceTimeline& devices,
                  ThreadId trainer, const Interval& within, bool copies) {
  std::map<std::pair<StackId, StackId>, double> samples;
  CallSite site;
  if (devices.calls.empty()) return site;
  eachSample(trace, trace.thread(trainer), within.begin, within.end, [&](const Sample& sample) {
    const auto call =
        std::partition_point(devices.calls.begin(), devices.calls.end(),
                             [&](const BlockingCall& c) { return c.end <= sample.at; });
    if (call == devices.calls.end() || call->begin > sample.at || call->copy != copies) return;
    if (!sample.stack || sample.stack->stack.none()) return;
    const StackLabel& label = labels.of(sample.stack->stack, Side::kTrainer);
    site.all += 1;
    samples[{label.hot, label.user}] += 1;
  });
  for (const auto& [frames, count] : samples)
    if (count > site.samples) {
      site.hot = frames.first;
      site.user = frames.second;
      site.samples = count;
    }
  return site;
}

}  // namespace stallprof
