// SPDX-License-Identifier: MIT
#include "sampler/nvml/nvml_api.h"

#include <dlfcn.h>

namespace stallprof::nvml {
namespace {

template <class F>
bool find(void* library, F& function, const char* name) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

template <class F>
void findNewest(void* library, F& function, const char* newest, const char* older) {
  if (!find(library, function, newest)) (void)find(library, function, older);
}

void findReadings(void* library, Api& api) {
  find(library, api.utilization, "nvmlDeviceGetUtilizationRates");
  find(library, api.memory, "nvmlDeviceGetMemoryInfo");
  find(library, api.memoryV2, "nvmlDeviceGetMemoryInfo_v2");
  find(library, api.power, "nvmlDeviceGetPowerUsage");
  find(library, api.energy, "nvmlDeviceGetTotalEnergyConsumption");
  find(library, api.clock, "nvmlDeviceGetClockInfo");
  find(library, api.maxClock, "nvmlDeviceGetMaxClockInfo");
  find(library, api.temperature, "nvmlDeviceGetTemperature");
  findNewest(library, api.clockReasons, "nvmlDeviceGetCurrentClocksEventReasons",
             "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(library, api.fields, "nvmlDeviceGetFieldValues");
  findNewest(library, api.processes, "nvmlDeviceGetComputeRunningProcesses_v3",
             "nvmlDeviceGetComputeRunningProcesses_v2");
  findNewest(library, api.mpsProcesses, "nvmlDeviceGetMPSComputeRunningProcesses_v3",
             "nvmlDeviceGetMPSComputeRunningProcesses_v2");
  find(library, api.processSamples, "nvmlDeviceGetProcessUtilization");
}

void findGpm(void* library, Api& api) {
  const bool all = find(library, api.gpmSupport, "nvmlGpmQueryDeviceSupport") &&
                   find(library, api.gpmAlloc, "nvmlGpmSampleAlloc") &&
                   find(library, api.gpmFree, "nvmlGpmSampleFree") &&
                   find(library, api.gpmSample, "nvmlGpmSampleGet") &&
                   find(library, api.gpmMetrics, "nvmlGpmMetricsGet");
  if (!all) api.gpmSupport = nullptr;
}

}  // namespace

std::string meaning(int code) {
  switch (code) {
    case kUninitialized:
      return "the library lost its connection to the driver";
    case kNotSupported:
      return "this device does not say";
    case kNoPermission:
      return "no permission: the container or the administrator keeps the device from us";
    case kDriverNotLoaded:
      return "the NVIDIA driver is not loaded, or its device files are not in this container";
    case kTimeout:
      return "the driver did not answer in time";
    case kFunctionNotFound:
      return "the driver is too old for it";
    case kGpuIsLost:
      return "the GPU is lost: it fell off the bus";
    case kResetRequired:
      return "the GPU needs a reset";
    case kOperatingSystem:
      return "the system refuses the GPU's device files (a cgroup or seccomp rule)";
    case kVersionMismatch:
      return "the driver and libnvidia-ml are of different versions: reload the driver, or "
             "restart the container";
    default:
      return "NVML error " + std::to_string(code);
  }
}

double numberOf(ValueType type, Value value) {
  switch (type) {
    case ValueType::kDouble:
      return value.real;
    case ValueType::kUnsignedInt:
      return value.unsignedInt;
    case ValueType::kUnsignedLong:
    case ValueType::kUnsignedLongLong:
      return static_cast<double>(value.unsignedLong);
    case ValueType::kSignedLongLong:
      return static_cast<double>(value.signedLong);
    case ValueType::kSignedInt:
      return value.signedInt;
    case ValueType::kUnsignedShort:
      return value.unsignedShort;
  }
  return -1;
}

Result<Api> load(const std::string& name) {
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return Error{Error::Kind::kUnsupported, why == nullptr ? name + " cannot be loaded" : why};
  }
  Api api{};
  const bool usable = find(library, api.init, "nvmlInit_v2") &&
                      find(library, api.count, "nvmlDeviceGetCount_v2") &&
                      find(library, api.handleByIndex, "nvmlDeviceGetHandleByIndex_v2") &&
                      find(library, api.uuid, "nvmlDeviceGetUUID");
  if (!usable) return Error{Error::Kind::kUnsupported, name + " is too old: it has no nvmlInit_v2"};
  find(library, api.driverVersion, "nvmlSystemGetDriverVersion");
  find(library, api.name, "nvmlDeviceGetName");
  find(library, api.capability, "nvmlDeviceGetCudaComputeCapability");
  find(library, api.attributes, "nvmlDeviceGetAttributes_v2");
  find(library, api.pciInfo, "nvmlDeviceGetPciInfo_v3");
  find(library, api.migMode, "nvmlDeviceGetMigMode");
  find(library, api.migCount, "nvmlDeviceGetMaxMigDeviceCount");
  find(library, api.migHandle, "nvmlDeviceGetMigDeviceHandleByIndex");
  findReadings(library, api);
  findGpm(library, api);
  return api;
}

}  // namespace stallprof::nvml
