// SPDX-License-Identifier: MIT
#include "sampler/nvml/nvml_device.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace stallprof {
namespace {

// The driver keeps some 120 samples of each kind; 20 ms apart that is 2.4 s.
constexpr unsigned kMaxSamples = 1024;
constexpr unsigned kMaxProcesses = 128;
// The driver's own sampling period is 1/6 to 1 s: without a new sample the last one holds.
constexpr Nanos kHolds = std::chrono::seconds(2);
constexpr int kCore = 0;  // the sensor nvmlDeviceGetTemperature knows
constexpr std::uint64_t kNotAvailable = ~std::uint64_t{0};

std::string text(nvml::Device device, int (*function)(nvml::Device, char*, unsigned)) {
  char buffer[96] = {};  // NVML_DEVICE_UUID_V2_BUFFER_SIZE and ..._NAME_V2_...
  if (function == nullptr || function(device, buffer, sizeof buffer) != nvml::kSuccess) return {};
  buffer[sizeof buffer - 1] = '\0';
  return buffer;
}

std::string pciAddress(const nvml::Api& api, nvml::Device device) {
  nvml::PciInfo info{};
  if (api.pciInfo == nullptr || api.pciInfo(device, &info) != nvml::kSuccess) return {};
  char address[32];
  std::snprintf(address, sizeof address, "%04x:%02x:%02x.0", info.domain, info.bus, info.device);
  return address;
}

// See ProcessInfoR535.
std::size_t strideOf(std::string_view driver) {
  constexpr std::string_view kBranch = "535.";
  unsigned minor = 0;
  const bool r535 =
      driver.starts_with(kBranch) &&
      std::from_chars(driver.data() + kBranch.size(), driver.data() + driver.size(), minor).ec ==
          std::errc();
  return r535 && minor < 98 ? sizeof(nvml::ProcessInfoR535) : sizeof(nvml::ProcessInfo);
}

std::int32_t percentMilli(double percent) {
  if (!(percent >= 0)) return -1;
  return static_cast<std::int32_t>(std::lround(std::min(percent, 100.0) * 10));
}

}  // namespace

NvmlDevice::NvmlDevice(const nvml::Api& api, nvml::Device handle, std::string_view driver)
    : api_(api), handle_(handle), processStride_(strideOf(driver)), gpm_(api, handle) {}

NvmlSeen NvmlDevice::identity(int ordinal, bool instance) const {
  NvmlSeen seen;
  seen.uuid = text(handle_, api_.uuid);
  seen.name = text(handle_, api_.name);
  seen.ordinal = ordinal;
  seen.instance = instance;
  nvml::Attributes attributes{};
  if (api_.attributes != nullptr && api_.attributes(handle_, &attributes) == nvml::kSuccess)
    seen.multiprocessors = static_cast<std::int32_t>(attributes.multiprocessors);
  int major = 0, minor = 0;
  if (api_.capability != nullptr && api_.capability(handle_, &major, &minor) == nvml::kSuccess) {
    seen.majorCapability = major;
    seen.minorCapability = minor;
  }
  nvml::Memory memory{};
  if (api_.memory != nullptr && api_.memory(handle_, &memory) == nvml::kSuccess)
    seen.memoryBytes = static_cast<std::int64_t>(memory.total);
  seen.pci = pciAddress(api_, handle_);
  return seen;
}

DeviceUsage NvmlDevice::sample(Nanos now) {
  lost_ = nvml::kSuccess;
  DeviceUsage usage;
  readMemory(now, usage);
  if (lost_ != nvml::kSuccess) return usage;
  readBusy(now, usage);
  gpm_.read(now, usage);
  readFields(now, usage);
  readClocks(now, usage);
  return usage;
}

// The mean of the driver's samples since the last reading, the latest alone at the first; -1 where
// there is none.
std::int32_t NvmlDevice::meanOfSamples(Call call, Nanos now, int type, std::uint64_t& lastSeen) {
  nvml::Sample samples[kMaxSamples];
  unsigned count = kMaxSamples;
  int valueType = 0;
  if (!ask(call, now, api_.samples, handle_, type, static_cast<unsigned long long>(lastSeen),
           &valueType, &count, samples))
    return -1;
  const std::uint64_t before = lastSeen;
  double sum = 0, latest = 0;
  unsigned fresh = 0;
  for (unsigned i = 0; i < std::min(count, kMaxSamples); ++i) {
    if (samples[i].microseconds <= before) continue;
    const double value =
        std::max(nvml::numberOf(static_cast<nvml::ValueType>(valueType), samples[i].value), 0.0);
    if (samples[i].microseconds >= lastSeen) {
      lastSeen = samples[i].microseconds;
      latest = value;
    }
    sum += value;
    ++fresh;
  }
  if (fresh == 0) return -1;
  return percentMilli(before == 0 ? latest : sum / fresh);
}

