// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace stallprof {

// A line of a source file as it lies on this host, without the space around it; at most 200 bytes,
// the job's: escape at the sink. "" where the file has not that line, is no regular file, is too
// large, or has changed since `started` (CLOCK_REALTIME): then the line may be another one. A path
// that is not absolute is taken from `directory`. What seems to be a secret is masked.
[[nodiscard]] std::string sourceLineAt(const std::string& path, const std::string& directory,
                                       std::uint32_t line, Nanos started);

}  // namespace stallprof
