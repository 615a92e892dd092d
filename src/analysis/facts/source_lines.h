// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/facts/analysis.h"
#include "trace/trace.h"

namespace stallprof {

// A frame as the report names it: the user's own with its line, a library's by file and function.
[[nodiscard]] SourceLine lineOf(const Trace& trace, StackId frame);

// "PIL/Image.py:Image.resize", or "train.py:31 load" for the user's own code.
[[nodiscard]] std::string nameOf(const SourceLine& line);

}  // namespace stallprof
