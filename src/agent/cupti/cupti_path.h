// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace stallprof::agent {

inline constexpr std::size_t kPathBytes = 512;

// The files of this process that say where its CUDA comes from; empty: not mapped.
struct MappedCuda {
  char cupti[kPathBytes];     // libcupti itself
  char cuda[kPathBytes];      // libcudart, or another library of the toolkit
  char packages[kPathBytes];  // ".../site-packages", of anything mapped from one
  int major;                  // of libcudart's name; 0: not mapped
};
void inspectMapped(MappedCuda& found);

// Writes candidate number `i` (0 and up) of where the CUPTI of CUDA `major` may be, to be tried in
// order; false: no more. May leave `path` empty: nothing there, go on.
bool cuptiCandidate(const MappedCuda& mapped, int major, int i, char (&path)[kPathBytes]);

}  // namespace stallprof::agent
