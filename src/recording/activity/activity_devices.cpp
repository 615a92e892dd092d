// SPDX-License-Identifier: MIT
#include "recording/activity/activity_devices.h"

#include <utility>

#include "base/text.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxContexts = 1024;

}  // namespace

ActivityDevices::~ActivityDevices() {
  for (const auto& device : devices_)
    if (device && device->used) budget_.removeDevice();
}

ActivityDeviceState* ActivityDevices::at(std::uint32_t ordinal) {
  if (ordinal >= devices_.size()) return nullptr;
  if (!devices_[ordinal]) devices_[ordinal] = std::make_unique<ActivityDeviceState>();
  return devices_[ordinal].get();
}

std::uint32_t ActivityDevices::ordinalOf(const ActivityRecord& record) {
  if (record.device < devices_.size()) {
    const std::uint64_t both = std::uint64_t{record.context} << 32 | record.device;
    if (both != lastContext_ && deviceOfContext_.size() < kMaxContexts)
      deviceOfContext_[record.context] = record.device;
    lastContext_ = both;
    return record.device;
  }
  const auto found = deviceOfContext_.find(record.context);
  return found != deviceOfContext_.end() ? found->second : record.device;
}

void ActivityDevices::setUsed(ActivityDeviceState& device) {
  if (!std::exchange(device.used, true)) budget_.addDevice();
}

StringId ActivityDevices::nameOf(std::uint32_t ordinal, EventOut& out) const {
  if (ordinal < devices_.size() && devices_[ordinal] && !devices_[ordinal]->name.none())
    return devices_[ordinal]->name;
  return out.intern("device " + std::to_string(ordinal));  // its own record was lost
}

std::string ActivityDevices::uuidText(const ActivityDevice& details) {
  std::string uuid = details.mig ? "MIG-" : "GPU-";
  for (std::size_t i = 0; i < sizeof details.uuid; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid += '-';
    uuid += hexOf({&details.uuid[i], 1});
  }
  return uuid;
}

}  // namespace stallprof
