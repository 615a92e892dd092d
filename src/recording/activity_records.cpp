// SPDX-License-Identifier: MIT
#include "recording/activity_records.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace stallprof {
namespace {

// CUPTI fills the newest struct it knows, and every version of a struct begins with the one before:
// offsets are those of the oldest, sizes are learned. Offsets and sizes: cupti_activity.h of CUDA
// 11.8 to 13.0 (and cupti_activity_deprecated.h), checked by the tests against the real library.
constexpr std::uint32_t kStrideLimit = 1024;

template <class T>
T at(const std::uint8_t* record, std::size_t offset) {
  T value;
  std::memcpy(&value, record + offset, sizeof value);
  return value;
}

struct Version {
  std::uint32_t since, size;
};
// The part of a kind that is read, and its sizes by version (cuptiGetVersion: 18 is CUDA 11.8, 19
// 12.0, 20 12.2, 21 12.3, 26 12.8, 130000 13.0; size 0, and all from 13.1 on: the agent has to see
// it).
struct Layout {
  std::uint32_t minimum = 0;
  std::array<Version, 3> sizes{};
};
constexpr std::uint32_t kUnknownSince = 130100;

constexpr Layout layoutOf(std::uint32_t kind) {
  switch (static_cast<ActivityKind>(kind)) {
    case ActivityKind::kCopy:
      return {64, {{{18, 88}, {26, 96}}}};
    case ActivityKind::kSet:
      return {64, {{{18, 88}}}};
    case ActivityKind::kKernel:
    case ActivityKind::kConcurrentKernel:
      return {144, {{{18, 200}, {19, 208}, {130000, 216}}}};
    case ActivityKind::kDriverCall:
    case ActivityKind::kRuntimeCall:
      return {40, {{{1, 40}}}};
    case ActivityKind::kDevice:
      return {144, {{{18, 176}, {20, 0}, {26, 184}}}};
    case ActivityKind::kOverhead:
      return {40, {{{18, 40}, {20, 0}, {26, 56}}}};
    case ActivityKind::kPeerCopy:
      return {64, {{{18, 96}}}};
    case ActivityKind::kSync:
      return {40, {{{18, 40}, {26, 56}}}};
    case ActivityKind::kGraph:
      return {40, {{{18, 48}, {21, 56}}}};
  }
  return {};
}

constexpr auto kLayouts = [] {
  std::array<Layout, STALLPROF_ACTIVITY_KINDS> layouts{};
  for (std::uint32_t kind = 0; kind < layouts.size(); ++kind) layouts[kind] = layoutOf(kind);
  return layouts;
}();

void readWork(const std::uint8_t* p, ActivityRecord& record) {
  record.start = at<std::uint64_t>(p, 16);
  record.end = at<std::uint64_t>(p, 24);
  record.device = at<std::uint32_t>(p, 32);
  record.context = at<std::uint32_t>(p, 36);
  record.stream = at<std::uint32_t>(p, 40);
  record.bytes = at<std::uint64_t>(p, 8);
}

void readKernel(const std::uint8_t* p, ActivityRecord& record) {
  record.start = at<std::uint64_t>(p, 16);
  record.end = at<std::uint64_t>(p, 24);
  record.device = at<std::uint32_t>(p, 40);
  record.context = at<std::uint32_t>(p, 44);
  record.stream = at<std::uint32_t>(p, 48);
  record.correlation = at<std::uint32_t>(p, 92);
  record.name = at<std::uint64_t>(p, 104);
  const auto product = [p](std::size_t first) {
    std::uint64_t result = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto side = static_cast<std::uint64_t>(std::max(at<std::int32_t>(p, first + 4 * i), 0));
      if (__builtin_mul_overflow(result, side, &result)) return std::uint64_t{0};
    }
    return result;
  };
  record.blocks = product(52);
  record.blockThreads = product(64);
}

