// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace stallprof {

struct LiveThread {
  ThreadId id;
  std::uint32_t tid = 0;
  Nanos since{};  // birth: exact with task events, else to a tick
};

// Processes that ended, kept for a while: records of the hook may be read seconds after their
// writer died.
class ExitedProcesses {
 public:
  struct Life {
    ProcessId id;
    std::uint32_t pid = 0;
    std::uint64_t startTicks = 0;
    std::vector<LiveThread> threads;
  };
  // Valid until the next add.
  Life& add(Life life) {
    lives_.push_back(std::move(life));
    if (lives_.size() > kKept) lives_.pop_front();
    return lives_.back();
  }
  // The latest life of that pid; a start time of 0, on either side, fits any.
  [[nodiscard]] const Life* find(std::uint32_t pid, std::uint64_t startTicks) const {
    for (auto life = lives_.rbegin(); life != lives_.rend(); ++life)
      if (life->pid == pid &&
          (startTicks == 0 || life->startTicks == 0 || life->startTicks == startTicks))
        return &*life;
    return nullptr;
  }
  [[nodiscard]] Life* find(ProcessId id) {
    for (auto life = lives_.rbegin(); life != lives_.rend(); ++life)
      if (life->id == id) return &*life;
    return nullptr;
  }

 private:
  // A minute of 130 short-lived children a second, and 1 MB.
  static constexpr std::size_t kKept = 8192;
  std::deque<Life> lives_;
};

// Threads whose exit was read before their birth: events come from the ring of each CPU, and a
// thread may be born on one and die on another. Bounded; cleared when it is full.
class EarlyExits {
 public:
  void add(std::uint32_t tid, Nanos at) {
    if (exits_.size() >= kMax) exits_.clear();
    Nanos& last = exits_[tid];  // their order is not that of their times
    last = std::max(last, at);
  }
  // Whether who was born then is over. An exit before that birth was of an earlier life of the
  // number, whose end was found in /proc before its event was read.
  bool take(std::uint32_t tid, Nanos born) {
    const auto exit = exits_.find(tid);
    if (exit == exits_.end()) return false;
    const bool over = exit->second >= born;
    exits_.erase(exit);
    return over;
  }

 private:
  static constexpr std::size_t kMax = 4096;
  std::unordered_map<std::uint32_t, Nanos> exits_;
};

}  // namespace stallprof
