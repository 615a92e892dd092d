// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "event/event_out.h"
#include "event/strings.h"
#include "recording/reader.h"
#include "recording/writer.h"

namespace stallprof::testing {

// A manifest with something in every field.
Manifest sampleManifest();

// One event of every kind, each field set to a value of its own; strings are interned in `out`.
std::vector<Event> oneOfEachKind(EventOut& out);

// An event as text, strings resolved: equal texts are equal events, whatever their string ids.
std::string describe(const Event& event, const Strings& strings);

// All that a recording gives, read to its end.
struct Reading {
  Strings strings;
  std::vector<Event> events;
  ReadSummary summary;
  std::vector<std::string> described;

  [[nodiscard]] std::size_t countOf(LossKind kind) const;
  template <class P>
  [[nodiscard]] std::vector<P> all() const {
    std::vector<P> found;
    for (const Event& event : events)
      if (const auto* payload = std::get_if<P>(&event.payload)) found.push_back(*payload);
    return found;
  }
};
Reading readAll(const std::string& directory);

// As readAll, where failing is part of the test.
Result<ReadSummary> tryRead(const std::string& directory);

std::string slurp(const std::string& path);
void spit(const std::string& path, const std::string& bytes);

// Events in a list, as a test wants to read them.
struct EventList final : EventOut {
  Strings strings;
  std::vector<Event> events;
  StringId intern(std::string_view text) override { return strings.intern(text); }
  void put(const Event& event) override { events.push_back(event); }
  [[nodiscard]] std::vector<std::string> described() const;
};

}  // namespace stallprof::testing
