// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

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

// Ends this process as the command ended: with its code, or by its signal, without a core file of
// ours beside the command's.
[[noreturn]] void endAs(int code, int signal);

}  // namespace stallprof
