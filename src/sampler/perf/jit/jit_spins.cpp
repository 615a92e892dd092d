// SPDX-License-Identifier: MIT
#include "sampler/perf/jit/jit_spins.h"

#include <array>

#include "machine_code/code_patterns.h"

namespace stallprof {

bool JitSpins::at(std::uint32_t pid, std::uint64_t address) {
  if (address < kSpinNear) return false;
  Process& process = processes_.try_emplace(pid, pid).first->second;
  if (const auto known = process.waits.find(address); known != process.waits.end())
    return known->second;
  if (places_ >= kMaxPlaces || process.memory.refused() != 0) return false;
  ++places_;
  std::array<char, 2 * kSpinNear> code{};
  return process.waits[address] =
             process.memory.readBytes(address - kSpinNear, code.data(), code.size()) &&
             waitsInSpinLoop({code.data(), code.size()}, kSpinNear);
}

void JitSpins::forget() {
  processes_.clear();
  places_ = 0;
}

}  // namespace stallprof
