// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/facts/analysis.h"

namespace stallprof {

// What usually makes a library's function cheaper, as the rest of a sentence: "decode at the size
// that is needed (Image.draft), ...". Of the user's own code, what usually does.
[[nodiscard]] std::string hintFor(const SourceLine& hot);

}  // namespace stallprof
