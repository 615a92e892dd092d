// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "recording/memory/activity_memory.h"

namespace stallprof::agent {

// Numbers for kernels' names: the first time a name is seen it goes to the area's name log. Called
// from completion callbacks, on any number of threads. A pointer is taken at its word within one
// buffer and read again in the next: a module loaded later may have its names where another's were.
class Names {
 public:
  // To be called once per buffer; numberOf() takes its answer.
  std::uint32_t nextBuffer();
  std::uint32_t numberOf(stallprof_activity_area& area, std::uint64_t pointer,
                         std::uint32_t buffer);

 private:
  struct Entry {  // 0: none; a pointer once set stays
    std::uint64_t pointer, hash;
    std::uint32_t number, buffer;
  };
  Entry* find(std::uint64_t pointer);
  std::uint32_t learn(stallprof_activity_area& area, Entry& entry, std::uint64_t pointer,
                      std::uint32_t buffer);

  static constexpr std::uint32_t kEntries = 1u << 14;  // of names of 64 bytes the log holds as many
  Entry entries_[kEntries];
  std::uint32_t buffers_, lock_, used_, numbers_;
};

}  // namespace stallprof::agent
