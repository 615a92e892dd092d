// SPDX-License-Identifier: MIT
#pragma once

#include "trace/trace.h"

namespace stallprof {

// Where a loader's settings are said: the user's line, and the library that this line called to get
// its loader (none: it calls the loader's constructor). A library that makes the user's own loader
// again (accelerate and Lightning do, for their samplers) takes the settings from that one: then it
// is the line of that one.
struct LoaderOrigin {
  StringId file;
  std::uint32_t line = 0;
  StringId package;
};
[[nodiscard]] LoaderOrigin originOf(const Trace& trace, const LoaderSeen& loader);

}  // namespace stallprof
