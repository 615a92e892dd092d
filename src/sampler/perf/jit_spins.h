// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace stallprof {

// Code made at run time that waits in a loop without giving up its CPU: oneDNN writes the barriers
// of its thread pools into its kernels, where no symbol distinguishes them from the work. Found by
// the process's memory around a sampled instruction (machine_code/spin_code.h); false where that
// cannot be read, as within kSpinNear of a mapping's ends.
class JitSpins {
 public:
  static constexpr std::size_t kMaxPlaces = 4096;

  [[nodiscard]] bool at(std::uint32_t pid, std::uint64_t address);
  // Code may be replaced at an address: what is known is of the time since.
  void forget() { known_.clear(); }

 private:
  std::map<std::pair<std::uint32_t, std::uint64_t>, bool> known_;  // by pid and address
};

}  // namespace stallprof
