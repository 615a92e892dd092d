// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "recording/manifest.h"
#include "trace/trace.h"

namespace stallprof {

// The latest interval of a recording that is still being written, as a Trace of its own: what
// happened in the last `span`, and who is who. Memory grows with the span and with the number of
// identities, not with the run. One thread.
class LiveWindow {
 public:
  explicit LiveWindow(Nanos span) : span_(span) {}

  // The table the string ids of taken events are of.
  [[nodiscard]] Strings& strings() { return strings_; }
  void take(const Event& event);
  // The last span, as if the recording had begun with it.
  [[nodiscard]] Trace trace(const Manifest& manifest) const;

  [[nodiscard]] Nanos latest() const { return latest_; }  // of all events; 0 before the first
  [[nodiscard]] bool commandEnded() const { return commandEnded_; }
  [[nodiscard]] std::uint64_t batches() const { return batches_; }  // ever fetched
  // Of the span: the recorder's CPU over it (one core = 1); -1 where it is not known.
  [[nodiscard]] double recorderCpuRatio() const;

 private:
  // What a later event of its kind and key replaces, and what never grows old.
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  [[nodiscard]] static bool lasting(const Event& event, Key& key);
  void forget(const Event& event);

  Nanos span_, latest_{};
  Strings strings_;
  std::map<std::size_t, std::map<Key, Event>> lasting_;  // by the kind's place in Payload
  std::deque<Event> recent_;                             // in order of arrival
  std::uint64_t taken_ = 0, batches_ = 0;
  bool commandEnded_ = false;
};

}  // namespace stallprof
