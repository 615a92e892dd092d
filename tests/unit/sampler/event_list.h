// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "event/event_out.h"
#include "event/strings.h"
#include "tests/catch.h"

namespace stallprof {

// Those of one kind, in order.
template <class P>
std::vector<P> payloadsOf(const std::vector<Event>& events) {
  std::vector<P> found;
  for (const Event& event : events)
    if (const P* payload = std::get_if<P>(&event.payload)) found.push_back(*payload);
  return found;
}

// Keeps every event, for tests to ask.
struct EventList final : EventOut {
  Strings strings;
  std::vector<Event> events;

  StringId intern(std::string_view text) override { return strings.intern(text); }
  std::string_view textOf(StringId id) const override { return strings.at(id); }
  void put(const Event& event) override { events.push_back(event); }

  [[nodiscard]] std::string text(StringId id) const { return std::string(strings.at(id)); }
  template <class P>
  [[nodiscard]] std::vector<P> all() const {
    return payloadsOf<P>(events);
  }
  // The one event of that kind; the test fails where there are none or several.
  template <class P>
  [[nodiscard]] P only() const {
    const std::vector<P> found = all<P>();
    REQUIRE(found.size() == 1);
    return found[0];
  }
  // The last SourceState of that name; kAbsent with "never reported" where there is none.
  [[nodiscard]] std::pair<Coverage, std::string> source(std::string_view name) const {
    std::pair<Coverage, std::string> found{Coverage::kAbsent, "never reported"};
    for (const SourceState& source : all<SourceState>())
      if (text(source.source) == name) found = {source.state, text(source.why)};
    return found;
  }
};

}  // namespace stallprof
