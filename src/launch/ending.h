// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "launch/process/control.h"
#include "launch/setup/options.h"

namespace stallprof {

// What follows the command's end: the reports, each by our own binary in a process of its own, so
// that no bug or slowness there reaches the status we owe.
struct EndingPlan {
  std::string recording;
  const LaunchOptions& options;
  bool hurry = false;                 // the command was asked to end: no default report
  std::function<bool()> interrupted;  // someone wants us gone: stop at once
};
void writeReports(const EndingPlan& plan);

// For the line of how it ended: what became of the recording, "" where it is whole. `closed`: what
// the recorder said at its end; without that, whether it still `runs`.
[[nodiscard]] std::string endOfRecording(const std::optional<ControlMessage>& closed, bool runs,
                                         const std::string& recording);

// Ends this process as the command ended: with its code, or by its signal, without a core file of
// ours beside the command's.
[[noreturn]] void endAs(int code, int signal);

}  // namespace stallprof
