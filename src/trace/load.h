// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "trace/coarsener.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"

namespace stallprof {

// Feeds some more events to the builder, a frame's worth or so. False: there are no more.
using EventSource = std::function<Result<bool>(TraceBuilder&)>;

// The recording at `directory`. Damage inside it is a Loss of the trace; an Error means there is
// nothing to read: no such directory, not a recording, or of another version. `maps` say what
// ranges mean (range_map.h) after those that the run was given.
[[nodiscard]] EventSource recordingEvents(const std::string& directory,
                                          const std::vector<Untrusted>& maps = {});

// A recording as a Trace, however long: in parts of about TraceBounds::program rows of what the
// program did. A short run is one part. For each but the last: nextPart() is true; read part(),
// release its rows. Then lastPart() is what is left, and with it the whole run but for the released
// rows. Not thread-safe.
class TraceReader {
 public:
  explicit TraceReader(EventSource events, const TraceBounds& bounds = {})
      : events_(std::move(events)), builder_(bounds) {}
  TraceReader(const TraceReader&) = delete;  // the source may hold on to the builder
  TraceReader& operator=(const TraceReader&) = delete;

  [[nodiscard]] Result<bool> nextPart();
  [[nodiscard]] const Trace& part() { return builder_.part(); }
  void release(const RowsDone& done) { builder_.release(done); }
  // Once.
  [[nodiscard]] Trace lastPart() { return builder_.seal(); }

 private:
  EventSource events_;
  TraceBuilder builder_;
};

}  // namespace stallprof
