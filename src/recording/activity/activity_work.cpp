// SPDX-License-Identifier: MIT
#include "recording/activity/activity_work.h"

namespace stallprof {
namespace {

DeviceWorkKind copyKind(std::uint32_t code) {
  switch (code) {  // CUpti_ActivityMemcpyKind
    case 1:
    case 3:
      return DeviceWorkKind::kToDevice;
    case 2:
    case 4:
      return DeviceWorkKind::kToHost;
    case 5:
    case 6:
    case 7:
    case 8:
      return DeviceWorkKind::kOnDevice;
    case 10:
      return DeviceWorkKind::kPeer;
    default:
      return DeviceWorkKind::kOther;
  }
}

HostMemory hostMemory(std::uint8_t kind) {
  switch (kind) {  // CUpti_ActivityMemoryKind
    case 1:
      return HostMemory::kPageable;
    case 2:
      return HostMemory::kPinned;
    case 5:
    case 7:
      return HostMemory::kManaged;
    default:
      return HostMemory::kUnknown;
  }
}

}  // namespace

BusyWith busyWith(DeviceWorkKind kind) {
  switch (kind) {
    case DeviceWorkKind::kKernel:
    case DeviceWorkKind::kGraph:
      return BusyWith::kCompute;
    case DeviceWorkKind::kCollective:
      return BusyWith::kCollective;
    default:
      return BusyWith::kCopy;
  }
}

DeviceWork workOfRecord(const ActivityRecord& record, bool collective) {
  DeviceWork work;
  switch (record.kind) {
    case ActivityKind::kMemcpy:
      work.kind = copyKind(record.code);
      if (work.kind == DeviceWorkKind::kToDevice) work.memory = hostMemory(record.sourceMemory);
      if (work.kind == DeviceWorkKind::kToHost) work.memory = hostMemory(record.targetMemory);
      break;
    case ActivityKind::kMemcpy2:
      work.kind = DeviceWorkKind::kPeer;
      break;
    case ActivityKind::kMemset:
      work.kind = DeviceWorkKind::kSet;
      break;
    case ActivityKind::kGraphTrace:
      work.kind = DeviceWorkKind::kGraph;
      return work;
    default:
      if (collective) work.kind = DeviceWorkKind::kCollective;
      work.blocks = static_cast<std::int64_t>(std::min<std::uint64_t>(record.blocks, INT64_MAX));
      work.blockThreads =
          static_cast<std::int32_t>(std::min<std::uint64_t>(record.blockThreads, INT32_MAX));
      return work;
  }
  work.bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(record.bytes, INT64_MAX));
  return work;
}

}  // namespace stallprof
