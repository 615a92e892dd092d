// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "analysis/facts/analysis.h"
#include "trace/trace.h"

namespace stallprof {

// A frame as the report names it: the user's own with its line, a library's by file and function.
[[nodiscard]] SourceLine lineOf(const Trace& trace, StackId frame);

// A line of a file alone.
[[nodiscard]] SourceLine lineAt(const Trace& trace, StringId file, std::uint32_t line);

// "PIL/Image.py:Image.resize", or "train.py:31 load" for the user's own code.
[[nodiscard]] std::string nameOf(const SourceLine& line);

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
