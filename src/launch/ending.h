// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/options.h"

namespace stallprof {

// What follows the command's end: the reports, each by our own binary in a process of its own, so
// that no bug or slowness there reaches the status we owe.
struct EndingPlan {
  std::string recording;
  std::vector<LaunchOptions::Report> reports;
  std::string price;
  bool hurry = false;                 // the command was told to end: no default report
  std::function<bool()> interrupted;  // someone wants us gone: stop at once
  std::string rules;                  // as LaunchOptions::rules
  std::string colour = "auto";        // as LaunchOptions::colour
};
void writeReports(const EndingPlan& plan);

// Ends this process as the command ended: with its code, or by its signal, without a core file of
// ours beside the command's.
[[noreturn]] void endAs(int code, int signal);

}  // namespace stallprof
