// SPDX-License-Identifier: MIT
#include "sampler/nvml/nvml_device.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace stallprof {
namespace {

constexpr unsigned kMaxProcesses = 128;
constexpr std::size_t kMaxFields = 8;
constexpr Nanos kCostlyEvery = std::chrono::seconds(10);
// Shares of processes cost 2.5 ms on an H200.
constexpr Nanos kProcessBusyEvery = std::chrono::seconds(5);
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
  readCounters(now, usage);
  readClocks(now, usage);
  return usage;
}

// Of the driver's last period, 1/6 to 1 s. (Its samples would give the mean since the last reading,
// for 3 ms of CPU on an H200, where this costs 0.05.)
void NvmlDevice::readBusy(Nanos now, DeviceUsage& usage) {
  nvml::Utilization rates{};
  if (ask(kUtilization, now, api_.utilization, handle_, &rates)) {
    usage.busyMilli = percentMilli(rates.gpu);
    usage.memoryBusyMilli = percentMilli(rates.memory);
  }
  busyCode_ = gates_[kUtilization].code();
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

void NvmlDevice::readFields(Call call, Nanos now, std::span<const FieldTarget> wanted) {
  nvml::FieldValue values[kMaxFields] = {};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    values[i].field = wanted[i].id;
    values[i].code = nvml::kUnknown;
  }
  const bool answered =
      ask(call, now, api_.fields, handle_, static_cast<int>(wanted.size()), values);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    *wanted[i].value = answered && values[i].code == nvml::kSuccess
                           ? nvml::numberOf(values[i].type, values[i].value)
                           : -1.0;
}

// What costs 1 to 3 ms of CPU each on an H200, where the others cost 0.1.
void NvmlDevice::readCostly(Nanos now) {
  if (now < costlyAt_) return;
  costlyAt_ = now + kCostlyEvery;
  const FieldTarget wanted[] = {{nvml::kTotalEnergy, &costly_.energy},
                                {nvml::kPowerBrake, &costly_.brake},
                                {nvml::kHardThermal, &costly_.hardThermal},
                                {nvml::kThermalPolicy, &costly_.thermalPolicy}};
  readFields(kCostlyFields, now, wanted);
  unsigned long long energy = 0;
  if (costly_.energy < 0 && ask(kEnergy, now, api_.energy, handle_, &energy))
    costly_.energy = static_cast<double>(energy);
}

void NvmlDevice::readCounters(Nanos now, DeviceUsage& usage) {
  double watts = -1, policy = -1, softThermal = -1, sent = -1, received = -1;
  const FieldTarget wanted[] = {{nvml::kPowerInstant, &watts},
                                {nvml::kPowerPolicy, &policy},
                                {nvml::kSoftThermal, &softThermal},
                                {nvml::kPcieSent, &sent},
                                {nvml::kPcieReceived, &received}};
  const bool wrapsUnseen = gpm_.state() == NvmlGpm::State::kWorks;  // see NvmlGpm::read
  readFields(kFields, now, std::span(wanted).first(std::size(wanted) - (wrapsUnseen ? 2 : 0)));
  readCostly(now);
  const auto sum = [](double a, double b) { return a < 0 ? b : a + std::max(b, 0.0); };
  usage.energyMillijoules = static_cast<std::int64_t>(costly_.energy);
  usage.powerMilliwatts = static_cast<std::int64_t>(watts);
  usage.powerThrottled = Nanos(static_cast<Nanos::rep>(sum(policy, costly_.brake)));
  const double thermal = sum(softThermal, costly_.hardThermal);
  usage.thermalThrottled =
      Nanos(static_cast<Nanos::rep>(thermal < 0 ? costly_.thermalPolicy : thermal));
  if (!wrapsUnseen) {
    sent_.take(sent);
    received_.take(received);
    usage.sentBytes = sent_.total;
    usage.receivedBytes = received_.total;
  }
  unsigned power = 0;
  if (usage.powerMilliwatts <= 0 && ask(kPower, now, api_.power, handle_, &power))
    usage.powerMilliwatts = power;
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
  if (now < processBusyAt_) return;
  processBusyAt_ = now + kProcessBusyEvery;
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
