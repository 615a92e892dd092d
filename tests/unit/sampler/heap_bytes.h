// SPDX-License-Identifier: MIT
#pragma once

#include <malloc.h>

#include <cstddef>

namespace stallprof {

// What this process has taken from malloc and not freed; nothing that counts under a sanitizer, as
// those bring a malloc of their own.
inline std::size_t heapBytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace stallprof
