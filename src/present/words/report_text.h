// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "present/words/present_options.h"

namespace stallprof {

// At most this many lines, whatever the recording holds: the last findings, alternatives and
// evidence that do not fit are in the other formats. A text that is shown is whole.
inline constexpr std::size_t kTextLines = 80;

// The report for a terminal, newline-terminated.
[[nodiscard]] std::string reportText(const Analysis& analysis, const PresentOptions& options);

}  // namespace stallprof
