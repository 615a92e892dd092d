// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "gate/run.h"

namespace stallprof {

// A run of a made-up host that stepped `milliseconds` long and waited `wait` of its window.
inline GateRun sampleRun(const std::string& path, double milliseconds, double wait = 0.10) {
  GateRun run;
  run.path = path;
  run.numbers = {{"steps.time_ns.p50", milliseconds * 1e6},
                 {"steps.rate_per_s", 1000 / milliseconds},
                 {"steps.count", 500.0},
                 {"steps.window_count", 400.0},
                 {"verdict.au_ratio", 1 - wait},
                 {"breakdown.ratio.data_wait", wait}};
  run.host = {"Example CPU", "8", "", "torch 2.1.0"};
  run.exitCode = 0;
  run.suspects = {{"transform.slow_op", "One function holds the loader", "train.py", 31, 0.3}};
  return run;
}

// Eight runs that differ by `noise`, half of them up and half down.
inline std::vector<GateRun> sampleSide(double milliseconds, double noise, double wait = 0.10,
                                       std::size_t runs = 8) {
  std::vector<GateRun> side;
  for (std::size_t i = 0; i < runs; ++i)
    side.push_back(sampleRun("run-" + std::to_string(i),
                             milliseconds * (1 + (i % 2 == 0 ? noise : -noise)), wait));
  return side;
}

}  // namespace stallprof
