// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "event/event_out.h"

namespace stallprof {

// The names of kernels and devices that the agent of one process has logged, by number and by the
// pointer that CUPTI had given. The log is not trusted: what cannot be an entry ends it.
class ActivityNames {
 public:
  struct Name {
    StringId text;
    bool collective = false;
  };

  // Takes `bytes`, by which the log has grown. Returns how many of them were no entries: from the
  // first of those on nothing more is taken.
  [[nodiscard]] std::uint64_t take(std::span<const std::uint8_t> bytes, EventOut& out);
  // Of the log, taken so far.
  [[nodiscard]] std::uint64_t bytesRead() const { return bytesRead_; }

  // `word` of a record: a number, or the pointer that was never replaced by one. 0: no name.
  [[nodiscard]] std::uint32_t numberOf(std::uint64_t word) const;
  // `number` from numberOf; of 0 a name without text.
  [[nodiscard]] Name at(std::uint32_t number) const {
    return number == 0 ? Name{} : names_[number - 1];
  }

 private:
  std::vector<Name> names_;  // number - 1
  std::unordered_map<std::uint64_t, std::uint32_t> byPointer_;
  std::uint64_t bytesRead_ = 0;
  bool broken_ = false;
};

}  // namespace stallprof