void NvmlDevice::readBusy(Nanos now, DeviceUsage& usage) {
  std::int32_t busy = meanOfSamples(kSamples, now, nvml::kGpuUtilization, seenGpu_);
  std::int32_t memory = meanOfSamples(kMemorySamples, now, nvml::kMemoryUtilization, seenMemory_);
  busyCode_ = gates_[kSamples].code() == nvml::kNotFound ? nvml::kSuccess : gates_[kSamples].code();
  if (busy < 0 && seenGpu_ == 0) {  // no samples on this device: the driver's last period instead
    nvml::Utilization rates{};
    if (ask(kUtilization, now, api_.utilization, handle_, &rates)) {
      busy = percentMilli(rates.gpu);
      memory = percentMilli(rates.memory);
    }
    busyCode_ = gates_[kUtilization].code();
  }
  if (busy >= 0) {
    busy_ = busy;
    busyAt_ = now;
  }
  if (memory >= 0) memoryBusy_ = memory;
  if (busy_ < 0 || now - busyAt_ > kHolds) return;
  usage.busyMilli = busy_;
  usage.memoryBusyMilli = memoryBusy_;
}

void NvmlDevice::readMemory(Nanos now, DeviceUsage& usage) {
  nvml::MemoryV2 memory{nvml::kMemoryV2, 0, 0, 0, 0};
  if (ask(kMemoryV2, now, api_.memoryV2, handle_, &memory)) {
    usage.memoryUsed = static_cast<std::int64_t>(memory.used);
    usage.memoryTotal = static_cast<std::int64_t>(memory.total);
    return;
  }
  nvml::Memory older{};
  if (lost_ == nvml::kSuccess && ask(kMemory, now, api_.memory, handle_, &older)) {
    usage.memoryUsed = static_cast<std::int64_t>(older.used);
    usage.memoryTotal = static_cast<std::int64_t>(older.total);
  }
}

void NvmlDevice::Counter::take(double value) {
  if (value < 0) return;
  // The device counts bytes in 32 bits whatever type they come as (L40S: dcgm-exporter issue 721).
  const auto low = static_cast<std::uint32_t>(static_cast<std::uint64_t>(value));
  total = total < 0 ? 0 : total + static_cast<std::uint32_t>(low - last);
  last = low;
}

// One call for all of these: the library groups what one driver call answers.
void NvmlDevice::readFields(Nanos now, DeviceUsage& usage) {
  constexpr std::uint32_t kIds[] = {nvml::kTotalEnergy,   nvml::kPowerInstant, nvml::kPowerPolicy,
                                    nvml::kPowerBrake,    nvml::kSoftThermal,  nvml::kHardThermal,
                                    nvml::kThermalPolicy, nvml::kPcieSent,     nvml::kPcieReceived};
  nvml::FieldValue values[std::size(kIds)] = {};
  for (std::size_t i = 0; i < std::size(kIds); ++i) {
    values[i].field = kIds[i];
    values[i].code = nvml::kUnknown;
  }
  const bool wrapsUnseen = gpm_.state() == NvmlGpm::State::kWorks;  // see NvmlGpm::read
  const int count = static_cast<int>(std::size(kIds)) - (wrapsUnseen ? 2 : 0);
  const bool answered = ask(kFields, now, api_.fields, handle_, count, values);
  const auto value = [&](std::size_t i) {
    return answered && values[i].code == nvml::kSuccess
               ? nvml::numberOf(values[i].type, values[i].value)
               : -1.0;
  };
  const auto sum = [&](std::size_t a, std::size_t b) {
    return value(a) < 0 ? value(b) : value(a) + std::max(value(b), 0.0);
  };
  usage.energyMillijoules = static_cast<std::int64_t>(value(0));
  usage.powerMilliwatts = static_cast<std::int64_t>(value(1));
  usage.powerThrottled = Nanos(static_cast<Nanos::rep>(sum(2, 3)));
  const double thermal = sum(4, 5);
  usage.thermalThrottled = Nanos(static_cast<Nanos::rep>(thermal < 0 ? value(6) : thermal));
  if (!wrapsUnseen) {
    sent_.take(value(7));
    received_.take(value(8));
    usage.sentBytes = sent_.total;
    usage.receivedBytes = received_.total;
  }
  unsigned power = 0;
  unsigned long long energy = 0;
  if (usage.powerMilliwatts <= 0 && ask(kPower, now, api_.power, handle_, &power))
    usage.powerMilliwatts = power;
  if (usage.energyMillijoules < 0 && ask(kEnergy, now, api_.energy, handle_, &energy))
    usage.energyMillijoules = static_cast<std::int64_t>(energy);
}

