// SPDX-License-Identifier: MIT
#include "recording/cupti/activity_records.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace stallprof {
namespace {

// No record of a known version is as long; a stride that says more is not believed.
constexpr std::uint32_t kStrideLimit = 1024;

template <class T>
T as(const std::uint8_t* record) {
  T value;
  std::memcpy(&value, record, sizeof value);
  return value;
}

struct Version {
  std::uint32_t since, size;
};
// The bytes of a kind that are read, and its whole size by the version of CUPTI. Size 0, and all
// from 13.1 on: not in the headers that this is from, so the agent has to see it.
struct Layout {
  std::uint32_t minimum = 0;
  std::array<Version, 3> sizes{};
};
constexpr std::uint32_t kUnknownSince = cupti::k13_1;

constexpr Layout layoutOf(std::uint32_t kind) {
  switch (static_cast<ActivityKind>(kind)) {
    case ActivityKind::kMemcpy:
      return {64, {{{cupti::k11_8, 88}, {cupti::k12_8, 96}}}};
    case ActivityKind::kMemset:
      return {64, {{{cupti::k11_8, 88}}}};
    case ActivityKind::kKernel:
    case ActivityKind::kConcurrentKernel:
      return {144, {{{cupti::k11_8, 200}, {cupti::k12_0, 208}, {cupti::k13_0, 216}}}};
    case ActivityKind::kDriver:
    case ActivityKind::kRuntime:
      return {sizeof(cupti::CallRecord), {{{1, 40}}}};
    case ActivityKind::kDevice:
      return {sizeof(cupti::DeviceRecord),
              {{{cupti::k11_8, 176}, {cupti::k12_2, 0}, {cupti::k12_8, 184}}}};
    case ActivityKind::kOverhead:
      return {sizeof(cupti::OverheadRecord),
              {{{cupti::k11_8, 40}, {cupti::k12_2, 0}, {cupti::k12_8, 56}}}};
    case ActivityKind::kMemcpy2:
      return {sizeof(cupti::PeerCopyRecord), {{{cupti::k11_8, 96}}}};
    case ActivityKind::kSynchronization:
      return {sizeof(cupti::SynchronizationRecord), {{{cupti::k11_8, 40}, {cupti::k12_8, 56}}}};
    case ActivityKind::kGraphTrace:
      return {sizeof(cupti::GraphRecord), {{{cupti::k11_8, 48}, {cupti::k12_3, 56}}}};
  }
  return {};
}
static_assert(sizeof(cupti::KernelRecord) <= 144 && sizeof(cupti::MemcpyRecord) <= 64 &&
              sizeof(cupti::MemsetRecord) <= 64);

constexpr auto kLayouts = [] {
  std::array<Layout, STALLPROF_ACTIVITY_KINDS> layouts{};
  for (std::uint32_t kind = 0; kind < layouts.size(); ++kind) layouts[kind] = layoutOf(kind);
  return layouts;
}();

template <class Raw>
void readTimes(const Raw& raw, ActivityRecord& record) {
  record.start = raw.start;
  record.end = raw.end;
}

// What all kinds of work on a device have.
template <class Raw>
void readWork(const Raw& raw, ActivityRecord& record) {
  readTimes(raw, record);
  record.device = raw.device;
  record.context = raw.context;
  record.stream = raw.stream;
  record.correlation = raw.correlation;
}

std::uint64_t product(const std::int32_t (&sides)[3]) {
  std::uint64_t result = 1;
  for (const std::int32_t side : sides)
    if (__builtin_mul_overflow(result, static_cast<std::uint64_t>(std::max(side, 0)), &result))
      return 0;
  return result;
}

void readKernel(const cupti::KernelRecord& raw, ActivityRecord& record) {
  readWork(raw, record);
  record.name = raw.name;
  record.blocks = product(raw.grid);
  record.blockThreads = product(raw.block);
}

void readCopy(const cupti::MemcpyRecord& raw, ActivityRecord& record) {
  readWork(raw, record);
  record.bytes = raw.bytes;
  record.code = raw.copyKind;
  record.sourceMemory = raw.sourceKind;
  record.targetMemory = raw.targetKind;
}

void readPeerCopy(const cupti::PeerCopyRecord& raw, ActivityRecord& record) {
  readWork(raw, record);
  record.bytes = raw.bytes;
  record.code = raw.copyKind;
}

void readSet(const cupti::MemsetRecord& raw, ActivityRecord& record) {
  readWork(raw, record);
  record.bytes = raw.bytes;
  record.targetMemory = static_cast<std::uint8_t>(raw.memoryKind);
}

void readCall(const cupti::CallRecord& raw, ActivityRecord& record) {
  record.code = raw.cbid;
  readTimes(raw, record);
  record.thread = raw.thread;
  record.correlation = raw.correlation;
}

void readSync(const cupti::SynchronizationRecord& raw, ActivityRecord& record) {
  record.code = raw.type;
  readTimes(raw, record);
  record.correlation = raw.correlation;
  record.context = raw.context;
  record.stream = raw.stream;
}

void readOverhead(const cupti::OverheadRecord& raw, ActivityRecord& record) {
  record.code = raw.overheadKind;
  readTimes(raw, record);
  if (raw.objectKind == cupti::kObjectThread) record.thread = raw.thread;
}

void readDevice(const cupti::DeviceRecord& raw, ActivityRecord& record) {
  record.bytes = raw.memoryBytes;
  record.device = raw.id;
  record.name = raw.name;
}

void read(const std::uint8_t* p, ActivityRecord& record) {
  switch (record.kind) {
    case ActivityKind::kKernel:
    case ActivityKind::kConcurrentKernel:
      return readKernel(as<cupti::KernelRecord>(p), record);
    case ActivityKind::kMemcpy:
      return readCopy(as<cupti::MemcpyRecord>(p), record);
    case ActivityKind::kMemcpy2:
      return readPeerCopy(as<cupti::PeerCopyRecord>(p), record);
    case ActivityKind::kMemset:
      return readSet(as<cupti::MemsetRecord>(p), record);
    case ActivityKind::kDriver:
    case ActivityKind::kRuntime:
      return readCall(as<cupti::CallRecord>(p), record);
    case ActivityKind::kSynchronization:
      return readSync(as<cupti::SynchronizationRecord>(p), record);
    case ActivityKind::kGraphTrace:
      return readWork(as<cupti::GraphRecord>(p), record);
    case ActivityKind::kOverhead:
      return readOverhead(as<cupti::OverheadRecord>(p), record);
    case ActivityKind::kDevice:
      return readDevice(as<cupti::DeviceRecord>(p), record);
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
  constexpr std::size_t kWithMig = sizeof(cupti::DeviceRecord) + sizeof(cupti::DeviceMigPart);
  const auto raw = as<cupti::DeviceRecord>(record.raw.data());
  ActivityDevice device;
  device.multiprocessors = static_cast<std::int32_t>(raw.multiprocessors);
  device.major = static_cast<std::int32_t>(raw.major);
  device.minor = static_cast<std::int32_t>(raw.minor);
  std::memcpy(device.uuid, raw.uuid, sizeof device.uuid);
  if (record.raw.size() < kWithMig) return device;
  const auto mig = as<cupti::DeviceMigPart>(record.raw.data() + sizeof(cupti::DeviceRecord));
  device.mig = mig.isMig != 0;
  const bool named = std::any_of(std::begin(mig.uuid), std::end(mig.uuid),
                                 [](std::uint8_t byte) { return byte != 0; });
  if (device.mig && named) std::memcpy(device.uuid, mig.uuid, sizeof device.uuid);
  return device;
}

ActivityReader::ActivityReader(const ActivityBuffer& buffer)
    : left_(buffer.bytes), torn_(buffer.torn) {
  for (std::uint32_t kind = 0; kind < strides_.size(); ++kind)
    strides_[kind] = activityStride(kind, buffer.strides[kind], buffer.cuptiVersion);
}

// A buffer that was never returned may end in the middle of a record: that is no damage.
const ActivityRecord* ActivityReader::next() {
  while (left_.size() >= 8) {
    const auto kind = as<std::uint32_t>(left_.data());
    const std::uint32_t stride = kind < strides_.size() && kind != 0 ? strides_[kind] : 0;
    if (stride == 0 || stride > left_.size()) return nullptr;
    const auto raw = left_.first(stride);
    left_ = left_.subspan(stride);
    if (kLayouts[kind].minimum == 0) continue;
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
