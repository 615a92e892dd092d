// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// CUPTI's activity records as they lie in its buffers: the agent inside the job and the recorder
// that reads the buffers both take their layout from here. Declared instead of included: both are
// built where there is no CUDA, and one build runs with every CUPTI from 11.8 to 13. Source:
// cupti_activity.h and cupti_activity_deprecated.h of CUDA 11.8 to 13.0. CUPTI fills the newest
// struct it knows, and every version of a struct begins with the one before: these are the oldest,
// up to the last field that is read. tests/unit/agent compares them with cupti.h where that is
// installed.
namespace stallprof::cupti {

// cuptiGetVersion(): counted up to 12.9, then the toolkit as MMmmpp.
inline constexpr std::uint32_t k11_8 = 18, k12_0 = 19, k12_2 = 20, k12_3 = 21, k12_6 = 24,
                               k12_8 = 26, k12_9 = 27, k13_0 = 130000, k13_1 = 130100,
                               k13_2 = 130200, k14 = 140000;

enum ActivityKind : std::uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 3,
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kMemcpy2 = 22,  // between two devices
  kSynchronization = 38,
  kGraphTrace = 51,
};

inline constexpr std::uint32_t kObjectThread = 2;  // CUPTI_ACTIVITY_OBJECT_THREAD

// Times are ns of CUPTI's clock, sizes bytes.
struct MemcpyRecord {
  std::uint32_t kind;
  std::uint8_t copyKind, sourceKind, targetKind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation;
};

struct PeerCopyRecord {
  std::uint32_t kind;
  std::uint8_t copyKind, sourceKind, targetKind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream;
  std::uint32_t sourceDevice, sourceContext, targetDevice, targetContext;
  std::uint32_t correlation;
};

struct MemsetRecord {
  std::uint32_t kind, value;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation;
  std::uint16_t flags, memoryKind;
};

// The beginning of every kernel record since CUDA 11.0.
struct KernelRecord {
  std::uint32_t kind;
  std::uint32_t reserved0[3];
  std::uint64_t start, end, completed;
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3];
  std::uint32_t reserved1[4];
  std::uint32_t correlation;
  std::int64_t gridId;
  std::uint64_t name;  // a pointer into CUPTI, or the number that the agent put there instead
};

struct CallRecord {  // of the driver and runtime, the same in all versions
  std::uint32_t kind, cbid;
  std::uint64_t start, end;
  std::uint32_t process, thread, correlation, result;
};

struct SynchronizationRecord {
  std::uint32_t kind, type;
  std::uint64_t start, end;
  std::uint32_t correlation, context, stream;
};

struct GraphRecord {
  std::uint32_t kind, correlation;
  std::uint64_t start, end;
  std::uint32_t device, graph, context, stream;
};

struct OverheadRecord {
  std::uint32_t kind, overheadKind, objectKind;
  std::uint32_t process, thread, reserved;  // of the object, where it is a thread
  std::uint64_t start, end;
};

struct DeviceRecord {
  std::uint32_t kind, flags;
  std::uint64_t memoryBandwidth, memoryBytes;
  std::uint32_t reserved0[5];
  std::uint32_t multiprocessors;
  std::uint32_t reserved1[14];
  std::uint32_t major, minor, id, ecc;
  std::uint8_t uuid[16];
  std::uint64_t name;  // as a kernel's
};
struct DeviceMigPart {  // follows a DeviceRecord since CUDA 11.6
  std::uint8_t isVisible, isMig, reserved[6];
  std::uint32_t gpuInstance, computeInstance;
  std::uint8_t uuid[16];  // of the instance; zeros: none
};

}  // namespace stallprof::cupti
