// SPDX-License-Identifier: MIT
#include "analysis/describe/device_describe.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analysis/device/device_time.h"
#include "analysis/device/device_use.h"
#include "base/time.h"
#include "trace/range_map.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxKernels = 20, kMaxCalls = 20;  // more would be read by nobody

// Of one multiprocessor's tensor cores, FP16 or BF16 with FP32 sums, without sparsity: the peak of
// each architecture's white paper / (multiprocessors x boost clock). 0: not known.
int denseFlopsPerCycle(int major, int minor) {
  if (major == 7) return 1024;                      // V100, T4
  if (major == 8) return minor == 0 ? 2048 : 1024;  // A100; A10, L4, L40
  if (major == 9) return 4096;                      // H100, H200
  return major == 10 ? 8192 : 0;                    // B200
}

// Each device once, by what says most of it.
std::map<StringId, DeviceSeen> devicesSeen(const Trace& trace) {
  std::map<StringId, DeviceSeen> seen;
  for (const auto& row : trace.devices) {
    const auto [at, isNew] = seen.try_emplace(row.data.device, row.data);
    if (isNew) continue;
    DeviceSeen& known = at->second;
    if (known.name.none()) known.name = row.data.name;
    known.multiprocessors = std::max(known.multiprocessors, row.data.multiprocessors);
    known.memoryBytes = std::max(known.memoryBytes, row.data.memoryBytes);
  }
  return seen;
}

