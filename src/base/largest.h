// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

namespace stallprof {

// Of a map, where its largest value is; its end where it is empty, the first of equal ones.
template <class Map>
[[nodiscard]] auto largestIn(Map& map) {
  return std::max_element(map.begin(), map.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

}  // namespace stallprof
