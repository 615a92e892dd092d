// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/text.h"

namespace stallprof {

// What `stallprof run` was asked for.
struct LaunchOptions {
  struct Report {
    std::string format;  // text, json, md or html
    std::string file;    // empty: text goes to stderr, others beside the recording
  };
  std::vector<std::string> command;  // at least one word
  std::string output;                // the recording, verbatim; empty: named after the command
  std::vector<Report> reports;       // the default text report is one of them, unless `none`
  unsigned hz = 100;
  bool python = true;
  bool native = true;        // sample native code, where perf events are permitted
  bool counters = false;     // count the CPUs' own events
  bool gpu = false;          // put the GPU agent into processes that use CUDA
  bool nvtx = false;         // and into those that use NVTX, with `gpu` or without
  std::string price;         // per hour, as written; empty: not given
  std::string rules;         // a file of phase rules for the reports; empty: none
  std::string name;          // a pattern for the recording's name (recording_name.h); `output` wins
  int progressSeconds = -1;  // between two lines of progress; 0: none, -1: as stderr is
  std::vector<Untrusted> maps;  // what NVTX ranges mean, in the words of --map
  std::string colour = "auto";  // of the reports: auto, always or never
};

}  // namespace stallprof
