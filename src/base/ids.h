// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace stallprof {

// A typed index: a ThreadId does not compile where a ProcessId is due.
// Valid ids start at 1; 0 means "none", so a zeroed record is a record without identity.
template <class Tag>
struct Id {
  std::uint32_t value = 0;
  [[nodiscard]] constexpr bool none() const { return value == 0; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using ProcessId = Id<struct ProcessTag>;  // one life of one pid; never reused within a recording
using ThreadId = Id<struct ThreadTag>;    // one life of one tid
using StringId = Id<struct StringTag>;    // interned text; none is the empty string
using StackId = Id<struct StackTag>;      // a frame and all its callers: a node of a tree

}  // namespace stallprof

template <class Tag>
struct std::hash<stallprof::Id<Tag>> {
  std::size_t operator()(const stallprof::Id<Tag>& id) const noexcept { return id.value; }
};
