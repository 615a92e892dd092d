// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/ids.h"

namespace stallprof {

// Interned text. Ids are dense from 1 in order of first use; the empty string is id 0. Views stay
// valid as long as the table. Bytes are kept as they came: escape at the sink. Not thread-safe.
class Strings {
 public:
  StringId intern(std::string_view text) {
    if (text.empty()) return {};
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    const std::string& kept = texts_.emplace_back(text);
    const StringId id{static_cast<std::uint32_t>(texts_.size())};
    ids_.emplace(kept, id);
    bytes_ += kept.size();
    return id;
  }

  // The id `text` has, none if it was never interned.
  [[nodiscard]] StringId find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? StringId{} : found->second;
  }

  // An id this table never gave (a damaged recording) reads as the empty string.
  [[nodiscard]] std::string_view at(StringId id) const {
    if (id.none() || id.value > texts_.size()) return {};
    return texts_[id.value - 1];
  }

  [[nodiscard]] std::size_t size() const { return texts_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> texts_;  // a deque never moves what it holds: views stay valid
  std::unordered_map<std::string_view, StringId> ids_;
  std::size_t bytes_ = 0;
};

}  // namespace stallprof
