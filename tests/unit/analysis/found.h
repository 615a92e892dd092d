// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
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
inline const Advice* adviceIn(const Finding& f, std::string_view id) {
  for (const Advice& a : f.advice)
    if (a.id == id) return &a;
  return nullptr;
}
inline bool says(const Finding& f, std::string_view words) {
  return std::any_of(f.evidence.begin(), f.evidence.end(),
                     [&](const EvidenceItem& e) { return e.text.find(words) != e.text.npos; });
}

}  // namespace stallprof::test
