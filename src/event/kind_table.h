// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <variant>

#include "event/event.h"

namespace stallprof {

// A table of 256 entries indexed by an event's kind: `make.template operator()<P>()` for the struct
// P of that kind, a default Entry (a null pointer) for numbers no kind has. What decode, the event
// memory and the text form use in place of a switch: a new kind is in every table by being in
// Payload.
template <class Entry, class Make>
[[nodiscard]] constexpr std::array<Entry, 256> tableByKind(Make make) {
  std::array<Entry, 256> table{};
  const auto fill = [&]<class... P>(std::variant<P...>*) {
    ((table[P::kKind] = make.template operator()<P>()), ...);
  };
  fill(static_cast<Payload*>(nullptr));
  return table;
}

}  // namespace stallprof
