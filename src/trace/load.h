// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "base/result.h"
#include "trace/trace.h"

namespace stallprof {

// The recording at `directory` as a Trace. Damage inside it is a Loss of the trace; an Error means
// there is nothing to read: no such directory, not a recording, or of another version.
[[nodiscard]] Result<Trace> loadTrace(const std::string& directory);

}  // namespace stallprof
