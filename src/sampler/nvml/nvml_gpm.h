// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "event/device_events.h"
#include "sampler/nvml/nvml_gate.h"

namespace stallprof {

// How much of a Hopper or newer device was at work, by its own counters: two samples and their
// difference. Needs no privilege, and leaves the counters free for other tools.
class NvmlGpm {
 public:
  // `api` must outlive this.
  NvmlGpm(const nvml::Api& api, nvml::Device handle) : api_(api), handle_(handle) {}
  NvmlGpm(const NvmlGpm&) = delete;
  ~NvmlGpm();

  // Fills the shares since the last sample where one is old enough; -1 between. PCIe bytes are
  // added up in `sentBytes` and `receivedBytes` then, as the device's own counters wrap too soon.
  void read(Nanos now, DeviceUsage& usage);

  enum class State { kUnknown, kAbsent, kRefused, kWorks };
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int code() const { return code_; }

 private:
  bool begin();
  void refuse(int code, Nanos now);
  void take(Nanos span, DeviceUsage& usage);

  const nvml::Api& api_;
  nvml::Device handle_;
  std::unique_ptr<nvml::GpmMetrics> metrics_;  // 20 KB
  Nanos sampledAt_{-1}, retryAt_{};
  State state_ = State::kUnknown;
  int code_ = nvml::kSuccess;
  double sent_ = -1, received_ = -1;
};

}  // namespace stallprof
