// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "event/event_out.h"
#include "recording/activity/activity_budget.h"
#include "recording/activity/activity_spans.h"
#include "recording/cupti/activity_records.h"

namespace stallprof {

// A device as one process uses it.
struct ActivityDeviceState {
  StringId name;  // its UUID; none: its record was lost
  std::int32_t multiprocessors = -1;
  bool used = false;  // CUPTI reports every device there is
  BusyUnion work;
};

// The devices of one process, by ordinal.
class ActivityDevices {
 public:
  // CUDA allows 64 devices at most in a process; and a job may not make us hold more.
  static constexpr std::uint32_t kMaxDevices = 64;

  // `budget`, which outlives it, counts the devices that are used.
  explicit ActivityDevices(ActivityBudget& budget) : budget_(budget) {}
  ActivityDevices(const ActivityDevices&) = delete;
  ActivityDevices& operator=(const ActivityDevices&) = delete;
  ~ActivityDevices();

  // Made at the first call; null: no such device can be.
  [[nodiscard]] ActivityDeviceState* at(std::uint32_t ordinal);
  // The device a record is of. A graph that spans devices has none of its own: then the one its
  // context is of.
  [[nodiscard]] std::uint32_t ordinalOf(const ActivityRecord& record);
  void setUsed(ActivityDeviceState& device);
  [[nodiscard]] StringId nameOf(std::uint32_t ordinal, EventOut& out) const;

  // Calls apply(ordinal, device) for each that is known.
  template <class Apply>
  void forEach(Apply&& apply) {
    for (std::uint32_t i = 0; i < devices_.size(); ++i)
      if (devices_[i]) apply(i, *devices_[i]);
  }

  // "GPU-..." or "MIG-...", as nvidia-smi writes it.
  [[nodiscard]] static std::string uuidText(const ActivityDevice& details);

 private:
  ActivityBudget& budget_;
  std::array<std::unique_ptr<ActivityDeviceState>, kMaxDevices> devices_;
  std::map<std::uint32_t, std::uint32_t> deviceOfContext_;
  std::uint64_t lastContext_ = ~std::uint64_t{0};  // and its device, as it is in the map
};

}  // namespace stallprof
