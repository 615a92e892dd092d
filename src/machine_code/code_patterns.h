// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// What a few bytes of machine code say of the place that they are around.
namespace stallprof {

// Machine code that draws random numbers: it holds a multiplier or mask of a known generator as an
// immediate value. Compilers inline these, so that no symbol says so. `code`: the bytes around a
// place; kDrawsNear before and behind it are enough for a loop.
inline constexpr std::uint64_t kDrawsNear = 96;
[[nodiscard]] bool drawsRandomNumbers(std::string_view code);

// Whether the instruction at `code[at]` is of a short loop around a PAUSE: threads that wait in it
// for a lock or a barrier keep their CPUs. `code`: the bytes around it; kSpinNear before and behind
// are enough for the loops of compilers and of oneDNN.
inline constexpr std::size_t kSpinNear = 32;
[[nodiscard]] bool waitsInSpinLoop(std::string_view code, std::size_t at);

}  // namespace stallprof
