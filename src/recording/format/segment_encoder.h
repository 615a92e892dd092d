// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "event/event.h"
#include "event/strings.h"

namespace stallprof {

// Appends records to a frame's payload (FORMAT.md, "Records"). `out` is reused frame after frame,
// so encoding allocates nothing once it has grown. `previous` is the `at` of the record before in
// this frame, 0 for the first. `localStrings[id - 1]` is a string's number in this segment.
void encodeEvent(const Event& event, Nanos previous, std::span<const std::uint32_t> localStrings,
                 std::string& out);
void encodeString(std::uint32_t local, std::string_view text, std::string& out);

// Encodes events into frame payloads such that each segment can be read alone: a string is defined
// and a process, thread or stack announced before its first use in the segment. Knows nothing of
// files.
class SegmentEncoder {
 public:
  // `stringBytes`: budget of memory for strings. `frameBytes`: a frame is cut at this size.
  SegmentEncoder(std::size_t stringBytes, std::size_t frameBytes)
      : stringBytes_(stringBytes), frameBytes_(frameBytes) {}

  // The payload of one frame, `events` events, the first of them at `since`.
  struct Frame {
    std::string payload;
    std::uint64_t events = 0;
    Nanos since{};
  };

  [[nodiscard]] StringId intern(std::string_view text);
  [[nodiscard]] std::string_view textOf(StringId id) const { return strings_.at(id); }
  // Notes what an event says of identities, without encoding it: due also for dropped events.
  void note(const Event& event);
  void encode(const Event& event);
  // Encodes every identity alive that this segment lacks: after events were dropped.
  void announceAll();

  // Frames that are cut, oldest first, for the owner to write; `popFrame` when one is written.
  [[nodiscard]] const std::deque<Frame>& frames() const { return frames_; }
  void popFrame();
  // Cuts what is encoded so far, if anything, into a frame.
  void cut();
  [[nodiscard]] bool pending() const { return open_.events > 0; }
  // All that is encoded and not popped.
  [[nodiscard]] std::size_t bytes() const { return cutBytes_ + open_.payload.size(); }
  [[nodiscard]] std::uint64_t events() const;
  // Begins the next segment: nothing is defined, identities whose end was not encoded are
  // forgotten, too, and so are frames of the former one that were not popped.
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
  void announce(StackId id);
  template <class P>
  void prepare(const P& payload);
  void append(const Event& event);
  void forgetEnded(const Event& event);

  Strings strings_;
  const std::size_t stringBytes_, frameBytes_;
  std::uint64_t stringsOver_ = 0;
  std::vector<std::uint32_t> local_;  // index: StringId - 1; 0: not defined in this segment
  std::uint32_t defined_ = 0;
  Identities<ProcessSeen> processes_;
  Identities<ThreadSeen> threads_;
  Identities<StackSeen> stacks_;
  std::vector<std::uint32_t> callers_;  // of a stack that is announced
  std::deque<Frame> frames_;
  std::size_t cutBytes_ = 0;
  Frame open_;
  std::string spare_;  // a written frame's buffer, for the next one
  Nanos previous_{};
};

}  // namespace stallprof
