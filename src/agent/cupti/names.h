// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "recording/memory/activity_memory.h"

namespace stallprof::agent {

// Numbers for the names of kernels and devices: the first time a text is seen it goes to the area's
// name log. Called from completion callbacks, on any number of threads. A pointer is taken at its
// word within one buffer and read again in the next: a module loaded later may have its names where
// another's were.
class Names {
 public:
  // To be called once per buffer; numberOf() takes its answer.
  std::uint32_t nextBuffer();
  std::uint32_t numberOf(stallprof_activity_area& area, std::uint64_t pointer,
                         std::uint32_t buffer);
  // CUPTI has left the process, and its pointers are no names any more. No buffer is being
  // returned.
  void forgetPointers(stallprof_activity_area& area);

 private:
  struct Entry {  // 0: none; a pointer once set stays until all are forgotten
    std::uint64_t pointer, hash;
    std::uint32_t number, buffer;
  };
  struct Known {  // a text of the log; number 0: none
    std::uint64_t hash;
    std::uint32_t number;
  };
  Entry* find(std::uint64_t pointer);
  Known& findText(std::uint64_t hash);
  std::uint32_t learn(stallprof_activity_area& area, Entry& entry, std::uint64_t pointer,
                      std::uint32_t buffer);
  std::uint32_t numberOfText(stallprof_activity_area& area, std::uint64_t pointer,
                             std::uint64_t hash, std::uint32_t length);

  static constexpr std::uint32_t kEntries = 1u << 14;  // of names of 64 bytes the log holds as many
  static constexpr std::uint32_t kMaxUsed = kEntries * 3 / 4;  // a fuller table is slow
  Entry entries_[kEntries];
  Known texts_[kEntries];
  std::uint32_t buffers_, lock_, used_, numbers_;
};

}  // namespace stallprof::agent
