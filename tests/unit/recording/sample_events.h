// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "event/event_out.h"
#include "event/strings.h"
#include "recording/reader.h"
#include "recording/writer.h"
#include "tests/unit/sampler/event_list.h"

namespace stallprof::testing {

// A manifest with something in every field.
Manifest sampleManifest();

// One event of every kind, each field set to a value of its own; strings are interned in `out`.
std::vector<Event> oneOfEachKind(EventOut& out);

// An event as text, strings resolved: equal texts are equal events, whatever their string ids.
std::string describe(const Event& event, const Strings& strings);
std::vector<std::string> describe(const EventList& list);

// All that a recording gives, read to its end.
struct Reading {
  Strings strings;
  std::vector<Event> events;
  ReadSummary summary;

  // Each event as text.
  [[nodiscard]] std::vector<std::string> described() const;
  [[nodiscard]] std::size_t countOf(LossKind kind) const;
  template <class P>
  [[nodiscard]] std::vector<P> all() const {
    return payloadsOf<P>(events);
  }
};
Reading readAll(const std::string& directory);

// As readAll, where failing is part of the test.
Result<ReadSummary> tryRead(const std::string& directory);

std::string slurp(const std::string& path);
void spit(const std::string& path, const std::string& bytes);

}  // namespace stallprof::testing
