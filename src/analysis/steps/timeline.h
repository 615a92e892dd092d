// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/steps/loops.h"
#include "analysis/steps/roles.h"
#include "trace/trace.h"

namespace stallprof {

// One epoch of a loader, by its fetches on one thread.
struct EpochSpan {
  std::uint32_t epoch = 0, loader = 0;
  std::uint64_t key = 0;               // 0: the iterator was not seen
  Nanos iterator{}, iteratorEnd{};     // the making of the iterator; both `begin` when not seen
  Nanos begin{}, end{};                // first fetch; end of the last
  std::vector<std::uint32_t> fetches;  // index in TrainerTimeline::fetches, those with a batch
  std::uint32_t firstFetch = 0;        // of all of them, those without a batch too
  bool ended = false;  // its last fetch brought no batch: `closing` is when that began
  Nanos closing{};
  bool reused = false;      // the workers were there already
  bool hasWorkers = false;  // batches come from worker processes
  bool byThreads = false;   // batches come from threads that cannot be distinguished: madeByThreads
  bool evaluation = false;  // steps.h
  bool counted = false;     // its batches are steps
};

// Batches of such a loader (tf.data) are made by threads of the trainer's process of which nothing
// is known: neither PyTorch's workers nor the thread that asks for them.
[[nodiscard]] inline bool madeByThreads(std::string_view kind) {
  return !kind.empty() && !kind.starts_with("torch.");
}

// Steps that the program annotated, on the trainer's thread (annotated_steps.h).
struct AnnotatedSteps {
  std::vector<Interval> iterations;  // by time, not overlapping: each from its begin to its own end
  SpanSource source = SpanSource::kNvtx;
  bool sure = false;  // marks, or mapped by the user: more than what a range is named
};

// What earlier parts of a trainer's run have counted (facts_accumulator.h); nothing at first.
struct CountedBefore {
  Nanos until{};      // of rows: 0 is nothing yet
  Nanos windowEnd{};  // of what is counted of it
  std::uint32_t steps = 0;
  std::map<std::uint32_t, std::size_t> fetches;  // of each loader's counted epochs
  bool updates = false;                          // an optimizer stepped
};

// What the trainer's own thread did, as the hook recorded it; nothing is judged here but epochs.
struct TrainerTimeline {
  TrainerIdentity who;
  std::vector<const Timed<Fetch>*> fetches;          // by time, none inside another
  std::vector<std::uint32_t> epochOf;                // of each fetch: index in `epochs`
  std::vector<const Timed<OptimizerStep>*> updates;  // every optimizer's steps
  // Those that are steps where there is no loader: of the optimizer that stepped most, and of
  // others where they do not overlap it (one for each fold or stage). What overlaps steps beside
  // it, as the two of a GAN do.
  std::vector<const Timed<OptimizerStep>*> stepping;
  std::vector<const Timed<PhaseSpan>*> spans;
  std::vector<EpochSpan> epochs;  // by first fetch
  AnnotatedSteps annotated;
  std::vector<Interval>
      iterations;  // of the training loop by its stacks, where the hook knows none
  CountedBefore before;

  // The first optimizer step that begins in [begin, end), or null.
  [[nodiscard]] const Timed<OptimizerStep>* firstStep(Nanos begin, Nanos end) const;
  // The last one.
  [[nodiscard]] const Timed<OptimizerStep>* lastStep(Nanos begin, Nanos end) const;
  // Whether `at` lies between the last update of a step that begins with a fetch and the next
  // fetch.
  [[nodiscard]] bool afterUpdate(Nanos at) const;
  // When, in an interval, the last fetch or update ended; its begin where none did.
  [[nodiscard]] Nanos lastEnd(const Interval& in) const;
  // The next fetch or iterator of another epoch than `epoch` that begins at or after `from`.
  [[nodiscard]] Nanos nextEpoch(std::uint32_t epoch, Nanos from) const;
  // When an epoch that has no fetch before `from` begins.
  [[nodiscard]] Nanos nextNewEpoch(Nanos from) const;
  // A fetch of another epoch lies between the making of its iterator and its first own: the
  // iterator was made ahead, and the time between is not of this epoch.
  [[nodiscard]] bool madeAhead(const EpochSpan& epoch) const;
  // From when on, in its fetch `index`, the trainer waits no more: its own CPU receives the batch,
  // or ends the epoch's workers. The fetch's end where it makes the batch itself.
  [[nodiscard]] Nanos waitEnd(std::size_t index) const;
  // Another epoch was under way when this one began and went on after it.
  [[nodiscard]] bool nested(const EpochSpan& epoch) const;
};

// Of the hook (torch_modes.py): from the program's eval() of a module to its train().
inline constexpr std::string_view kEvaluationSpan = "evaluation";
// What a program itself announces as periodic may be anything: its name says what.
[[nodiscard]] bool isEvaluation(const Trace& trace, const PhaseSpan& span);
// A call that writes a checkpoint.
[[nodiscard]] bool isSave(const Trace& trace, const PhaseSpan& span);
// When a thread evaluates, by such spans, and when it saves: what follows eval() may save before
// train() comes, and one save may hold another.
[[nodiscard]] Intervals evaluationsOf(const Trace& trace, ThreadId thread);
[[nodiscard]] Intervals savesOf(const Trace& trace, ThreadId thread);
// The end of a span of the trainer's thread. One from eval() to train() ends where training fetches
// again, or makes its iterator, after the last batch of the evaluation's: its step may call
// train(). Once planSteps() has marked epochs.
[[nodiscard]] Nanos endOf(const Trace& trace, const TrainerTimeline& timeline,
                          const Timed<PhaseSpan>& span);
// evaluationsOf() of the trainer's thread with such ends, in the order of their begins.
[[nodiscard]] Intervals evaluationsOf(const Trace& trace, const TrainerTimeline& timeline);

[[nodiscard]] TrainerTimeline readTimeline(const Trace& trace, TrainerIdentity who);

}  // namespace stallprof
