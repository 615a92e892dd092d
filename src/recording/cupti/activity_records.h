// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "recording/cupti/cupti_records.h"
#include "recording/memory/activity_memory.h"

namespace stallprof {

using cupti::ActivityKind;

// One record as CUPTI wrote it: times in its clock, name as a number of the name log or a pointer.
// What a kind does not have is 0.
struct ActivityRecord {
  ActivityKind kind{};
  std::uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  std::uint32_t code = 0;  // call: cbid; copy: copyKind; sync: type; overhead: its kind
  std::uint32_t thread = 0;
  std::uint8_t sourceMemory = 0, targetMemory = 0;  // copy; set: the target's
  std::uint64_t start = 0, end = 0;
  std::uint64_t name = 0;   // kernel, device
  std::uint64_t bytes = 0;  // copy, set; device: its memory
  std::uint64_t blocks = 0;
  std::uint64_t blockThreads = 0;
  std::span<const std::uint8_t> raw;  // valid as long as the buffer
};
// What is more in a record of kind kDevice.
struct ActivityDevice {
  std::int32_t multiprocessors = -1, major = -1, minor = -1;
  bool mig = false;
  std::uint8_t uuid[16] = {};  // MIG: of the instance
};
[[nodiscard]] ActivityDevice deviceIn(const ActivityRecord& record);

struct ActivityBuffer {
  // A private copy: the job can write to the memory at any time.
  std::span<const std::uint8_t> bytes;
  std::span<const std::uint32_t, STALLPROF_ACTIVITY_KINDS> strides;  // as the agent says
  std::uint32_t cuptiVersion = 0;
  bool torn = false;  // never returned: read to the first zero kind
};

// Goes through a buffer record by record. No byte beyond `bytes` is read, however hostile they are.
class ActivityReader {
 public:
  explicit ActivityReader(const ActivityBuffer& buffer);
  // The next record of a kind that is read, valid until the next call; null at the end.
  [[nodiscard]] const ActivityRecord* next();

  // After the last: bytes behind a place where no record can be.
  [[nodiscard]] std::size_t damagedBytes() const { return torn_ ? 0 : left_.size(); }

 private:
  std::span<const std::uint8_t> left_;
  std::array<std::uint32_t, STALLPROF_ACTIVITY_KINDS> strides_;
  bool torn_;
  ActivityRecord record_;
};

// The bytes from one record of this kind to the next: what the agent saw where that can be, else
// the size that this CUPTI has in NVIDIA's headers; 0: not known.
[[nodiscard]] std::uint32_t activityStride(std::uint32_t kind, std::uint32_t seen,
                                           std::uint32_t cuptiVersion);

// Of a buffer that was handed out as zeros: what holds all records in it.
[[nodiscard]] std::size_t writtenBytes(std::span<const std::uint8_t> bytes);

}  // namespace stallprof
