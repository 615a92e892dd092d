// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "event/event.h"
#include "event/strings.h"

namespace stallprof {

// Turns the payloads of event frames back into events; the mirror of encode.h. Payloads are
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
