// SPDX-License-Identifier: MIT
#pragma once

#include <malloc.h>

#include <cstddef>

// Of the sanitizers that bring a malloc of their own; null without them.
extern "C" [[gnu::weak]] std::size_t __sanitizer_get_current_allocated_bytes();

namespace stallprof {

// What this process has taken from malloc and not freed.
inline std::size_t heapBytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr)
    return __sanitizer_get_current_allocated_bytes();
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace stallprof
