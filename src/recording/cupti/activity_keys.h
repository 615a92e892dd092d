// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "event/vocabulary.h"
#include "recording/cupti/activity_calls.h"
#include "recording/cupti/activity_records.h"

// What totals are kept by, in 64 bits.
namespace stallprof {

inline std::uint64_t workKey(std::uint32_t device, DeviceWorkKind kind, HostMemory memory,
                             std::uint32_t name) {
  return std::uint64_t{device} << 48 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 40 |
         std::uint64_t{static_cast<std::uint8_t>(memory)} << 32 | name;
}
struct WorkOf {
  std::uint32_t device;
  DeviceWorkKind kind;
  HostMemory memory;
  std::uint32_t name;
};
inline WorkOf workOf(std::uint64_t key) {
  return {static_cast<std::uint32_t>(key >> 48), static_cast<DeviceWorkKind>(key >> 40 & 255),
          static_cast<HostMemory>(key >> 32 & 255), static_cast<std::uint32_t>(key)};
}

// Thread, what kind of record it came from, and its number there.
enum class CallFrom : std::uint8_t { kRuntime, kDriver, kSync, kOverhead };

inline std::uint64_t callKey(const ActivityRecord& record) {
  CallFrom from = CallFrom::kRuntime;
  if (record.kind == ActivityKind::kDriver) from = CallFrom::kDriver;
  if (record.kind == ActivityKind::kSynchronization) from = CallFrom::kSync;
  if (record.kind == ActivityKind::kOverhead) from = CallFrom::kOverhead;
  return std::uint64_t{record.thread} << 32 | std::uint64_t{static_cast<std::uint8_t>(from)} << 24 |
         (record.code & 0xFFFFFFu);
}
inline std::uint32_t threadOf(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }

// The name is empty for a function that is not known here; `number` is then what there is.
struct CallOf {
  DeviceCallKind kind = DeviceCallKind::kOther;
  std::string_view name;
  std::uint32_t number = 0;
};
[[nodiscard]] CallOf callOf(std::uint64_t key);

}  // namespace stallprof
