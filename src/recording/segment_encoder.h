// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "event/event.h"
#include "event/strings.h"

namespace stallprof {

// Encodes events into frame payloads such that each segment can be read alone: a string is defined
// and a process or thread announced before its first use in the segment. Knows nothing of files.
class SegmentEncoder {
 public:
  explicit SegmentEncoder(std::size_t stringBytes) : stringBytes_(stringBytes) {}

  [[nodiscard]] StringId intern(std::string_view text);
  // Notes what an event says of identities, without encoding it: due also for dropped events.
  void note(const Event& event);
  void encode(const Event& event);
  // Encodes every identity alive that this segment lacks: after events were dropped.
  void announceAll();

  // The payload so far; `clear` begins the next frame.
  [[nodiscard]] const std::string& payload() const { return payload_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  void clear();
  // Begins the next segment: nothing is defined, identities that ended are forgotten.
  void beginSegment();

  // Names that became "(other)" since the last call.
  [[nodiscard]] std::uint64_t takeStringsOver() { return std::exchange(stringsOver_, 0); }

 private:
  template <class Seen>
  struct Identity {
    Nanos at{};
    Seen seen;
    bool announced = false, gone = false;
  };
  template <class Seen>
  using Identities = std::unordered_map<std::uint32_t, Identity<Seen>>;

  void define(StringId id);
  void announce(ProcessId id);
  void announce(ThreadId id);
  template <class P>
  void prepare(const P& payload);
  void append(const Event& event);

  Strings strings_;
  std::size_t stringBytes_;
  std::uint64_t stringsOver_ = 0;
  std::vector<std::uint32_t> local_;  // index: StringId - 1; 0: not defined in this segment
  std::uint32_t defined_ = 0;
  Identities<ProcessSeen> processes_;
  Identities<ThreadSeen> threads_;
  std::string payload_;
  std::uint64_t events_ = 0;
  Nanos previous_{};
};

}  // namespace stallprof
