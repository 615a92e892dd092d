// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "event/event.h"

namespace stallprof {

// Where events go: the recording's writer, or a test's list. Ids in an event must have been given
// by this same EventOut (strings) or announced through it (ProcessSeen, ThreadSeen) before. Never
// fails to the caller: what cannot be kept is counted as a Loss. One thread at a time.
class EventOut {
 public:
  virtual ~EventOut() = default;
  virtual StringId intern(std::string_view text) = 0;
  // What was interned; valid as long as this. Empty where texts are not kept.
  [[nodiscard]] virtual std::string_view textOf(StringId) const { return {}; }
  virtual void put(const Event& event) = 0;

  template <class P>
  void emit(Nanos at, const P& payload) {
    put(Event{at, payload});
  }
};

}  // namespace stallprof
