// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace stallprof {

// Memory that processes of the job share with the recorder, and its first `mapped` bytes here.
struct SealedMemory {
  Fd fd;
  void* begin = nullptr;
};

template <class T>
T loadShared(const T& shared) {
  return __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
}
template <class T>
void storeShared(T& shared, T value) {
  __atomic_store_n(&shared, value, __ATOMIC_RELEASE);
}

// Sealed in size: a job that truncates it cannot make the recorder fault. `name` is the file's,
// "stallprof-events"; `what` says in errors which memory it is.
inline Result<SealedMemory> makeSealedMemory(const char* name, const std::string& what,
                                             std::size_t bytes, std::size_t mapped) {
  SealedMemory memory{Fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING))};
  const int fd = memory.fd.get();
  if (!memory.fd.valid()) return ioError("making " + what, errno);
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return ioError("sizing " + what, errno);
  memory.begin = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory.begin == MAP_FAILED) return ioError("mapping " + what, errno);
  return memory;
}

}  // namespace stallprof
