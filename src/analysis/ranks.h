// SPDX-License-Identifier: MIT
#pragma once

#include <unordered_map>
#include <vector>

#include "analysis/facts.h"
#include "analysis/findings.h"
#include "analysis/looks.h"
#include "analysis/roles.h"
#include "trace/trace.h"

namespace stallprof {

// How the trainers of one recording wait for each other in collectives: each one's share of its
// time, and, step by step, for whom the others waited. A trainer with a device says it by what its
// device ran; without one by the looks that found it in a collective, and by what it said itself.
// Empty for fewer than two trainers that have any.
[[nodiscard]] RankBalance balanceRanks(const Trace& trace,
                                       const std::vector<const TrainerFacts*>& trainers);

// Where looks are too few to say what ranks on CPUs wait in: the scheduler's own times tell how
// long each one's thread was blocked in its steps while nothing of its process worked, and the few
// looks how much of that in what may be a collective: one that sleeps is late by itself. What that
// is beyond the least of them is waiting for the rank that comes last: comm, no longer compute.
void addBlockedWaits(const Trace& trace, const std::vector<TrainerFacts*>& trainers);

// The rank that a trainer told of itself; else what the run's own environment says, where it is the
// only trainer here. Null: none.
[[nodiscard]] Maybe<int> rankOf(const Trace& trace, ProcessId process, bool only);

// Where ranks train on CPUs: several processes of this recording that update a model, or one of
// several elsewhere (WORLD_SIZE), with no device. Who is then blocked in backward while no thread
// of its process works waits for the others' gradients. For one trainer; looks come in order of
// time.
class RankWaits {
 public:
  RankWaits(const Trace& trace, TrainerIdentity who);
  // `python`: the innermost Python frame of the look at the trainer's thread.
  [[nodiscard]] bool waitsForOthers(StackId python, const Look& look);

 private:
  [[nodiscard]] bool inBackward(StackId python);
  [[nodiscard]] bool busyBeside(Nanos at) const;

  const Trace& trace_;
  TrainerIdentity who_;
  bool ranks_ = false;
  std::unordered_map<StackId, bool> backward_;
};

}  // namespace stallprof
