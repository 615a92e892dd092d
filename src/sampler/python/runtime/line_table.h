// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "sampler/python/runtime/layout.h"

namespace stallprof::python {

// The line that the instruction at `index` is of; 0 when the table has none, or is damaged.
// `index` counts bytes up to 3.10 and code units of two bytes after; -1 is "before the first
// instruction" and gives `firstLine`. Pure; reads the table once, however it lies.
[[nodiscard]] std::uint32_t lineOf(LineFormat format, std::span<const std::uint8_t> table,
                                   std::uint32_t firstLine, std::int64_t index);

}  // namespace stallprof::python
