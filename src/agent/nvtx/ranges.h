// SPDX-License-Identifier: MIT
#pragma once

#include "agent/nvtx/nvtx_names.h"

namespace stallprof::agent {

// Ranges of the program, from their begin to their end; then they are events (Range, and PhaseSpan
// for one that is named as a phase). Any thread.

struct RangeBegin {
  std::uint64_t at;
  std::uint32_t tid, category, depth;
  std::uint32_t generation;  // forkGeneration(), of started ranges
  std::int64_t bytes;        // -1: not said
  const NvtxDomain* domain;
  char name[kRangeNameBytes];
};

// A range of the calling thread; nested. Returns its depth in its domain, as NVTX wants it.
int pushRange(const RangeBegin& begin);
int popRange(const NvtxDomain* domain);

// A range that any thread may end. 0: not kept.
std::uint64_t startRange(const RangeBegin& begin);
void endRange(std::uint64_t id);

void mark(const RangeBegin& begin);

}  // namespace stallprof::agent
