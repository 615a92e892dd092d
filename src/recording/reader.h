// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "event/event.h"
#include "event/strings.h"
#include "recording/manifest.h"

namespace stallprof {

struct ReadSummary {
  Manifest manifest;
  bool cleanEnd = false;       // false: still being written, or cut off; not an error
  std::int64_t bytes = 0;      // of segments read
  std::int64_t lostBytes = 0;  // skipped; each stretch was also given as a Loss event
};

// What the recording at `directory` says of itself ahead of its events; an Error where its own file
// of that is missing or damaged, which readRecording may still make up for.
[[nodiscard]] Result<Manifest> readManifest(const std::string& directory);

// Reads every whole event of the recording at `directory`, in order of writing, and gives it to
// `take` with string ids of `strings` (which must outlive the use of the events). Damage is skipped
// and given as Loss events. Errors: no such recording, not a recording, or a version this reader
// does not know (the message says the file's version, ours, and what can read it).
// All bytes are untrusted: memory stays under 64 MB + 4x the largest segment.
[[nodiscard]] Result<ReadSummary> readRecording(const std::string& directory, Strings& strings,
                                                const std::function<void(const Event&)>& take);

}  // namespace stallprof
