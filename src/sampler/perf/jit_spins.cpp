// SPDX-License-Identifier: MIT
#include "sampler/perf/jit_spins.h"

#include <array>
#include <string_view>

#include "machine_code/spin_code.h"
#include "sampler/python/runtime/remote_memory.h"

namespace stallprof {

bool JitSpins::at(std::uint32_t pid, std::uint64_t address) {
  if (address < kSpinNear) return false;
  if (known_.size() >= kMaxPlaces) known_.clear();
  const auto [place, isNew] = known_.try_emplace({pid, address}, false);
  if (!isNew) return place->second;
  std::array<char, 2 * kSpinNear> code{};
  python::ProcessMemory memory(pid);
  if (!memory.readBytes(address - kSpinNear, code.data(), code.size())) return false;
  place->second = waitsInSpinLoop({code.data(), code.size()}, kSpinNear);
  return place->second;
}

}  // namespace stallprof