void NvmlDevice::readClocks(Nanos now, DeviceUsage& usage) {
  unsigned value = 0;
  if (ask(kClock, now, api_.clock, handle_, nvml::kSmClock, &value))
    usage.clockMhz = static_cast<std::int32_t>(value);
  if (ask(kMemClock, now, api_.clock, handle_, nvml::kMemoryClock, &value))
    usage.memoryClockMhz = static_cast<std::int32_t>(value);
  if (maxClock_ < 0 && ask(kMaxClock, now, api_.maxClock, handle_, nvml::kSmClock, &value))
    maxClock_ = static_cast<std::int32_t>(value);
  usage.maxClockMhz = maxClock_;
  if (ask(kTemperature, now, api_.temperature, handle_, kCore, &value))
    usage.celsius = static_cast<std::int32_t>(value);
  unsigned long long reasons = 0;
  if (ask(kReasons, now, api_.clockReasons, handle_, &reasons))
    usage.throttleReasons = static_cast<std::int64_t>(reasons);
}

void NvmlDevice::list(Call call, Nanos now, int (*function)(nvml::Device, unsigned*, void*),
                      bool& listed, std::vector<NvmlProcess>& out) {
  alignas(8) unsigned char bytes[kMaxProcesses * sizeof(nvml::ProcessInfoR535)];
  unsigned count = kMaxProcesses;
  if (!ask(call, now, function, handle_, &count, static_cast<void*>(bytes))) return;
  listed = true;
  for (unsigned i = 0; i < std::min(count, kMaxProcesses); ++i) {
    nvml::ProcessInfo info;
    std::memcpy(&info, bytes + i * processStride_, sizeof info);
    const auto known = std::find_if(out.begin(), out.end(),
                                    [&](const NvmlProcess& p) { return p.pid == info.pid; });
    if (known != out.end() && info.pid != 0) continue;
    out.push_back(
        {info.pid,
         info.usedMemory == kNotAvailable ? -1 : static_cast<std::int64_t>(info.usedMemory), -1});
  }
}

bool NvmlDevice::processes(Nanos now, std::vector<NvmlProcess>& out) {
  bool listed = false;
  list(kProcesses, now, api_.processes, listed, out);
  list(kMps, now, api_.mpsProcesses, listed, out);
  if (!out.empty()) addBusy(now, out);
  return listed;
}

// The mean share of each process over the driver's samples since the last call.
void NvmlDevice::addBusy(Nanos now, std::vector<NvmlProcess>& processes) {
  nvml::ProcessSample samples[kMaxProcesses] = {};
  unsigned count = kMaxProcesses;
  if (!ask(kProcessBusy, now, api_.processSamples, handle_, samples, &count,
           static_cast<unsigned long long>(seenProcess_)))
    return;
  const std::uint64_t before = seenProcess_;
  for (NvmlProcess& process : processes) {
    double sum = 0;
    int fresh = 0;
    for (unsigned i = 0; i < std::min(count, kMaxProcesses); ++i) {
      const nvml::ProcessSample& sample = samples[i];
      if (sample.microseconds <= before || sample.sm > 100) continue;
      seenProcess_ = std::max(seenProcess_, sample.microseconds);
      if (sample.pid == process.pid) {
        sum += sample.sm;
        ++fresh;
      }
    }
    if (before != 0 && fresh > 0) process.busyMilli = percentMilli(sum / fresh);
  }
}

}  // namespace stallprof
