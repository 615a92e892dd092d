// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "base/time.h"
#include "event/strings.h"

namespace stallprof {

// What is known of the job's steps while it runs.
struct StepPace {
  Nanos step{};                          // mean of the last ones; 0: not known
  unsigned workers = 0;                  // of its loader, the most seen
  bool ranges = false;                   // the program reports ranges, which may be steps
  std::span<const ThreadId> trainers{};  // threads that make steps; only to be read at once
};

// When sampling pauses, so that the analysis can compare steps with and without it
// (analysis/describe/README.md). Pauses begin once the job is seen to step: without steps there is
// nothing to compare, and a pause is only a hole. A pause lasts for some steps, drawn at random
// together with the time until the next one, so that neither falls in step with epochs or
// checkpoints. Pure: no clock is read.
class PauseSchedule {
 public:
  // Of the time, in every run. `kShareVariable` in the environment asks for more, in percent, up to
  // 50; 0 is none.
  static constexpr double kShare = 0.03, kMaxShare = 0.5;
  static constexpr const char* kShareVariable = "STALLPROF_PAUSE_PERCENT";
  // A window holds at least so many steps, as the two at its ends are in part of the other kind,
  // and twice as many as there are workers: each step's batch was made over that many.
  static constexpr unsigned kSteps = 4;
  // The shorter a window, the less a busy host changes from one to the next: of a training of 9 ms
  // a step beside other programs, 80 s resolved 2.5 % with windows from 200 ms, 1.4 % from 100 ms
  // and 0.9 % from 50 ms. kBlind: of the shortest where steps are announced as ranges.
  static constexpr Nanos kShortest{60'000'000}, kBlind{200'000'000}, kLongest{10'000'000'000};
  static constexpr Nanos kStart{5'000'000'000};  // from when steps are known to the first pause

  explicit PauseSchedule(double share, std::uint64_t seed);
  // The share that the environment asks for, else kShare.
  [[nodiscard]] static double shareAsked();

  // To be called now and then. Plans the first pause.
  void update(Nanos now, const StepPace& pace);
  // When paused() is to change: Nanos::max() while none is planned.
  [[nodiscard]] Nanos due() const { return due_; }
  [[nodiscard]] bool paused() const { return paused_; }
  // It has changed: plans the next change.
  void turn(Nanos now);

 private:
  [[nodiscard]] Nanos window() const;  // the shortest of its windows; 0: steps are too long
  [[nodiscard]] Nanos active();

  double share_;
  std::uint64_t random_;
  StepPace pace_;
  Nanos due_ = Nanos::max();
  bool paused_ = false;
};

}  // namespace stallprof
