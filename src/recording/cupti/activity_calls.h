// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "event/vocabulary.h"

namespace stallprof {

// A function of CUDA by its number in CUPTI's records of calls.
struct ActivityCall {
  DeviceCallKind kind = DeviceCallKind::kOther;
  std::string_view name;  // empty: not one that is known here
};
[[nodiscard]] ActivityCall runtimeCall(std::uint32_t cbid);
[[nodiscard]] ActivityCall driverCall(std::uint32_t cbid);

}  // namespace stallprof
