// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "sampler/python/runtime/remote_memory.h"

namespace stallprof {

// Code made at run time that waits in a loop without giving up its CPU: oneDNN writes the barriers
// of its thread pools into its kernels, where no symbol distinguishes them from the work. Found by
// the process's memory around a sampled instruction (machine_code/code_patterns.h); false where
// that cannot be read, as within kSpinNear of a mapping's ends.
class JitSpins {
 public:
  // Read between two calls of forget(), 2 us each: a thread that waits is sampled in few places.
  // Past it no other is asked.
  static constexpr std::size_t kMaxPlaces = 200;

  [[nodiscard]] bool at(std::uint32_t pid, std::uint64_t address);
  // Code may be replaced at an address, and a number be another process's: what is known is of the
  // time since.
  void forget();

 private:
  struct Process {
    explicit Process(std::uint32_t pid) : memory(pid) {}
    python::ProcessMemory memory;
    std::map<std::uint64_t, bool> waits;  // by address
  };
  std::map<std::uint32_t, Process> processes_;
  std::size_t places_ = 0;
};

}  // namespace stallprof
