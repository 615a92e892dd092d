// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "trace/coarsener.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"

namespace stallprof {

// The recording at `directory` as a Trace. Damage inside it is a Loss of the trace; an Error means
// there is nothing to read: no such directory, not a recording, or of another version. `maps` say
// what ranges mean (range_map.h) after those that the run was given. `bounds`: what is kept of a
// long run (coarsener.h); rows of what the program did only with a `reader` of its parts.
[[nodiscard]] Result<Trace> loadTrace(const std::string& directory,
                                      const std::vector<Untrusted>& maps = {},
                                      const TraceBounds& bounds = {},
                                      const PartReader& reader = {});

}  // namespace stallprof
