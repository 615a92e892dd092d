// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "analysis/blame/samples/batch_releases.h"
#include "analysis/blame/samples/function_tally.h"
#include "analysis/blame/samples/native_split.h"
#include "analysis/blame/samples/producer_threads.h"
#include "analysis/blame/samples/ranks.h"
#include "analysis/facts/facts.h"
#include "analysis/steps/loops/loop_lines.h"
#include "analysis/steps/own_phases.h"
#include "analysis/steps/pieces.h"
#include "analysis/steps/timeline.h"
#include "classify/stack_labels.h"

namespace stallprof {

// What the training thread does, by its samples in [begin, end), outside of batches that it makes
// itself. All that is passed outlives it.
class TrainerSamples {
 public:
  TrainerSamples(const Trace& trace, const StackLabels& labels, const TrainerTimeline& timeline,
                 const Interval& within, const ProducerThreads& threads, NativeSplit& split,
                 FunctionTally& functions, StackFacts& facts);

  // Adds a sample to the facts and functions; they come in order of time. `piece`: of the thread's
  // time as attribution drew it, null between them. `idle`: in a long gap of its devices.
  void take(const Piece* piece, const Sample& sample, bool idle);
  // Adds the table of the loop's lines to the facts.
  void end();

 private:
  struct Place;
  struct Seen;
  // Sets in `what` what the program's own code is for, where no rule says.
  void labelOwnCode(const StackLabel& label, const Place& place, const Sample& sample,
                    SampleLabel& what);
  [[nodiscard]] Seen seenIn(const StackLabel& label, const Place& place, const Sample& sample,
                            SampleLabel what);
  [[nodiscard]] Phase phaseInStep(const StackLabel& label, const Sample& sample, bool unclear,
                                  SampleLabel& what);
  // The seconds that a sample stands for.
  [[nodiscard]] double secondsOf(const Sample& sample) const;
  // Where no fetch is exact, and samples miss much of the time that the thread ran by the kernel's
  // clock: those that find it running then stand for that time, the others for the rest.
  void weigh(const ThreadLife& thread, const Interval& within);
  void count(const StackLabel& label, const Place& place, const Sample& sample, const Seen& seen);
  void countCompilation(const SampleLabel& what, const Sample& sample);
  void countPrediction(const SampleLabel& what, const Sample& sample);
  void countLine(Phase phase, const Sample& sample);
  void countStep(const StackLabel& label, const Sample& sample, Phase phase);
  [[nodiscard]] bool computes(const StackLabel& label, const Sample& sample) const;

  const Trace& trace_;
  const StackLabels& labels_;
  const TrainerTimeline& timeline_;
  const ProducerThreads& threads_;
  NativeSplit& split_;
  FunctionTally& functions_;
  StackFacts& facts_;
  const OwnPhases own_;
  Maybe<BatchReleases> releases_;  // of batches from workers
  LoopLines lines_, shown_;        // by which samples are judged; that the report's table is of
  std::map<std::uint32_t, LoopLineSamples> ofLine_;
  RankWaits ranks_;
  const bool stepless_;
  double ran_ = 1, idle_ = 1;  // weights of samples that find the thread running, and of others
  const Nanos warm_;   // without steps: what is compiled until then is so for the first time
  const bool unseen_;  // fetches, if there are any: what is blocked in a step may wait for a batch
  bool compiling_ = false, predicting_ = false;  // the last sample is
};

}  // namespace stallprof
