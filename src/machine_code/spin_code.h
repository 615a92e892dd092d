// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace stallprof {

// Whether the instruction at `code[at]` is of a short loop around a PAUSE: threads that wait in it
// for a lock or a barrier keep their CPUs. `code`: the bytes around it; kSpinNear before and behind
// are enough for the loops of compilers and of oneDNN.
inline constexpr std::size_t kSpinNear = 32;
[[nodiscard]] bool waitsInSpinLoop(std::string_view code, std::size_t at);

}  // namespace stallprof
