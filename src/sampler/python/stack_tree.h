// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "event/event_out.h"

namespace stallprof::python {

// The tree of all stacks of a run: gives each frame, with its callers, one StackId, and reports a
// new one by a StackSeen. Bounded: past kMax, all further stacks are the one "(other)".
class StackTree {
 public:
  // An hour of a training meets some thousand. With index and encoder 200 bytes each.
  static constexpr std::uint32_t kMax = 65536;

  [[nodiscard]] StackId node(const StackSeen& frame, Nanos now, EventOut& out);
  // Frames asked for since the last call for which there was no room.
  [[nodiscard]] std::uint64_t takeFull() { return std::exchange(full_, 0); }

 private:
  struct Key {
    std::uint32_t caller = 0, function = 0, file = 0, line = 0, firstLine = 0;
    FrameKind kind = FrameKind::kPython;
    bool iterates = false;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  std::unordered_map<Key, StackId, Hash> nodes_;
  StackId other_;
  std::uint64_t full_ = 0;
};

}  // namespace stallprof::python
