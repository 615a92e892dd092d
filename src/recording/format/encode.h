// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "event/event.h"

namespace stallprof {

// Appends records to a frame's payload (FORMAT.md, "Records"). `out` is reused frame after frame,
// so encoding allocates nothing once it has grown. `previous` is the `at` of the record before in
// this frame, 0 for the first. `localStrings[id - 1]` is a string's number in this segment.
void encodeEvent(const Event& event, Nanos previous, std::span<const std::uint32_t> localStrings,
                 std::string& out);
void encodeString(std::uint32_t local, std::string_view text, std::string& out);

}  // namespace stallprof
