// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recording/memory/event_memory.h"
#include "recording/memory/ring.h"
#include "tests/unit/sampler/event_list.h"

namespace stallprof::testing {

// The recorder's side of the event memory that this process writes to. It is named once a process,
// so there is one for all tests.
struct JobMemory {
  JobMemory() {
    ::setenv(STALLPROF_MEMORY_VARIABLE,
             memory->path(static_cast<std::uint32_t>(::getpid())).c_str(), 1);
  }
  // What was written since the last time.
  const std::vector<Event>& drain() {
    out.events.clear();
    memory->drain(Nanos(1),
                  {[](std::uint32_t pid, std::uint64_t) { return ProcessId{pid}; },
                   [](ProcessId, std::uint32_t tid) { return ThreadId{tid}; },
                   [](std::uint32_t, std::uint64_t) { return false; }},
                  out);
    return out.events;
  }
  [[nodiscard]] std::string text(StringId id) const { return out.text(id); }
  std::unique_ptr<EventMemory> memory = std::move(EventMemory::create()).value();
  EventList out;
};

// The one of this process, nothing left in it.
template <class Recorder>
Recorder& emptied() {
  static Recorder it;
  it.drain();
  return it;
}

}  // namespace stallprof::testing
