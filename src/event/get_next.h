// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace stallprof {

// ThreadSlice.what of a thread inside a get-next of tf.data that a graph does, and no Python sees:
// blocked in it, or, where the thread does nothing else, running.
inline constexpr std::string_view kInGetNext = "tf.data get-next";

}  // namespace stallprof
