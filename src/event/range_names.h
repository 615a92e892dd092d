// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace stallprof {

// The domain of ranges that are marks of stallprof/annotate.h, and the name of such steps.
inline constexpr std::string_view kMarksDomain = "stallprof", kMarkedStep = "step";

// A range of this name is a step unless a map says else: "step", alone or with a number behind a
// space or one of #:_-/ ("step 12", "ProfilerStep#3"), in any case of letters.
[[nodiscard]] inline bool namesStep(std::string_view range) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  for (const std::string_view word : {"profilerstep", "step"}) {
    if (range.size() < word.size() || !std::equal(word.begin(), word.end(), range.begin(),
                                                  [&](char b, char a) { return same(a, b); }))
      continue;
    std::string_view rest = range.substr(word.size());
    if (rest.empty()) return true;
    if (std::string_view(" #:_-/").find(rest[0]) == std::string_view::npos) return false;
    rest.remove_prefix(1);
    return !rest.empty() && rest.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

}  // namespace stallprof
