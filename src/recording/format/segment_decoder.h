// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "event/event.h"
#include "event/strings.h"
#include "recording/format/format.h"

namespace stallprof {

// Finds the whole frames of one segment in its bytes, and what lies between them. Reads through
// `read` (a file, or a test's bytes) a window at a time, which is as large as the longest frame
// met; nothing is believed without its checksum.
class FrameScanner {
 public:
  // Fills the span from the current position; fewer bytes only at the end. Must outlive this.
  using Read = std::function<std::size_t(std::span<std::uint8_t>)>;
  explicit FrameScanner(const Read& read) : read_(read) {}

  struct Frame {
    format::FrameHeader header;
    std::span<const std::uint8_t> payload;  // valid until the next call
  };
  // Bytes that are no part of a whole frame: `torn` when the segment ends within them.
  struct Skipped {
    std::int64_t bytes = 0;
    bool torn = false;
  };

  // The segment's header; none when it is damaged (then frames may still follow).
  std::optional<format::SegmentHeader> segmentHeader();
  // The next whole frame, none at the end. `skipped` is what was passed over before it.
  std::optional<Frame> next(Skipped& skipped);

 private:
  [[nodiscard]] std::span<const std::uint8_t> ahead(std::size_t wanted);
  void consume(std::size_t bytes) { begin_ += bytes; }
  bool skipToSync(Skipped& skipped);

  const Read& read_;
  std::vector<std::uint8_t> window_;
  std::size_t begin_ = 0, end_ = 0;  // of the bytes read and not consumed, in the window
  bool ended_ = false;               // asked once: a file that grows on is read up to where it was
};

// Turns the payloads of event frames back into events; the mirror of encodeEvent. Payloads are
// untrusted even when their checksum holds. One segment after the other, one thread.
class Decoder {
 public:
  // Both must outlive the decoder.
  Decoder(Strings& strings, const std::function<void(const Event&)>& take)
      : strings_(strings), take_(take) {}

  // Forgets the former segment's strings. `bytes`, the segment's size, bounds the string numbers.
  void beginSegment(std::size_t bytes);

  // What a frame held that could not be given.
  struct Lost {
    std::uint64_t unknownKinds = 0;  // records of kinds this version does not know
    std::uint64_t damaged = 0;  // records that cannot be; the frame's rest where its shape is lost
    std::uint64_t stringsOver = 0;  // names past the memory budget, read as "(other)"
  };
  Lost frame(std::span<const std::uint8_t> payload);

  [[nodiscard]] Nanos lastAt() const { return event_.at; }

 private:
  bool define(std::span<const std::uint8_t> body, Lost& lost);

  Strings& strings_;
  const std::function<void(const Event&)>& take_;
  std::vector<StringId> local_;  // index: the segment's number of a string, less 1
  std::size_t localLimit_ = 0;
  Event event_;  // reused: its variant is large
};

}  // namespace stallprof
