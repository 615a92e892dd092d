// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "event/device_events.h"
#include "sampler/nvml/nvml_gate.h"
#include "sampler/nvml/nvml_gpm.h"

namespace stallprof {

// What DeviceSeen says, before its strings have ids.
struct NvmlSeen {
  std::string uuid, name;
  std::int32_t ordinal = -1, multiprocessors = -1, majorCapability = -1, minorCapability = -1;
  std::int64_t memoryBytes = -1;
  std::string pci;        // "0000:65:00.0", as sysfs spells its address; empty: not known
  bool instance = false;  // a MIG instance of a board, not a board
};

struct NvmlProcess {
  std::uint32_t pid = 0;
  std::int64_t memoryBytes = -1;
  std::int32_t busyMilli = -1;
};

// One device, or one MIG instance of it, through its handle. Figures that it does not give stay at
// -1; each entry point is asked again only as its Gate says. Not thread-safe; every call may block
// in the driver.
class NvmlDevice {
 public:
  // `api` must outlive this. `driver`: its version, for the one structure that depends on it.
  NvmlDevice(const nvml::Api& api, nvml::Device handle, std::string_view driver);

  [[nodiscard]] NvmlSeen identity(int ordinal, bool instance) const;
  // All figures now; `device` is left to the caller.
  [[nodiscard]] DeviceUsage sample(Nanos now);
  // Processes with a context on it, MPS clients too; false where it does not say.
  bool processes(Nanos now, std::vector<NvmlProcess>& out);

  // Not success: the device is lost, or the library lost the driver; found by the last reading.
  [[nodiscard]] int lost() const { return lost_; }
  // Why the busy share is missing; success where it is not.
  [[nodiscard]] int busyCode() const { return busyCode_; }
  [[nodiscard]] const NvmlGpm& gpm() const { return gpm_; }

 private:
  enum Call {
    kUtilization,
    kMemoryV2,
    kMemory,
    kFields,
    kCostlyFields,
    kPower,
    kEnergy,
    kClock,
    kMaxClock,
    kMemClock,
    kTemperature,
    kReasons,
    kProcesses,
    kMps,
    kProcessBusy,
    kCalls,
  };
  // A counter of 32 bits of the device, made cumulative.
  struct Counter {
    std::int64_t total = -1;
    std::uint32_t last = 0;
    void take(double value);
  };
  template <class F, class... Arguments>
  bool ask(Call call, Nanos now, F function, Arguments... arguments) {
    const bool good = gates_[call].ask(now, function, arguments...);
    if (endsDevice(gates_[call].code())) lost_ = gates_[call].code();
    return good;
  }
  void readBusy(Nanos now, DeviceUsage& usage);
  void readMemory(Nanos now, DeviceUsage& usage);
  struct FieldTarget {
    std::uint32_t id;
    double* value;  // -1 where it is not to be had
  };
  // One call for all of them: the library groups what one driver call answers.
  void readFields(Call call, Nanos now, std::span<const FieldTarget> wanted);
  void readCostly(Nanos now);
  void readCounters(Nanos now, DeviceUsage& usage);
  void readClocks(Nanos now, DeviceUsage& usage);
  void list(Call call, Nanos now, int (*function)(nvml::Device, unsigned*, void*), bool& listed,
            std::vector<NvmlProcess>& out);
  void addBusy(Nanos now, std::vector<NvmlProcess>& processes);

  const nvml::Api& api_;
  nvml::Device handle_;
  std::size_t processStride_;
  NvmlGpm gpm_;
  Gate gates_[kCalls];
  struct {
    double energy = -1, brake = -1, hardThermal = -1, thermalPolicy = -1;
  } costly_;
  Nanos costlyAt_{}, processBusyAt_{};
  std::uint64_t seenProcess_ = 0;
  std::int32_t maxClock_ = -1;
  Counter sent_, received_;
  int lost_ = nvml::kSuccess, busyCode_ = nvml::kSuccess;
};

}  // namespace stallprof
