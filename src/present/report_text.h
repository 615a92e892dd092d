// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "present/exporter.h"

namespace stallprof {

// At most this many lines, whatever the recording holds: what does not fit is in the other formats.
inline constexpr std::size_t kTextLines = 60;

// The report for a terminal, newline-terminated.
[[nodiscard]] std::string reportText(const Analysis& analysis, const PresentOptions& options);

}  // namespace stallprof
