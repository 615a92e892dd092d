// SPDX-License-Identifier: MIT
#include "agent/cupti/libcupti.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

#include "agent/process/old_glibc.h"
#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

template <class F>
bool resolve(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

void findDriver(Cupti& cupti) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return;
  resolve(driver, "cuCtxSynchronize", cupti.driverSynchronize);
  if (resolve(driver, "cuDriverGetVersion", cupti.driverGetVersion) &&
      cupti.driverGetVersion(&cupti.driverVersion) != 0)
    cupti.driverVersion = 0;
}

constexpr std::size_t kPathBytes = 512;

// The files of this process that say where its CUDA comes from; empty: not mapped.
struct MappedCuda {
  char cupti[kPathBytes];     // libcupti itself
  char cuda[kPathBytes];      // libcudart, or another library of the toolkit
  char packages[kPathBytes];  // ".../site-packages", of anything mapped from one
  int major;                  // of libcudart's name; 0: not mapped
};

const char* baseName(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

bool beginsWith(const char* text, const char* with) {
  return strncmp(text, with, strlen(with)) == 0;
}

void keep(char (&to)[kPathBytes], const char* path) {
  if (to[0] == 0 && strlen(path) < kPathBytes) textIn(to) << path;
}

void keepPackages(MappedCuda& found, const char* path) {
  for (const char* folder : {"/site-packages/", "/dist-packages/"}) {
    const char* in = strstr(path, folder);
    const auto length =
        in != nullptr ? static_cast<std::size_t>(in - path) + strlen(folder) - 1 : 0;
    if (found.packages[0] != 0 || in == nullptr || length >= kPathBytes) continue;
    memcpy(found.packages, path, length);
    found.packages[length] = 0;
  }
}

// Under the loader's lock: only copies.
int check(dl_phdr_info* info, std::size_t, void* to) {
  auto& found = *static_cast<MappedCuda*>(to);
  if (info->dlpi_name == nullptr || info->dlpi_name[0] != '/') return 0;
  const char* name = baseName(info->dlpi_name);
  if (beginsWith(name, "libcupti.so")) keep(found.cupti, info->dlpi_name);
  if (beginsWith(name, "libcudart")) {
    found.cuda[0] = 0;  // better than any other
    keep(found.cuda, info->dlpi_name);
    if (const char* so = strstr(name, ".so."); so != nullptr) found.major = atoi(so + 4);
  } else if (beginsWith(name, "libcublas.so") || beginsWith(name, "libnvrtc.so")) {
    keep(found.cuda, info->dlpi_name);
  }
  keepPackages(found, info->dlpi_name);
  return 0;
}

// The name of the library in `folder`: "libcupti.so.12"; CUDA 11's has its minor version in it.
void inFolder(char (&path)[kPathBytes], const char* folder, const char* below, int major) {
  Text text = textIn(path);
  text << folder << below << "/libcupti.so." << major;
  if (major != 11 || access(path, R_OK) == 0) return;
  textIn(path) << folder << below;
  DIR* dir = opendir(path);
  path[0] = 0;
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir))
    if (beginsWith(entry->d_name, "libcupti.so.11.") && path[0] == 0)
      textIn(path) << folder << below << "/" << entry->d_name;
  closedir(dir);
}

void besideLibrary(char (&path)[kPathBytes], const char* library, const char* below, int major) {
  path[0] = 0;
  if (library[0] == 0) return;
  char folder[kPathBytes];
  textIn(folder) << library;
  *strrchr(folder, '/') = 0;
  inFolder(path, folder, below, major);
}

void inVariable(char (&path)[kPathBytes], const char* variable, const char* below, int major) {
  const char* value = getenv(variable);
  path[0] = 0;
  if (value != nullptr && value[0] == '/') inFolder(path, value, below, major);
}

void inPackages(char (&path)[kPathBytes], const MappedCuda& mapped, int major) {
  const char* below = major >= 13 ? "/nvidia/cu13/lib" : "/nvidia/cuda_cupti/lib";
  path[0] = 0;
  if (mapped.packages[0] != 0) inFolder(path, mapped.packages, below, major);
}

struct Place {
  enum class Of : std::uint8_t { kMappedCuda, kPackages, kVariable, kFolder } of;
  const char* name;   // the variable's, or the folder's
  const char* below;  // the folder named so
};
constexpr Place kPlaces[] = {
    {Place::Of::kMappedCuda, "", ""},
    // the wheels of CUDA 11 and 12: a folder a library; 13: one for all
    {Place::Of::kMappedCuda, "", "/../../cuda_cupti/lib"},
    {Place::Of::kMappedCuda, "", "/../extras/CUPTI/lib64"},
    {Place::Of::kPackages, "", ""},
    {Place::Of::kVariable, "CONDA_PREFIX", "/lib"},
    {Place::Of::kVariable, "CUDA_HOME", "/extras/CUPTI/lib64"},
    {Place::Of::kVariable, "CUDA_HOME", "/lib64"},
    {Place::Of::kVariable, "CUDA_PATH", "/lib64"},
    {Place::Of::kFolder, "/usr/local/cuda", "/extras/CUPTI/lib64"},
    {Place::Of::kFolder, "/usr/local/cuda", "/lib64"},
};
constexpr int kPlaceCount = sizeof kPlaces / sizeof kPlaces[0];

void inspectMapped(MappedCuda& found) {
  found = {};
  dl_iterate_phdr(check, &found);
}

// Writes candidate number `i` (0 and up) of where the CUPTI of CUDA `major` may be, to be tried in
// order; false: no more. May leave `path` empty: nothing there, go on.
bool cuptiCandidate(const MappedCuda& mapped, int major, int i, char (&path)[kPathBytes]) {
  if (i > kPlaceCount) return false;
  if (i == kPlaceCount) {  // the loader's own search
    textIn(path) << "libcupti.so." << major;
    return true;
  }
  const Place& place = kPlaces[i];
  if (place.of == Place::Of::kMappedCuda) besideLibrary(path, mapped.cuda, place.below, major);
  if (place.of == Place::Of::kPackages) inPackages(path, mapped, major);
  if (place.of == Place::Of::kVariable) inVariable(path, place.name, place.below, major);
  if (place.of == Place::Of::kFolder) inFolder(path, place.name, place.below, major);
  return true;
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
  findDriver(cupti);
  void* library = openCupti(cupti.driverVersion);
  if (library == nullptr)
    return "no libcupti of this CUDA found (with pip: nvidia-cuda-cupti, of the same version)";
  if (!resolveAll(library, cupti)) return "this libcupti lacks functions that are needed";
  if (cupti.getVersion(&cupti.version) != kCuptiSuccess) return "cuptiGetVersion failed";
  if (cupti.version >= cupti::k12_6) resolve(library, "cuptiFinalize", cupti.finalize);
  if (cupti.version < cupti::k11_8) return "CUPTI before 11.8 is not supported";
  // Its flush crashes, and disabling kernels can deadlock; fixed in 13.0 update 1.
  if (cupti.version == cupti::k13_0) return "CUPTI 13.0.0 crashes when flushed; update 1 does not";
  if (cupti.version >= cupti::k14) return "CUPTI after 13 is not known to this stallprof";
  return nullptr;
}

}  // namespace stallprof::agent
