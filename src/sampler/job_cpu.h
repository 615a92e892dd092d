// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <unordered_map>

#include "base/ids.h"
#include "base/time.h"

namespace stallprof {

// CPU of the whole job, dead processes included. Each process tells its own time and the time of
// the children it has waited for; a dead child is in one of two places, in its parent's "waited
// for" or in what we last saw of it, and the larger is the truth: the first misses children that
// nobody waited for, the second misses what they did after our last look. Pure.
class JobCpu {
 public:
  void set(ProcessId process, ProcessId parent, Nanos own, Nanos waitedFor);
  void gone(ProcessId process);
  [[nodiscard]] Nanos total() const;

 private:
  struct Account {
    ProcessId parent;
    Nanos own{}, waitedFor{}, deadChildren{};
    [[nodiscard]] Nanos all() const { return own + std::max(waitedFor, deadChildren); }
  };
  std::unordered_map<ProcessId, Account> alive_;
  Nanos orphans_{};  // dead processes whose parent was not of the job, or died before them
};

}  // namespace stallprof
