// SPDX-License-Identifier: MIT
#pragma once

namespace stallprof {

// glibc's allocator, set to keep what is freed. Memory above trim_threshold goes back to the
// system where it is at the heap's end; what is larger than mmap_threshold is mapped and unmapped
// each time. Both are 128 kB at the start of a process and grow with what it frees, to twice and
// once its size; 32 MB is the most that the second may be (mallopt(3)).
inline constexpr char kMallocVariable[] = "GLIBC_TUNABLES";
inline constexpr char kMallocKeeps[] =
    "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=268435456";

}  // namespace stallprof
