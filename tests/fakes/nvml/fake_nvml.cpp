// SPDX-License-Identifier: MIT
// A libnvidia-ml.so.1 that does what a script says (script.h), for tests on machines without a GPU.
// The script is read again at every call, so a test can change what a device does while it is
// watched. With FAKE_NVML_OLD it exports what a driver of 2018 (R396) had.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>

#include "script.h"

namespace {

using fake::Process;
using fake::Script;
using fake::Unit;

// Never destroyed: a thread of the tested may still hang in here when its program ends.
std::mutex& mutex = *new std::mutex;
Script& script = *new Script;
bool initialized = false;

constexpr int kUninitialized = 1, kInvalid = 2, kNotSupported = 3, kTooSmall = 7;
[[maybe_unused]] constexpr int kNotFound = 6;  // in the old library: nothing asks

void hang(const Unit& unit, const char* function) {
  const auto found = unit.hangs.find(function);
  if (found == unit.hangs.end()) return;
  const auto microseconds = static_cast<useconds_t>(found->second * 1e6);
  mutex.unlock();  // others may call, and find another script
  ::usleep(microseconds);
  mutex.lock();
}

// Handles are 1-based positions in the script.
Unit* unitOf(void* handle) {
  const auto index = reinterpret_cast<std::uintptr_t>(handle);
  return index >= 1 && index <= script.units.size() ? &script.units[index - 1] : nullptr;
}
[[maybe_unused]] void* handleOf(const std::string& uuid) {
  for (std::size_t i = 0; i < script.units.size(); ++i)
    if (script.units[i].uuid == uuid) return reinterpret_cast<void*>(i + 1);
  return nullptr;
}

// What every call does first; 0: go on.
int enter(const char* function) {
  script = fake::readScript();
  hang(script.all, function);
  const auto code = script.all.codes.find(function);
  if (code != script.all.codes.end()) return code->second;
  return initialized || std::strcmp(function, "nvmlInit_v2") == 0 ? 0 : kUninitialized;
}
int enter(const char* function, void* device) {
  if (const int code = enter(function); code != 0) return code;
  Unit* unit = unitOf(device);
  if (unit == nullptr) return kInvalid;
  hang(*unit, function);
  const auto code = unit->codes.find(function);
  if (code != unit->codes.end()) return code->second;
  const auto lost = unit->codes.find("*");
  return lost == unit->codes.end() ? 0 : lost->second;
}

double valueOf(void* device, const char* key) {
  const auto& values = unitOf(device)->values;
  const auto found = values.find(key);
  return found == values.end() ? -1 : found->second;
}

template <class T>
int give(const char* function, void* device, const char* key, T* out) {
  const std::lock_guard lock(mutex);
  if (const int code = enter(function, device); code != 0) return code;
  const double value = valueOf(device, key);
  if (value < 0) return kNotSupported;
  *out = static_cast<T>(value);
  return 0;
}

int copyText(const std::string& text, char* out, unsigned length) {
  if (text.size() + 1 > length) return kTooSmall;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return 0;
}

[[maybe_unused]] unsigned long long microseconds() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<unsigned long long>(t.tv_sec) * 1'000'000 +
         static_cast<unsigned long long>(t.tv_nsec) / 1000;
}

struct Info {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpuInstance, computeInstance;
};
[[maybe_unused]] int list(const char* function, void* device, unsigned* count, Info* out) {
  const std::lock_guard lock(mutex);
  if (const int code = enter(function, device); code != 0) return code;
  const auto& processes = unitOf(device)->processes;
  const unsigned room = *count;
  *count = static_cast<unsigned>(processes.size());
  if (room < processes.size()) return kTooSmall;
  // R535 had one more word to each.
  const std::size_t stride = script.driver.rfind("535.54", 0) == 0 ? 32 : sizeof(Info);
  for (unsigned i = 0; i < *count; ++i) {
    const Info info{processes[i].pid, processes[i].bytes, ~0u, ~0u};
    std::memcpy(reinterpret_cast<char*>(out) + i * stride, &info, sizeof info);
  }
  return 0;
}

