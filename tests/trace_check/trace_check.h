// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace stallprof {

// What a file that a trace viewer shall open holds, and what is wrong with it.
struct TraceCheck {
  std::string format;  // "trace events", "speedscope", "perfetto"
  std::uint64_t events = 0;
  std::uint64_t wrong = 0;            // all problems
  std::vector<std::string> problems;  // the first of them, a line each, ready to print
  [[nodiscard]] bool ok() const { return wrong == 0; }
};
inline constexpr std::size_t kMaxProblems = 100;  // that are printed, one by one

// Reads `file` once, from its beginning; its first byte shows its format. Memory: 60 bytes a
// slice, whatever the slices' size. Checked: the syntax and the types of what is read; that slices
// of a lane nest; that begins have ends and arrows both ends; that lanes have names; that shared
// indexes lie within their tables; that names are valid UTF-8 without control characters.
[[nodiscard]] TraceCheck checkTrace(std::FILE* file);

}  // namespace stallprof