void read(const std::uint8_t* p, ActivityRecord& record) {
  switch (record.kind) {
    case ActivityKind::kKernel:
    case ActivityKind::kConcurrentKernel:
      return readKernel(p, record);
    case ActivityKind::kCopy:
      readWork(p, record);
      record.correlation = at<std::uint32_t>(p, 44);
      record.code = p[4];
      record.sourceMemory = p[5];
      record.targetMemory = p[6];
      return;
    case ActivityKind::kPeerCopy:
      readWork(p, record);
      record.correlation = at<std::uint32_t>(p, 60);
      record.code = p[4];
      return;
    case ActivityKind::kSet:
      readWork(p, record);
      record.correlation = at<std::uint32_t>(p, 44);
      record.targetMemory = p[50];
      return;
    case ActivityKind::kDriverCall:
    case ActivityKind::kRuntimeCall:
      record.code = at<std::uint32_t>(p, 4);
      record.start = at<std::uint64_t>(p, 8);
      record.end = at<std::uint64_t>(p, 16);
      record.thread = at<std::uint32_t>(p, 28);
      record.correlation = at<std::uint32_t>(p, 32);
      return;
    case ActivityKind::kSync:
      record.code = at<std::uint32_t>(p, 4);
      record.start = at<std::uint64_t>(p, 8);
      record.end = at<std::uint64_t>(p, 16);
      record.correlation = at<std::uint32_t>(p, 24);
      record.context = at<std::uint32_t>(p, 28);
      record.stream = at<std::uint32_t>(p, 32);
      return;
    case ActivityKind::kGraph:
      record.correlation = at<std::uint32_t>(p, 4);
      record.start = at<std::uint64_t>(p, 8);
      record.end = at<std::uint64_t>(p, 16);
      record.device = at<std::uint32_t>(p, 24);
      record.context = at<std::uint32_t>(p, 32);
      record.stream = at<std::uint32_t>(p, 36);
      return;
    case ActivityKind::kOverhead:
      record.code = at<std::uint32_t>(p, 4);
      record.start = at<std::uint64_t>(p, 24);
      record.end = at<std::uint64_t>(p, 32);
      // CUPTI_ACTIVITY_OBJECT_THREAD: process, then thread.
      if (at<std::uint32_t>(p, 8) == 2) record.thread = at<std::uint32_t>(p, 16);
      return;
    case ActivityKind::kDevice:
      record.bytes = at<std::uint64_t>(p, 16);
      record.device = at<std::uint32_t>(p, 112);
      record.name = at<std::uint64_t>(p, 136);
      return;
  }
}

bool possible(std::uint32_t stride, std::uint32_t minimum) {
  return stride >= std::max(minimum, 8u) && stride <= kStrideLimit && stride % 8 == 0;
}

}  // namespace

std::uint32_t activityStride(std::uint32_t kind, std::uint32_t seen, std::uint32_t cuptiVersion) {
  if (kind >= STALLPROF_ACTIVITY_KINDS) return 0;
  const Layout& layout = kLayouts[kind];
  if (possible(seen, layout.minimum)) return seen;
  if (seen != 0 || cuptiVersion >= kUnknownSince) return 0;
  std::uint32_t size = 0;
  for (const Version& version : layout.sizes)
    if (version.since != 0 && cuptiVersion >= version.since) size = version.size;
  return size;
}

ActivityDevice deviceIn(const ActivityRecord& record) {
  const std::uint8_t* p = record.raw.data();
  ActivityDevice device;
  device.multiprocessors = at<std::int32_t>(p, 44);
  device.major = at<std::int32_t>(p, 104);
  device.minor = at<std::int32_t>(p, 108);
  std::memcpy(device.uuid, p + 120, sizeof device.uuid);
  if (record.raw.size() < 176) return device;
  device.mig = p[145] != 0;
  const bool named = std::any_of(p + 160, p + 176, [](std::uint8_t byte) { return byte != 0; });
  if (device.mig && named) std::memcpy(device.uuid, p + 160, sizeof device.uuid);
  return device;
}

ActivityReader::ActivityReader(const ActivityBuffer& buffer)
    : left_(buffer.bytes), torn_(buffer.torn) {
  for (std::uint32_t kind = 0; kind < strides_.size(); ++kind)
    strides_[kind] = activityStride(kind, buffer.strides[kind], buffer.cuptiVersion);
}

// A buffer that was never given back may end in the middle of a record: that is no damage.
const ActivityRecord* ActivityReader::next() {
  while (left_.size() >= 8) {
    const auto kind = at<std::uint32_t>(left_.data(), 0);
    const std::uint32_t stride = kind < strides_.size() && kind != 0 ? strides_[kind] : 0;
    if (stride == 0 || stride > left_.size()) return nullptr;
    const auto raw = left_.first(stride);
    left_ = left_.subspan(stride);
    if (kLayouts[kind].minimum == 0) {
      ++skipped_;
      continue;
    }
    record_ = {};
    record_.kind = static_cast<ActivityKind>(kind);
    record_.raw = raw;
    read(raw.data(), record_);
    return &record_;
  }
  return nullptr;
}

std::size_t writtenBytes(std::span<const std::uint8_t> bytes) {
  std::size_t end = bytes.size();
  while (end > 0 && bytes[end - 1] == 0) --end;
  return std::min((end + 7) / 8 * 8 + kStrideLimit, bytes.size());  // the last may end in zeros
}

}  // namespace stallprof
