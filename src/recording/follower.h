// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "event/event.h"
#include "event/strings.h"
#include "recording/format/segment_decoder.h"
#include "recording/manifest.h"

namespace stallprof {

// Reads a recording while it is being written: each call gives what was added since the one before.
// For a view of now; what is damaged is passed over without a word (readRecording reports it).
// All bytes are untrusted, as to readRecording. One thread.
class RecordingFollower {
 public:
  // `strings` and `take` must outlive this. Errors: no such directory.
  [[nodiscard]] static Result<RecordingFollower> open(
      const std::string& directory, Strings& strings,
      const std::function<void(const Event&)>& take);

  // Every whole frame that is there by now. An Error: a version this reader does not know.
  [[nodiscard]] Status advance();

  // Of the first frame; empty before it was read.
  [[nodiscard]] const std::optional<Manifest>& manifest() const { return manifest_; }
  // The writer ended in good order: nothing follows.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }  // read so far

 private:
  RecordingFollower(Fd directory, Strings& strings, const std::function<void(const Event&)>& take)
      : directory_(std::move(directory)), decoder_(strings, take) {}
  [[nodiscard]] bool openSegment(std::uint32_t number);
  [[nodiscard]] Status readOn();
  void take(const FrameScanner::Frame& frame);

  Fd directory_, file_;
  Decoder decoder_;
  std::optional<Manifest> manifest_;
  std::uint32_t number_ = 1;    // of the segment that is read
  std::uint32_t expected_ = 1;  // the sequence of the next frame
  std::int64_t offset_ = 0;     // in the segment, behind the last whole frame
  std::int64_t bytes_ = 0;
  bool ended_ = false;
};

}  // namespace stallprof
