// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "launch/setup/log.h"
#include "launch/setup/overrides.h"

namespace stallprof {

// Where the GPU agent is put, and when it records.
enum class GpuTracing {
  kOff,
  kWindows,  // into processes that use CUDA: only in windows, which only some programs can have
  kWhole     // from their start on; in windows where it costs too much and they can be had
};

// What `stallprof run` or `stallprof attach` was asked for. The command line has checked every
// value; the same object goes to the recorder and to the samplers, which check none again.
struct LaunchOptions {
  struct Report {
    std::string format;  // text, json, md or html
    std::string file;    // empty: text goes to stderr, others beside the recording
  };
  std::vector<std::string> command;  // at least one word; of attach the process's own
  std::string output;                // the recording, verbatim; empty: named after the command
  std::vector<Report> reports;       // the default text report is one of them, unless `none`
  unsigned hz = 100;                 // samples a second of each thread, 1 to 1000
  double budget = 1;                 // percent of the job's CPU, 0.1 to 25 (sampler/governor.h)
  std::uint64_t maxBytes = 0;        // of the recording without its log; 0: no limit
  bool python = true;                // read Python stacks; run: put the hook in
  bool native = true;                // sample native code, where perf events are permitted
  bool counters = false;             // count the CPUs' own events
  GpuTracing gpu = GpuTracing::kOff;
  bool nvtx = false;      // put the agent into processes that use NVTX, with `gpu` or without
  std::string price;      // per hour, as written; empty: not given
  std::string rules;      // a file of phase rules for the reports; empty: none
  std::string name;       // a pattern for the recording's name (recording_name.h); `output` wins
  Nanos progressEvery{};  // between two lines of progress on stderr; 0: none
  LogLevel logLevel = LogLevel::kInfo;
  std::vector<Untrusted> maps;  // what NVTX ranges mean, in the words of --map
  std::string colour = "auto";  // of the reports: auto, always or never
  Overrides overrides;          // what is changed in the command; of attach nothing
};

}  // namespace stallprof
