// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Words and values of the text form of a trace (trace_form.h is its grammar).
namespace stallprof {

using Wide = __int128;  // holds every 64-bit value, signed or not, and sums of them

// NAME=VALUE of a line; a word without `=` has only a name.
struct TextWord {
  std::string name, value;
  bool quoted = false;  // the value stood in quotes: it is text
};

// The words of a line, up to a comment. Nothing: a quote that does not end, or a bad escape.
[[nodiscard]] std::optional<std::vector<TextWord>> splitWords(std::string_view line);

// A whole number, or with `time` a duration in ns or with a unit; `A+B*i` grows with `round`.
// Nothing: not such a number, or over 64 bits.
[[nodiscard]] std::optional<Wide> parseNumber(std::string_view text, bool time, std::int64_t round);

}  // namespace stallprof
