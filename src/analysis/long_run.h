// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>

#include "analysis/facts.h"
#include "analysis/roles.h"
#include "analysis/timeline.h"
#include "classify/rule_table.h"
#include "classify/stack_labels.h"
#include "trace/trace_builder.h"

namespace stallprof {

// A run with too many steps to be held one by one: its trace is read in parts (TraceBuilder's
// reader), each attributed while its fetches and batches are there, and joined with those before.
// Sums of time, counts, shares and means are of every step. Held one by one are the first and the
// last steps, the slowest, those in the longest stretch with each piece of the device's work, and
// blocks of neighbours drawn by lot: quantiles and models are of these. Where nothing tells of
// steps (they are inferred) the trace is read as a whole. Give `take` to loadTrace, then the whole
// to analyze. Use once; not thread-safe.
class LongRun {
 public:
  // 64 Ki steps in blocks are 1,000 blocks: the median of a step time that varies by a quarter is
  // met within 1 %. They take 300 bytes each.
  static constexpr std::size_t kMostSteps = 1u << 16;

  explicit LongRun(const RuleTable& rules, std::size_t mostSteps = kMostSteps)
      : rules_(rules), most_(mostSteps) {}

  [[nodiscard]] ReadSoFar take(const Trace& trace);
  // For who asks for roles alone.
  [[nodiscard]] ReadSoFar takeRoles(const Trace& trace);
  [[nodiscard]] bool any() const { return until_ > Nanos{}; }

  // At the end: who is who, with what only earlier parts told; and one trainer's whole run.
  [[nodiscard]] Roles rolesOf(const Trace& trace) const;
  [[nodiscard]] TrainerFacts factsOf(const Trace& trace, TrainerIdentity who,
                                     const StackLabels* labels);

 private:
  struct Known {
    CountedBefore before;
    TrainerFacts facts;
  };
  [[nodiscard]] Nanos settled(const Trace& trace) const;
  void addPart(const Trace& trace, TrainerIdentity who, const StackLabels* labels, Nanos end);
  void bound(const Trace& trace, Known& known) const;

  const RuleTable& rules_;
  std::size_t most_;
  Nanos until_{};
  Roles roles_;
  std::map<ProcessId, Known> trainers_;
};

}  // namespace stallprof
