// SPDX-License-Identifier: MIT
#include "recording/cupti/activity_keys.h"

namespace stallprof {
namespace {

std::string_view syncName(std::uint32_t type) {
  switch (type) {  // CUpti_ActivitySynchronizationType
    case 1:
      return "(event synchronize)";
    case 3:
      return "(stream synchronize)";
    case 4:
      return "(context synchronize)";
    default:
      return "(synchronize)";
  }
}

// What CUDA and CUPTI say that they cost themselves; only CUPTI's own part is ours.
std::string_view overheadName(std::uint32_t kind) {
  switch (kind >> 16) {  // CUpti_ActivityOverheadKind
    case 0:
      return "(driver compiler)";
    case 4:
      return "(module loading)";
    case 5:
      return "(lazy function loading)";
    case 6:
      return "(command buffer full)";
    default:
      return "(tracing)";
  }
}

}  // namespace

CallOf callOf(std::uint64_t key) {
  const auto number = static_cast<std::uint32_t>(key & 0xFFFFFFu);
  ActivityCall call;
  switch (static_cast<CallFrom>(key >> 24 & 255)) {
    case CallFrom::kRuntime:
      call = runtimeCall(number);
      break;
    case CallFrom::kDriver:
      call = driverCall(number);
      break;
    case CallFrom::kSync:
      call = {DeviceCallKind::kSync, syncName(number)};
      break;
    case CallFrom::kOverhead:
      call = {DeviceCallKind::kOther, overheadName(number)};
      break;
  }
  return {call.kind, call.name, number};
}

}  // namespace stallprof
