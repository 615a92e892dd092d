// SPDX-License-Identifier: MIT
#pragma once

#include "stallprof/version.h"

namespace stallprof {

inline constexpr char kVersionLine[] = "stallprof " STALLPROF_VERSION;

inline constexpr char kUsage[] =
    R"(stallprof finds what holds a training run back.

  stallprof run [options] -- COMMAND...   run a training command, watched; a report at the end
  stallprof report RECORDING              the report of a recording, again or in another format
  stallprof compare BASE... -- HEAD...    two sets of runs side by side
  stallprof gate BASE... -- HEAD...       whether a change may pass: exit status 1 on a regression
  stallprof export -f FORMAT RECORDING    a recording for other tools: timelines, stacks, tables
  stallprof import FILE -o RECORDING      a trace of PyTorch's profiler as a recording
  stallprof explain ID                    what a finding means, how it is found, when it is wrong
  stallprof doctor                        what this host lets us see, and what would show more
  stallprof --version

Each command has its own --help.
)";

}  // namespace stallprof
