// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/facts/analysis.h"

// A fix tried by measurement: runs of the user's command as it is and with the fix made from
// outside, and what they say.
namespace stallprof {

enum class TrialVerdict : std::uint8_t {
  kUndecided,  // too few runs, or too much noise, for any of the others
  kGain,
  kNoGain,  // surely less than kWorthTrying
  kSlower,
  kFailed,  // a run with the fix gave no steps
};
[[nodiscard]] constexpr std::string_view nameOf(TrialVerdict verdict) {
  constexpr std::string_view kNames[] = {"undecided", "gain", "no_gain", "slower", "failed"};
  return kNames[static_cast<std::size_t>(verdict)];
}

// The least gain that counts, as the gate's floor.
inline constexpr double kWorthTrying = 1.03;

struct Trial {
  std::string finding, advice;       // their ids: one advice is tried once
  std::vector<std::string> options;  // of `stallprof run`, that make the change
  Prediction predicted;
  std::vector<double> base, fix;     // seconds a step of each run's window, in order
  Maybe<double> speedup, low, high;  // base by fix: Hodges and Lehmann's, bounds at the alpha used
  TrialVerdict verdict = TrialVerdict::kUndecided;
  std::string why;  // one clause, where it failed or is not decided
  // Peak memory of all processes with the fix, more than without: medians. Null: not known.
  Maybe<double> moreBytes{};
};

// A search for the best setting of the loader: its runs, and its best by turns with the program as
// it is.
struct TunedTrial {
  Tuned found;
  Trial trial;  // without a finding
};
// What the trial says, in `found`.
void settle(TunedTrial& tuned);

// What is known of the trials of a recording: kept beside it, shown by its reports.
struct Trials {
  bool inPlace = false;      // on the user's own files
  double windowSeconds = 0;  // of steps in each run
  std::vector<Trial> trials;
  // Seconds a step of the command with its data always ready, and of its loader alone.
  Maybe<double> replayStep, drainStep;
  std::vector<std::string> notes;  // ready to print
  Maybe<TunedTrial> tuned{};
  bool tunedLast = false;  // after `trials`: what is measured but once is beside its runs

  // Seconds a step of the command as it is, in the newest trial that has any. Null: in none.
  [[nodiscard]] const std::vector<double>* baseRuns() const;
};

// Runs end after their steps, which the hook counts. Of a program whose steps it does not see each
// run would take as long as the recorded one: why that is not tried, over kLongestWhole; else
// empty.
inline constexpr Nanos kLongestWhole = std::chrono::minutes(10);
[[nodiscard]] std::string whyTooLong(const Analysis& analysis);

// The fixes of a report that `run` can make, best first, at most so many; the same change once.
// With `onlyAdvice` those of that id alone.
[[nodiscard]] std::vector<Trial> trialsOf(const Analysis& analysis, std::size_t maximum,
                                          const std::string& onlyAdvice = {});

// Judges by the order of the runs (gate/rank_test.h), one-sided at `alpha`.
void judgeTrial(Trial& trial, double alpha);

// One whose runs ended before it was judged, and why: the ratio of what was measured is no verdict.
void leaveUndecided(Trial& trial, const std::string& why);

// Seconds a step of the window, and of these what is periodic: evaluation, saving, logging. A run
// of seconds holds more or less of it than its share, as its end falls; the recorded one knows it.
struct StepSeconds {
  double plain = 0, periodic = 0;
};
// Null: no step.
[[nodiscard]] Maybe<StepSeconds> stepSeconds(const Analysis& analysis);

// Whether a run with so many evaluations in its window has as much periodic work a step as the
// recorded run. Each run is then measured with its own, because a fix can change that, too.
[[nodiscard]] bool representsPeriodicWork(const StepSeconds& run, double recordedPeriodic,
                                          std::size_t evaluations);

// What the two runs ran on, where it differs: a clause. Empty: nothing that is known of both.
[[nodiscard]] std::string otherHost(const RunInfo& recorded, const RunInfo& here);

// The unchanged program had another pace in the trials than when it was recorded: one sentence or
// two. Empty: it had not, or one of them is not known.
[[nodiscard]] std::string otherPace(const Trials& trials, const Analysis& recorded);

// Puts measured beside predicted gains into `analysis`, and ranks again: a fix that was measured
// counts by its measurement. Ceilings of trials at another pace are left out: beside what was
// recorded they would say what is true of neither.
void applyTrials(const Trials& trials, Analysis& analysis);

// "--loader", FILE:LINE of the training's loader; nothing where there is one, null where PyTorch
// made none.
[[nodiscard]] Maybe<std::vector<std::string>> loaderOptions(const Analysis& analysis);

// "1.62x (1.55x - 1.70x), 4 runs each"; what was found where there is no gain.
[[nodiscard]] std::string outcomeText(const Trial& trial);

}  // namespace stallprof
