// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "experiment/trial.h"
#include "experiment/trial_end.h"
#include "launch/setup/scratch_view.h"

namespace stallprof {

// How the note begins on what counts as evaluation, saving and logging.
inline constexpr std::string_view kPeriodicNote = "Evaluation, saving and logging count as";

// How the trials of a recording are run.
struct VerifyPlan {
  std::vector<std::string> command;
  std::string directory;                 // where the recorded run ran
  std::string place;                     // a directory for what is made, there and absolute
  std::vector<std::string> base;         // options of `run` in all of them
  std::vector<std::string> environment;  // NAME=VALUE, more than ours
  bool trains = false;                   // the recorded run updates a model
  RunInfo recorded;                      // its host
  double periodicStep = 0;               // its seconds a step of evaluation, saving and logging
  std::vector<std::string> window;       // options of `run` that end each run
  std::size_t runs = 4, maximum = 6;     // a side: for the first judgement, at most
  bool ceilings = false;                 // of a loader that can be replayed
  std::vector<std::string> loader;       // options of `run` that name it; empty: the only one
  unsigned drainSeconds = 10;
  const ScratchView* view = nullptr;  // null: on the user's own files
};

// Runs the command as it is and with each fix by turns (base 1 2, 2 1 base, ...), so that whatever
// drifts on the host falls on all of them. Judges after `runs` a side, and after `maximum`: what is
// decided is run no more. A line a run on stderr. `keep` is called with what is known after each
// round. The Error (kUsage) is for a command that gives no steps as it is, or an interruption,
// before any of that; later the trials that are open stay undecided, with that reason.
[[nodiscard]] Status runTrials(const VerifyPlan& plan, Trials& trials,
                               const std::function<void(const Trials&)>& keep);

// One run of the command: of its window.
struct MeasuredRun {
  double step = 0;          // seconds; its periodic work may be the recorded run's
  Maybe<double> peakBytes;  // resident, of all processes
  TrialEnd end;             // of a run of seconds of steps; else nothing is silent
  std::string unsure;       // why its steps may say nothing of a gain; empty: they do
  int status = 0;           // as waitpid() gives it
};

// Settings that are run once each, every one chosen by what the earlier ones gave; the first is the
// command as it is.
struct Search {
  std::string name;  // of its runs
  // Options of `run` of the next one; null: it is over.
  std::function<Maybe<std::vector<std::string>>()> next;
  // What it gave. An Error ends the whole.
  std::function<Status(const Result<MeasuredRun>&)> take;
};
// The whole search; then `chosen` says what of it is tried by turns with the command as it is, in
// the same `trials`, as runTrials() does.
[[nodiscard]] Status runSearch(VerifyPlan& plan, const Search& search, Trials& trials,
                               const std::function<void()>& chosen,
                               const std::function<void(const Trials&)>& keep);

// Variables that keep experiment trackers from the network, as NAME=VALUE.
[[nodiscard]] const std::vector<std::string>& offlineTrackers();

}  // namespace stallprof
