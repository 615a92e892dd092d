// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace stallprof {

// Machine code that draws random numbers: it holds a multiplier or mask of a known generator as an
// immediate value. Compilers inline these, so that no symbol says so. `code`: the bytes around a
// place; kDrawsNear before and behind it are enough for a loop.
inline constexpr std::uint64_t kDrawsNear = 96;
[[nodiscard]] bool drawsRandomNumbers(std::string_view code);

}  // namespace stallprof
