// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <stdexcept>
#include <string>

#include "base/fd.h"

namespace stallprof::testing {

// A memory of the recorder's, by its path, as a process of the job maps it.
inline void* mapShared(const std::string& path, std::size_t bytes) {
  const Fd fd = openAt(AT_FDCWD, path.c_str(), O_RDWR);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) throw std::runtime_error("mapping " + path);
  return memory;
}

}  // namespace stallprof::testing
