// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "launch/setup/scratch_view.h"

namespace stallprof {

// One command under `stallprof run`, in a process of its own, without a report.
struct RecordedRun {
  std::string recording, log;            // absolute; what the command prints goes to the log
  std::vector<std::string> command;      // at least one word
  std::string directory;                 // where it runs; empty: here
  std::vector<std::string> options;      // of `run`, beside those that every such run has
  std::vector<std::string> environment;  // more NAME=VALUE
  // A trial of ours: what the command leaves running is ended, too, all by TERM and after a grace
  // by KILL (5 s in a view; a minute on the user's own files, where it may write a checkpoint).
  bool trial = false;
  Nanos limit{};                      // of a trial: it is ended after that; 0: as long as it takes
  const ScratchView* view = nullptr;  // of a trial; null: on the user's own files
};

// Runs it to its end; the status as waitpid() gives it. Whatever kills this process ends the
// command by TERM, a trial as above; a signal that it notes (interruption.h) ends a trial so, too,
// and any other run, but for INT and QUIT: a terminal sends these to the command as well.
// The Error (kUsage) is for what could not be run at all, or not be recorded.
[[nodiscard]] Result<int> runRecorded(const RecordedRun& run);

// The Error where no run that this process starts would be recorded, though its command ran.
[[nodiscard]] Status checkRecorded();

// It ran longer than its limit.
[[nodiscard]] bool wasLate(int status);

// Whether a view can be had: why not.
[[nodiscard]] Status tryScratchView(const ScratchView& view);

// "ended with 0", "was ended by signal 9"
[[nodiscard]] std::string endOf(int status);
// The last line of a log, escaped; "": none.
[[nodiscard]] std::string lastLine(const std::string& log);

}  // namespace stallprof
