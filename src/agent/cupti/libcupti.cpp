// SPDX-License-Identifier: MIT
#include "agent/cupti/libcupti.h"

#include <dlfcn.h>
#include <unistd.h>

#include "agent/cupti/cupti_path.h"
#include "agent/process/old_glibc.h"
#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

template <class F>
bool resolve(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

int driverVersion() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  DriverGetVersion get = nullptr;
  int version = 0;
  if (driver != nullptr && resolve(driver, "cuDriverGetVersion", get) && get(&version) != 0)
    version = 0;
  return version;
}

void* openCandidate(const MappedCuda& mapped, int major) {
  char path[kPathBytes];
  for (int i = 0; cuptiCandidate(mapped, major, i, path); ++i) {
    if (path[0] == 0 || (path[0] == '/' && access(path, R_OK) != 0)) continue;
    if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

void* openCupti(int driver) {
  static MappedCuda mapped;
  inspectMapped(mapped);
  // Two of them in one process fight over the driver: the one that is there is the one.
  if (mapped.cupti[0] != 0) return dlopen(mapped.cupti, RTLD_NOW | RTLD_NOLOAD);
  return openCandidate(mapped, mapped.major != 0 ? mapped.major : driver / 1000);
}

bool resolveAll(void* library, Cupti& c) {
  resolve(library, "cuptiSubscribe_v2", c.subscribeV2);
  resolve(library, "cuptiSetThreadIdType", c.setThreadIdType);
  resolve(library, "cuptiActivityEnableRuntimeApi", c.enableRuntimeApi);
  resolve(library, "cuptiActivityEnableDriverApi", c.enableDriverApi);
  resolve(library, "cuptiActivityEnableAllSyncRecords", c.enableAllSyncRecords);
  return resolve(library, "cuptiGetVersion", c.getVersion) &&
         resolve(library, "cuptiSubscribe", c.subscribe) &&
         resolve(library, "cuptiUnsubscribe", c.unsubscribe) &&
         resolve(library, "cuptiEnableCallback", c.enableCallback) &&
         resolve(library, "cuptiActivityRegisterCallbacks", c.registerCallbacks) &&
         resolve(library, "cuptiActivityEnable", c.enable) &&
         resolve(library, "cuptiActivityDisable", c.disable) &&
         resolve(library, "cuptiActivityFlushAll", c.flushAll) &&
         resolve(library, "cuptiActivityGetNextRecord", c.nextRecord) &&
         resolve(library, "cuptiActivityGetNumDroppedRecords", c.droppedRecords) &&
         resolve(library, "cuptiActivitySetAttribute", c.setAttribute) &&
         resolve(library, "cuptiGetTimestamp", c.timestamp);
}

}  // namespace

const char* findCupti(Cupti& cupti) {
  cupti.driverVersion = driverVersion();
  void* library = openCupti(cupti.driverVersion);
  if (library == nullptr)
    return "no libcupti of this CUDA found (with pip: nvidia-cuda-cupti, of the same version)";
  if (!resolveAll(library, cupti)) return "this libcupti lacks functions that are needed";
  if (cupti.getVersion(&cupti.version) != kCuptiSuccess) return "cuptiGetVersion failed";
  if (cupti.version < cupti::k11_8) return "CUPTI before 11.8 is not supported";
  // Its flush crashes, and disabling kernels can deadlock; fixed in 13.0 update 1.
  if (cupti.version == cupti::k13_0) return "CUPTI 13.0.0 crashes when flushed; update 1 does not";
  if (cupti.version >= cupti::k14) return "CUPTI after 13 is not known to this stallprof";
  return nullptr;
}

}  // namespace stallprof::agent
