// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "analysis/analyze.h"
#include "tests/unit/analysis/near.h"
#include "tests/unit/analysis/text_trace.h"

// What the analysis of a trace as text found.
namespace stallprof::test {

// Null where the finding did not fire.
inline const Finding* find(const Analysis& analysis, std::string_view id) {
  for (const Finding& f : analysis.findings)
    if (f.id == id) return &f;
  return nullptr;
}

}  // namespace stallprof::test
