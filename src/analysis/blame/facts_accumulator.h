// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "analysis/facts/facts.h"
#include "analysis/steps/roles.h"
#include "analysis/steps/timeline.h"
#include "base/result.h"
#include "classify/rule_table.h"
#include "classify/stack_labels.h"
#include "trace/trace_builder.h"

namespace stallprof {

// The roles and the trainers' facts of a run, from its trace in parts: each part is attributed
// while its fetches and batches are there, and joined with those before. A short run has one part.
//
// Sums of time, counts, shares and means are of every step. Of a run of several parts not every
// step is held by itself: the first and the last steps are, the slowest, those in the longest
// interval with each piece of the device's work, and blocks of neighbours drawn by hash; quantiles
// and models are of these. A run whose steps are inferred has one part, as only the whole of it
// shows them.
//
// Read all parts, then ask for the roles and for each trainer's facts, with the trace of the last
// part. Use once; not thread-safe.
class FactsAccumulator {
 public:
  // 64 Ki steps in blocks are 1,000 blocks: the median of a step time that varies by a quarter is
  // met within 1 %. They take 300 bytes each.
  static constexpr std::size_t kMaxSteps = 1u << 16;

  // `rules` must outlive this.
  explicit FactsAccumulator(const RuleTable& rules = RuleTable::builtIn(),
                            std::size_t maxSteps = kMaxSteps)
      : rules_(rules), max_(maxSteps) {}

  [[nodiscard]] const RuleTable& rules() const { return rules_; }
  // Reads all parts; the result is the trace with the last one.
  [[nodiscard]] Result<Trace> read(const EventSource& events, const TraceBounds& bounds = {});
  // The same for callers that ask for the roles alone.
  [[nodiscard]] Result<Trace> readRoles(const EventSource& events);
  // One part that is not the last. What is done with its rows; nothing where it has too few steps
  // to be split from those that follow.
  [[nodiscard]] RowsDone add(const Trace& trace);
  [[nodiscard]] bool severalParts() const { return until_ > Nanos{}; }

  // At the end. Who is who, with what only earlier parts show.
  [[nodiscard]] Roles rolesOf(const Trace& trace) const;
  // One trainer's whole run, once for each. `iterations`: the steps of a trainer without any known
  // to the hook. Without `labels` no stack is read.
  [[nodiscard]] TrainerFacts factsOf(const Trace& trace, TrainerIdentity who,
                                     const StackLabels* labels,
                                     std::vector<Interval> iterations = {});

 private:
  struct Known {
    CountedBefore before;
    TrainerFacts facts;
  };
  [[nodiscard]] Result<Trace> readBy(const EventSource& events, const TraceBounds& bounds,
                                     RowsDone (FactsAccumulator::*take)(const Trace&));
  [[nodiscard]] RowsDone addRoles(const Trace& trace);
  [[nodiscard]] Nanos settled(const Trace& trace) const;
  void addPart(const Trace& trace, TrainerTimeline timeline, const StackLabels* labels, Nanos end);
  void bound(const Trace& trace, TrainerFacts& facts) const;

  const RuleTable& rules_;
  std::size_t max_;
  Nanos until_{};
  Roles roles_;
  std::map<ProcessId, Known> trainers_;
};

// A trainer's whole run where the trace is the only part of it.
[[nodiscard]] TrainerFacts attribute(const Trace& trace, TrainerIdentity who,
                                     const StackLabels* labels = nullptr,
                                     std::vector<Interval> iterations = {});

}  // namespace stallprof
