// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

// NVIDIA's monitoring library as we call it: our own prototypes of what libnvidia-ml.so.1 exports,
// so that nothing of CUDA is needed to build, and the driver of the day answers at run time.
// Layouts and numbers were checked against nvml.h of CUDA 13.0 (go-nvml's copy) and the structures
// of nvidia-ml-py 13.615.
namespace stallprof::nvml {

using Device = struct DeviceTag*;
using GpmSample = struct GpmSampleTag*;

enum Code : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kVersionMismatch = 18,
  kDeprecated = 26,
  kUnknown = 999,
};
// For a person: what a code means here and, where there is one, what would help.
[[nodiscard]] std::string meaning(int code);

union Value {
  double real;
  std::int32_t signedInt;
  std::uint32_t unsignedInt;
  std::uint64_t unsignedLong;
  std::int64_t signedLong;
  std::uint16_t unsignedShort;
};
enum class ValueType : std::int32_t {
  kDouble,
  kUnsignedInt,
  kUnsignedLong,
  kUnsignedLongLong,
  kSignedLongLong,
  kSignedInt,
  kUnsignedShort,
};
// The value as a double, whatever it came as; negative when the type is none we know.
[[nodiscard]] double numberOf(ValueType type, Value value);

struct Utilization {
  std::uint32_t gpu, memory;  // percent of the driver's last sampling period
};
struct Memory {
  std::uint64_t total, free, used;
};
struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;
};
struct FieldValue {
  std::uint32_t field, scope;
  std::int64_t timestamp, latency;
  ValueType type;
  std::int32_t code;
  Value value;
};
struct ProcessInfo {
  std::uint32_t pid;
  std::uint64_t usedMemory;
  std::uint32_t gpuInstance, computeInstance;
};
// 535.43 to 535.97 answered nvmlDeviceGetComputeRunningProcesses_v3 with one more field; later
// drivers do not.
struct ProcessInfoR535 {
  ProcessInfo info;
  std::uint64_t protectedMemory;
};
struct ProcessSample {
  std::uint32_t pid;
  std::uint64_t microseconds;
  std::uint32_t sm, memory, encoder, decoder;  // percent
};
struct Attributes {
  std::uint32_t multiprocessors, copyEngines, decoders, encoders, jpegs, opticalFlows;
  std::uint32_t gpuSlices, computeSlices;
  std::uint64_t memoryMib;
};
// Of nvmlDeviceGetPciInfo_v3. The two texts are the address in words.
struct PciInfo {
  char legacyAddress[16];
  std::uint32_t domain, bus, device, deviceId, subsystemId;
  char address[32];
};
struct GpmMetric {
  std::uint32_t id;
  std::int32_t code;
  double value;
  const char *shortName, *longName, *unit;
};
// The library writes `count` metrics; the array's length in nvml.h is not part of the contract (98
// in CUDA 11.8, 333 in 13.0, 477 in 13.3).
struct GpmMetrics {
  std::uint32_t version, count;
  GpmSample first, second;
  GpmMetric metrics[512];
};
struct GpmSupport {
  std::uint32_t version, supported;
};

static_assert(sizeof(MemoryV2) == 40 && sizeof(FieldValue) == 40);
static_assert(sizeof(ProcessInfo) == 24 && sizeof(ProcessInfoR535) == 32);
static_assert(sizeof(ProcessSample) == 32 && sizeof(Attributes) == 40 && sizeof(PciInfo) == 68);
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetrics, metrics) == 24);

inline constexpr std::uint32_t kMemoryV2 = sizeof(MemoryV2) | 2u << 24;
inline constexpr std::uint32_t kGpmVersion = 1;

enum ClockType : int { kSmClock = 1, kMemoryClock = 2 };
enum Field : std::uint32_t {
  kPowerPolicy = 74,    // ns held down to stay within the power limit
  kThermalPolicy = 75,  // ns held down by temperature: before 269 and 270
  kTotalEnergy = 83,    // mJ since the driver was loaded
  kPowerInstant = 186,  // mW
  kPcieSent = 197,      // bytes
  kPcieReceived = 198,  // bytes
  kSoftThermal = 269,   // ns
  kHardThermal = 270,   // ns
  kPowerBrake = 271,    // ns
};
enum Metric : std::uint32_t {
  kSmUtilization = 2,
  kSmOccupancy = 3,
  kAnyTensor = 5,
  kDramBandwidth = 10,
  kPcieSentRate = 20,      // MiB/s
  kPcieReceivedRate = 21,  // MiB/s
};

// Entry points; null where the library is too old for one.
struct Api {
  int (*init)();
  int (*driverVersion)(char*, unsigned);
  int (*count)(unsigned*);
  int (*handleByIndex)(unsigned, Device*);
  int (*uuid)(Device, char*, unsigned);
  int (*name)(Device, char*, unsigned);
  int (*capability)(Device, int*, int*);
  int (*attributes)(Device, Attributes*);
  int (*pciInfo)(Device, PciInfo*);
  int (*migMode)(Device, unsigned*, unsigned*);
  int (*migCount)(Device, unsigned*);
  int (*migHandle)(Device, unsigned, Device*);
  int (*utilization)(Device, Utilization*);
  int (*memory)(Device, Memory*);
  int (*memoryV2)(Device, MemoryV2*);
  int (*power)(Device, unsigned*);
  int (*energy)(Device, unsigned long long*);
  int (*clock)(Device, int, unsigned*);
  int (*maxClock)(Device, int, unsigned*);
  int (*temperature)(Device, int, unsigned*);
  int (*clockReasons)(Device, unsigned long long*);
  int (*fields)(Device, int, FieldValue*);
  int (*processes)(Device, unsigned*, void*);
  int (*mpsProcesses)(Device, unsigned*, void*);
  int (*processSamples)(Device, ProcessSample*, unsigned*, unsigned long long);
  int (*gpmSupport)(Device, GpmSupport*);
  int (*gpmAlloc)(GpmSample*);
  int (*gpmFree)(GpmSample);
  int (*gpmSample)(Device, GpmSample);
  int (*gpmMetrics)(GpmMetrics*);
};

// Loads the library, calls nothing of it. `library`: a path, or a name for the dynamic linker.
// Never unloaded: a call that hangs may still be inside it. The Error says what is missing.
[[nodiscard]] Result<Api> load(const std::string& library);

// Where it is where the dynamic linker does not know: beside NixOS's and WSL's drivers.
inline constexpr const char* kLibraries[] = {"libnvidia-ml.so.1",
                                             "/run/opengl-driver/lib/libnvidia-ml.so.1",
                                             "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
// Names another library, and skips the search for a device file.
inline constexpr const char* kLibraryVariable = "STALLPROF_NVML_LIBRARY";

}  // namespace stallprof::nvml