struct Rates {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, deviceId, subsystemId;
  char address[32];
};
struct Value {
  unsigned long long bits;
};
struct Field {
  unsigned id, scope;
  long long at, latency;
  int type, code;
  Value value;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const std::lock_guard lock(mutex);
  const int code = enter("nvmlInit_v2");
  initialized = code == 0;
  return code;
}
int nvmlSystemGetDriverVersion(char* out, unsigned length) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlSystemGetDriverVersion"); code != 0) return code;
  return copyText(script.driver, out, length);
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetCount_v2"); code != 0) return code;
  *count = 0;
  for (const Unit& unit : script.units) *count += !unit.instance;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetHandleByIndex_v2"); code != 0) return code;
  for (std::size_t i = 0; i < script.units.size(); ++i) {
    if (script.units[i].instance || index-- != 0) continue;
    *out = reinterpret_cast<void*>(i + 1);
    const auto code = script.units[i].codes.find("nvmlDeviceGetHandleByIndex_v2");
    return code == script.units[i].codes.end() ? 0 : code->second;
  }
  return kInvalid;
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned length) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetUUID", device); code != 0) return code;
  return copyText(unitOf(device)->uuid, out, length);
}
int nvmlDeviceGetName(void* device, char* out, unsigned length) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetName", device); code != 0) return code;
  return copyText(unitOf(device)->name, out, length);
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetCudaComputeCapability", device); code != 0) return code;
  *major = 9;
  *minor = 0;
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* out) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetPciInfo_v3", device); code != 0) return code;
  if (valueOf(device, "pci_bus") < 0) return kNotSupported;
  *out = PciInfo{};
  out->bus = static_cast<unsigned>(valueOf(device, "pci_bus"));
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* out) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetMemoryInfo", device); code != 0) return code;
  out->total = static_cast<unsigned long long>(valueOf(device, "total"));
  out->used = static_cast<unsigned long long>(valueOf(device, "used"));
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, Rates* out) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetUtilizationRates", device); code != 0) return code;
  if (valueOf(device, "gpu") < 0) return kNotSupported;
  *out = {static_cast<unsigned>(valueOf(device, "gpu")),
          static_cast<unsigned>(valueOf(device, "memory"))};
  return 0;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* out) {
  return give("nvmlDeviceGetPowerUsage", device, "power", out);
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* out) {
  return give("nvmlDeviceGetTotalEnergyConsumption", device, "energy", out);
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* out) {
  return give("nvmlDeviceGetClockInfo", device, type == 2 ? "memory_clock" : "clock", out);
}
int nvmlDeviceGetMaxClockInfo(void* device, int, unsigned* out) {
  return give("nvmlDeviceGetMaxClockInfo", device, "max_clock", out);
}
int nvmlDeviceGetTemperature(void* device, int, unsigned* out) {
  return give("nvmlDeviceGetTemperature", device, "celsius", out);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* out) {
  return give("nvmlDeviceGetCurrentClocksThrottleReasons", device, "reasons", out);
}

#ifndef FAKE_NVML_OLD
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* out) {
  return give("nvmlDeviceGetCurrentClocksEventReasons", device, "reasons", out);
}
int nvmlDeviceGetMemoryInfo_v2(void* device, MemoryV2* out) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetMemoryInfo_v2", device); code != 0) return code;
  if (out->version != 0x02000028) return 25;  // ARGUMENT_VERSION_MISMATCH
  out->total = static_cast<unsigned long long>(valueOf(device, "total"));
  out->used = static_cast<unsigned long long>(valueOf(device, "used"));
  return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetMigMode", device); code != 0) return code;
  *current = *pending = unitOf(device)->instances.empty() ? 0 : 1;
  return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* count) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetMaxMigDeviceCount", device); code != 0) return code;
  *count = 7;
  return 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** out) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetMigDeviceHandleByIndex", device); code != 0) return code;
  if (index >= unitOf(device)->instances.size()) return kNotFound;
  *out = handleOf(unitOf(device)->instances[index]);
  return 0;
}
int nvmlDeviceGetFieldValues(void* device, int count, Field* fields) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetFieldValues", device); code != 0) return code;
  const auto& known = unitOf(device)->fields;
  for (int i = 0; i < count; ++i) {
    const auto found = known.find(fields[i].id);
    fields[i].code = found == known.end() ? kNotSupported : 0;
    if (found == known.end()) continue;
    fields[i].type = 3;
    fields[i].value.bits = static_cast<unsigned long long>(found->second);
  }
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Info* out) {
  return list("nvmlDeviceGetComputeRunningProcesses_v3", device, count, out);
}
struct Share {
  unsigned pid;
  unsigned long long at;
  unsigned sm, memory, encoder, decoder;
};
int nvmlDeviceGetProcessUtilization(void* device, Share* out, unsigned* count,
                                    unsigned long long seen) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlDeviceGetProcessUtilization", device); code != 0) return code;
  unsigned n = 0;
  for (const Process& process : unitOf(device)->processes) {
    if (process.percent < 0 || n == *count || microseconds() <= seen) continue;
    out[n] = {};
    out[n].pid = process.pid;
    out[n].at = microseconds();
    out[n++].sm = static_cast<unsigned>(process.percent);
  }
  *count = n;
  return n == 0 ? kNotFound : 0;
}

struct Support {
  unsigned version, supported;
};
int nvmlGpmQueryDeviceSupport(void* device, Support* out) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlGpmQueryDeviceSupport", device); code != 0) return code;
  out->supported = !unitOf(device)->gpm.empty();
  return 0;
}
int nvmlGpmSampleAlloc(void** out) {
  *out = std::malloc(64);
  return 0;
}
int nvmlGpmSampleFree(void* sample) {
  std::free(sample);
  return 0;
}
int nvmlGpmSampleGet(void* device, void* sample) {
  const std::lock_guard lock(mutex);
  if (const int code = enter("nvmlGpmSampleGet", device); code != 0) return code;
  std::memcpy(sample, &device, sizeof device);
  return 0;
}
struct Metric {
  unsigned id;
  int code;
  double value;
  char *shortName, *longName, *unit;
};
struct Metrics {
  unsigned version, count;
  void *first, *second;
  Metric metrics[98];  // as in nvml.h of CUDA 12
};
int nvmlGpmMetricsGet(Metrics* metrics) {
  const std::lock_guard lock(mutex);
  void* device = nullptr;
  std::memcpy(&device, metrics->second, sizeof device);
  if (const int code = enter("nvmlGpmMetricsGet", device); code != 0) return code;
  if (metrics->version != 1) return 25;
  for (unsigned i = 0; i < metrics->count; ++i) {
    const auto found = unitOf(device)->gpm.find(metrics->metrics[i].id);
    metrics->metrics[i].code = found == unitOf(device)->gpm.end() ? kNotSupported : 0;
    if (found != unitOf(device)->gpm.end()) metrics->metrics[i].value = found->second;
  }
  return 0;
}
#endif

}  // extern "C"
