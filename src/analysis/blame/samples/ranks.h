// SPDX-License-Identifier: MIT
#pragma once

#include <unordered_map>
#include <vector>

#include "analysis/facts/facts.h"
#include "analysis/facts/run_facts.h"
#include "analysis/facts/stack_samples.h"
#include "analysis/steps/roles.h"
#include "trace/trace.h"

namespace stallprof {

// How the trainers of one recording wait for each other in collectives: each one's share of its
// time, and, step by step, for whom the others waited. The evidence of a trainer with a device is
// what its device ran; without one it is the samples that found it in a collective, and annotated
// phases. Empty for fewer than two trainers that have any.
[[nodiscard]] RankBalance balanceRanks(const Trace& trace,
                                       const std::vector<const TrainerFacts*>& trainers);

// The one of them, of which there is one at least, that a report is of: that with the longest
// window, or of those that train beside it the one that waits for data longest, where that is
// 5 % of the time longer. Others stand in collectives, busy by the monitoring library, until it
// comes.
[[nodiscard]] std::size_t mainTrainer(const std::vector<const TrainerFacts*>& trainers);

// Where samples are too few to show what ranks on CPUs wait in. The scheduler's own times say how
// long each one's thread was blocked in its steps while nothing of its process worked, and the few
// samples how much of that was in what may be a collective (one that sleeps is late by itself). The
// excess over the rank with the least of it is waiting for the rank that comes last: comm instead
// of compute.
void addBlockedWaits(const Trace& trace, const std::vector<TrainerFacts*>& all);

// The rank that a trainer reported; else what the run's own environment says, where it is the
// only trainer here. Null: none.
[[nodiscard]] Maybe<int> rankOf(const Trace& trace, ProcessId process, bool only);

// Where ranks train on CPUs: several processes of this recording that update a model, or one of
// several elsewhere (WORLD_SIZE), with no device. Who is then blocked in backward while no thread
// of its process works waits for the others' gradients. For one trainer; samples are passed in
// order of time.
class RankWaits {
 public:
  RankWaits(const Trace& trace, TrainerIdentity who);
  // `python`: the innermost Python frame of the sample of the trainer's thread.
  [[nodiscard]] bool waitsForOthers(StackId python, const Sample& sample);

 private:
  [[nodiscard]] bool inBackward(StackId python);
  [[nodiscard]] bool busyBeside(Nanos at) const;

  const Trace& trace_;
  TrainerIdentity who_;
  bool ranks_ = false;
  std::unordered_map<StackId, bool> backward_;
};

}  // namespace stallprof
