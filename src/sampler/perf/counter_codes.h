// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stallprof {

// How the kernel is asked to count one of a CPU's events.
struct CounterCode {
  std::string name;  // ours: CounterUsage::name
  std::uint32_t type = 0;
  std::uint64_t config = 0, config1 = 0, config2 = 0;
};

// Cycles, instructions, last-level misses, stalled cycles and floating point operations, as far as
// libpfm4 knows them for this CPU, or for the one that LIBPFM_FORCE_PMU names ("skl"). Whether the
// kernel counts them here only it can say.
[[nodiscard]] std::vector<CounterCode> counterCodes();

}  // namespace stallprof
