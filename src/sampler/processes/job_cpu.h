// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "base/ids.h"
#include "base/time.h"

namespace stallprof {

// CPU of the whole job, exited processes included. Each process has its own time and the time of
// the children it has waited for. A child that died counts with what we last saw of it until its
// parent's figure has grown by as much: that figure then holds it to its last nanosecond, but never
// holds children that nobody waits for. Pure.
class JobCpu {
 public:
  // A round over all processes begins; `set` each of them.
  void nextRound() { ++round_; }
  // `older`: than the recording, so what it had waited for by its first round does not count.
  void set(ProcessId process, ProcessId parent, Nanos own, Nanos waitedFor, bool older = false);
  void gone(ProcessId process);
  [[nodiscard]] Nanos total() const;

 private:
  struct Account {
    ProcessId parent;
    Nanos own{}, waitedFor{}, waitedBefore{};  // before: in the round before the last
    Nanos settled{}, pending{};  // exited children: in the parent's figure, and not yet
    std::uint64_t round = 0;
    [[nodiscard]] Nanos all() const { return own + std::max(waitedFor, settled + pending); }
  };
  std::unordered_map<ProcessId, Account> alive_;
  std::unordered_map<ProcessId, Nanos> waitedBefore_;  // of older processes, at their first round
  Nanos orphans_{};  // exited processes whose parent was not of the job, or died before them
  std::uint64_t round_ = 0;
};

}  // namespace stallprof