void addOnce(std::vector<StringId>& ids, StringId id) {
  if (!id.none() && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

// The devices of the trainer: those it used, else those it opened: a process opens every one.
std::vector<StringId> devicesOf(const Trace& trace, const TrainerFacts& trainer) {
  std::vector<StringId> ids = devicesUsed(trace, trainer);
  if (!ids.empty()) return ids;
  for (const DeviceGauge& gauge : trainer.device.gauges) addOnce(ids, gauge.device);
  for (const auto& row : trace.devices) addOnce(ids, row.data.device);
  return ids;
}

const DeviceGauge* gaugeOf(const TrainerFacts& trainer, StringId device) {
  for (const DeviceGauge& gauge : trainer.device.gauges)
    if (gauge.device == device) return &gauge;
  return nullptr;
}

void addTime(const DeviceBusy& busy, DeviceInfo::Device& out) {
  if (busy.traced <= Nanos{}) return;
  const auto share = [&](Nanos part) { return fractionOf(part, busy.traced); };
  const DeviceIdle& i = busy.idle;
  out.busy = share(busy.busy());
  out.time = DeviceInfo::TimeRatio{share(busy.kernels), share(busy.copies), share(busy.collectives),
                                   share(i.total())};
  out.idle = DeviceInfo::IdleRatio{share(i.extract),    share(i.transform),  share(i.load),
                                   share(i.unknown),    share(i.copy),       share(i.sync),
                                   share(i.launch),     share(i.host),       share(i.comm),
                                   share(i.checkpoint), share(i.evaluation), share(i.other)};
}

void addGauge(const DeviceGauge& gauge, DeviceInfo::Device& out) {
  out.utilization = gauge.busyRatio;
  out.smActive = gauge.smActiveRatio;
  out.occupancy = gauge.occupancyRatio;
  out.tensorActive = gauge.tensorRatio;
  out.dramActive = gauge.dramRatio;
  out.powerWatts = gauge.powerWatts;
  out.clockMhz = gauge.clockMhz;
  out.maxClockMhz = gauge.maxClockMhz;
  out.throttled = gauge.throttledRatio;
  if (gauge.memoryPeak >= 0) {
    out.memoryFirst = gauge.memoryFirst;
    out.memoryLast = gauge.memoryLast;
    out.memoryPeak = gauge.memoryPeak;
  }
  if (gauge.memoryTotal > 0) {
    out.memoryTotal = gauge.memoryTotal;
    if (gauge.memoryPeak >= 0)
      out.memoryHeadroom = std::max<std::int64_t>(0, gauge.memoryTotal - gauge.memoryPeak);
  }
}

void addKernels(const DeviceFacts& facts, DeviceInfo& out) {
  std::array<DeviceInfo::Category, kKernelCategories> categories{};
  for (const KernelUse& k : facts.kernels) {
    DeviceInfo::Category& sum = categories[static_cast<std::size_t>(k.category)];
    sum.name = nameOf(k.category);
    sum.count += k.count;
    sum.time += std::min(k.time, Nanos::max() - sum.time);
    sum.ratio += fractionOf(k.time, facts.kernelTime);
    if (out.kernels.size() == kMaxKernels) continue;
    DeviceInfo::Kernel kernel;
    kernel.name = Untrusted(k.name);
    kernel.category = nameOf(k.category);
    kernel.count = k.count;
    kernel.time = k.time;
    kernel.ratio = fractionOf(k.time, facts.kernelTime);
    if (k.filledOf > Nanos{}) kernel.filled = fractionOf(k.filled, k.filledOf);
    out.kernels.push_back(std::move(kernel));
  }
  for (DeviceInfo::Category& c : categories)
    if (c.count > 0) out.categories.push_back(std::move(c));
  std::stable_sort(out.categories.begin(), out.categories.end(),
                   [](auto& a, auto& b) { return a.time > b.time; });
}

void addCopies(const DeviceFacts& facts, DeviceInfo& out) {
  for (const CopyUse& c : facts.copies) {
    DeviceInfo::Copy copy;
    copy.kind = nameOf(c.kind);
    copy.memory = nameOf(c.memory);
    copy.count = c.count;
    copy.time = c.time;
    if (c.bytes >= 0) copy.bytes = c.bytes;
    if (c.bytes >= 0 && c.time > Nanos{})
      copy.bytesPerSecond = static_cast<double>(c.bytes) / seconds(c.time);
    out.copies.push_back(std::move(copy));
  }
}

}  // namespace

Maybe<DeviceInfo> describeDevice(const Trace& trace, const TrainerFacts& trainer) {
  const DeviceFacts& facts = trainer.device;
  if (!facts.seen && facts.gauges.empty() && trace.devices.empty()) return {};
  DeviceInfo out;
  out.basis = facts.timeline ? "trace" : facts.gauges.empty() ? "none" : "nvml";
  if (facts.seen) out.tracedRatio = fractionOf(facts.traced, trainer.window());
  out.estimated = facts.timeline && fractionOf(facts.traced, trainer.window()) < kWholeTrace;
  const auto known = devicesSeen(trace);
  for (const StringId id : devicesOf(trace, trainer)) {
    DeviceInfo::Device one;
    one.id = toUtf8(trace.text(id));
    if (const auto seen = known.find(id); seen != known.end()) {
      one.name = toUtf8(trace.text(seen->second.name));
      if (seen->second.memoryBytes > 0) one.memoryTotal = seen->second.memoryBytes;
      if (seen->second.multiprocessors > 0) one.multiprocessors = seen->second.multiprocessors;
    }
    for (const DeviceBusy& busy : facts.devices)
      if (busy.device == id) addTime(busy, one);
    if (const DeviceGauge* gauge = gaugeOf(trainer, id)) addGauge(*gauge, one);
    out.devices.push_back(std::move(one));
  }
  addKernels(facts, out);
  addCopies(facts, out);
  for (const CallUse& c : facts.calls)
    if (out.calls.size() < kMaxCalls)
      out.calls.push_back({Untrusted(c.name), std::string(nameOf(c.kind)), c.count, c.time});
  return out;
}

std::vector<std::string> deviceNames(const Trace& trace) {
  std::vector<std::string> names;
  std::set<StringId> known;
  for (const auto& row : trace.devices)
    if (known.insert(row.data.device).second)
      names.push_back(row.data.name.none() ? "GPU" : toUtf8(trace.text(row.data.name)));
  return names;
}

namespace {

// Where nobody steps: of the life of the process that uses devices most, since it was traced.
double tracedShare(const Trace& trace, const TrainerFacts& trainer) {
  // Without steps no device is divided among them.
  if (trainer.source != StepSource::kNone)
    return fractionOf(trainer.device.traced, trainer.window());
  const DeviceTimeline timeline = readDevices(trace, {});
  if (timeline.covered.empty()) return 0;
  const Nanos begin = timeline.covered.front().begin;
  const Nanos end = std::min(trace.process(timeline.process).gone, trace.end);
  return fractionOf(lengthIn(timeline.traced, {begin, end}), end - begin);
}

}  // namespace

std::string deviceTier(const Trace& trace, const TrainerFacts& trainer) {
  const double traced = tracedShare(trace, trainer);
  if (traced > 0) return traced >= kWholeTrace ? "full" : "windowed";
  const bool nvtx = std::any_of(trace.ranges.begin(), trace.ranges.end(), [&](const auto& row) {
    return trace.text(row.data.domain) != kMarksDomain;
  });
  if (nvtx && !trace.devices.empty()) return "nvtx";
  return trace.deviceUsages.empty() ? "none" : "nvml";
}

Maybe<FlopsEstimate> estimateFlops(const Trace& trace, const TrainerFacts& trainer) {
  const auto known = devicesSeen(trace);
  FlopsEstimate sum;
  for (const StringId id : devicesOf(trace, trainer)) {
    const DeviceGauge* gauge = gaugeOf(trainer, id);
    const auto seen = known.find(id);
    if (!gauge || !gauge->tensorRatio || !gauge->clockMhz || seen == known.end()) return {};
    const int perCycle =
        denseFlopsPerCycle(seen->second.majorCapability, seen->second.minorCapability);
    if (perCycle == 0 || seen->second.multiprocessors <= 0) return {};
    sum.perSecond +=
        *gauge->tensorRatio * seen->second.multiprocessors * perCycle * *gauge->clockMhz * 1e6;
    sum.basis =
        "upper bound: the time that tensor cores were active (GPM) at their dense 16-bit "
        "rate, " +
        std::to_string(perCycle) + " a cycle and multiprocessor";
  }
  if (sum.basis.empty()) return {};
  return sum;
}

Maybe<double> deviceBusyRatio(const Trace& trace, const TrainerFacts& trainer) {
  double sum = 0, count = 0;
  for (const DeviceBusy& busy : trainer.device.devices)
    if (busy.traced > Nanos{}) {
      sum += fractionOf(busy.busy(), busy.traced);
      count += 1;
    }
  if (count == 0)
    for (const StringId id : devicesOf(trace, trainer))
      if (const DeviceGauge* gauge = gaugeOf(trainer, id); gauge && gauge->busyRatio) {
        sum += *gauge->busyRatio;
        count += 1;
      }
  if (count == 0) return {};
  return sum / count;
}

}  // namespace stallprof
