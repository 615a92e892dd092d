// SPDX-License-Identifier: MIT
#include "agent/cupti/cupti_path.h"

#include <dirent.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

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

}  // namespace

void inspectMapped(MappedCuda& found) {
  found = {};
  dl_iterate_phdr(check, &found);
}

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

}  // namespace stallprof::agent
