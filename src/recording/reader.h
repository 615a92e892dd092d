// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "event/event.h"
#include "event/strings.h"
#include "recording/manifest.h"

namespace stallprof {

struct ReadSummary {
  Manifest manifest;
  bool cleanEnd = false;       // false: still being written, or cut off; not an error
  std::int64_t lostBytes = 0;  // skipped; each interval was also passed as a Loss event
};

// What the recording at `directory` says of itself ahead of its events; an Error where its own file
// of that is missing or damaged, which readRecording may still make up for.
[[nodiscard]] Result<Manifest> readManifest(const std::string& directory);

// Reads every whole event of the recording at `directory`, in order of writing, and passes it to
// `take` with string ids of `strings`. Damage is skipped and passed as Loss events. Errors: no such
// recording, not a recording, a version this reader does not know (the message has the file's
// version, ours, and what can read it), or a file of it that the system refuses to read.
// All bytes are untrusted: memory stays under 64 MB + 4x the largest segment. Not thread-safe.
class RecordingReader {
 public:
  // `strings` and what `take` refers to must outlive this.
  RecordingReader(std::string directory, Strings& strings, std::function<void(const Event&)> take);
  RecordingReader(const RecordingReader&) = delete;
  RecordingReader& operator=(const RecordingReader&) = delete;
  ~RecordingReader();

  // Reads on by at most one frame, of up to format::kFrameLimit bytes. False: all has been read.
  [[nodiscard]] Result<bool> next();
  // How much of it has been read, 0 to 1: estimated as if all its segments were of one size.
  [[nodiscard]] double progress() const;
  // Complete once next() has returned false.
  [[nodiscard]] const ReadSummary& summary() const;

 private:
  class Frames;
  std::unique_ptr<Frames> frames_;
};

// The same in one go.
[[nodiscard]] Result<ReadSummary> readRecording(const std::string& directory, Strings& strings,
                                                const std::function<void(const Event&)>& take);

}  // namespace stallprof
