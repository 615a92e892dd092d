// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "event/event_out.h"
#include "event/strings.h"

namespace stallprof {

// Keeps every event, for tests to ask.
class EventList : public EventOut {
 public:
  StringId intern(std::string_view text) override { return strings_.intern(text); }
  void put(const Event& event) override { events.push_back(event); }

  [[nodiscard]] std::string text(StringId id) const { return std::string(strings_.at(id)); }
  template <class P>
  [[nodiscard]] std::vector<P> all() const {
    std::vector<P> found;
    for (const Event& event : events)
      if (const P* payload = std::get_if<P>(&event.payload)) found.push_back(*payload);
    return found;
  }
  // The last SourceState of that name; kAbsent with "never reported" where there is none.
  [[nodiscard]] std::pair<Coverage, std::string> source(std::string_view name) const {
    std::pair<Coverage, std::string> found{Coverage::kAbsent, "never reported"};
    for (const SourceState& source : all<SourceState>())
      if (text(source.source) == name) found = {source.state, text(source.why)};
    return found;
  }

  std::vector<Event> events;

 private:
  Strings strings_;
};

}  // namespace stallprof
