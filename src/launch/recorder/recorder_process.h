// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "launch/process/control.h"
#include "launch/process/witness.h"
#include "launch/recorder/recorder.h"

namespace stallprof {

// What the user asked for, and what is known of the command before it starts.
[[nodiscard]] RecorderPlan makePlan(const LaunchOptions& options,
                                    const std::vector<std::string>& environment,
                                    const std::string& recording);

// The recorder as its parent sees it: how `run` and `attach` start it, name the command to it and
// end it. No call waits for longer than it says: the recorder may hang on a dead disk.
class RecorderProcess {
 public:
  // Forks the recorder and waits up to 10 s for the recording to be made. Where its name is taken,
  // and the user gave none with -o, it takes the next one: `plan` and `recording` say which.
  // Error::Kind::kIo: the recording cannot be made (a sentence for the user); kUsage: its name is
  // taken; kUnsupported: there is no recorder.
  [[nodiscard]] static Result<RecorderProcess> start(RecorderPlan& plan,
                                                     const std::vector<std::string>& environment,
                                                     std::string& recording);

  // The command is process `command`: returns when the samplers are open on it, or at `limit`.
  void arm(pid_t command, Nanos limit);
  // The command ended with `code`, or by it as a signal (`signalled`), at `at`. What the recorder
  // answers once the recording is complete; none at `limit`, or where it is dead.
  [[nodiscard]] std::optional<ControlMessage> end(int code, bool signalled, Nanos at, Nanos limit);
  // The command never started: removes the recording and reaps the recorder, within `limit`.
  void discard(Nanos limit);

  [[nodiscard]] Control& control() { return control_; }
  [[nodiscard]] const Control& control() const { return control_; }
  [[nodiscard]] const Witness& witness() const { return witness_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Paths of the event memory and of the activity memory; empty: there is none.
  [[nodiscard]] const std::string& events() const { return events_; }
  [[nodiscard]] const std::string& activity() const { return activity_; }

 private:
  [[nodiscard]] static Result<RecorderProcess> startAt(const RecorderPlan& plan);

  RecorderProcess(Control control, const Witness& witness, pid_t pid, const ControlMessage& ready)
      : control_(std::move(control)),
        witness_(witness),
        pid_(pid),
        events_(ready.text),
        activity_(ready.second) {}

  Control control_;
  Witness witness_;
  pid_t pid_;
  std::string events_, activity_;
};

}  // namespace stallprof
