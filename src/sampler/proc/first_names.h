// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>

namespace stallprof {

// The first so many different names of a kind. A recording has room for a bounded number of names
// (recording/writer.h): a kind that may have any number of them takes a part of it alone.
class FirstNames {
 public:
  explicit FirstNames(std::size_t maximum) : maximum_(maximum) {}
  // Whether `name` is one of them: it is where there is room yet.
  bool take(const std::string& name) {
    if (names_.size() < maximum_) names_.insert(name);
    return names_.contains(name);
  }

 private:
  std::size_t maximum_;
  std::unordered_set<std::string> names_;
};

}  // namespace stallprof
