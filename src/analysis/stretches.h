// SPDX-License-Identifier: MIT
#pragma once

#include <iterator>
#include <map>

#include "base/time.h"

namespace stallprof {

// Stretches of time, none overlapping another: whoever comes first has it.
class Stretches {
 public:
  // Takes [begin, end) and says so, unless it overlaps one already taken.
  bool take(Nanos begin, Nanos end) {
    const auto after = taken_.lower_bound(end);
    if (after != taken_.begin() && std::prev(after)->second > begin) return false;
    taken_.emplace(begin, end);
    return true;
  }

 private:
  std::map<Nanos, Nanos> taken_;  // begin -> end
};

}  // namespace stallprof
