// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/source_line.h"

// What a search for the best setting of the loader ran, and what it found (`stallprof tune`).
namespace stallprof {

// One setting, run once.
struct TunedSetting {
  std::int32_t workers = 0;
  Maybe<std::int32_t> prefetch;   // batches ahead a worker; null: there are no workers
  Maybe<std::int32_t> threads;    // of each native pool; null: as the program has it
  Maybe<double> stepsPerSecond;   // null: it gave no steps
  Maybe<double> predicted;        // steps a second by the model; null: it has no answer
  Maybe<std::int64_t> peakBytes;  // resident, of all processes
  std::string why;                // it gave no steps: a clause
};

struct Tuned {
  SourceLine where;                    // of the loader
  std::vector<TunedSetting> settings;  // in the order of their runs; first the program as it is
  // The one that was then run by turns with the program as it is, and what that said.
  std::size_t compared = 0;
  Maybe<double> measured, low, high;  // old by new step time, with its bounds
  Maybe<double> moreBytes;            // peak memory of all processes, more than as it is
  std::string outcome;                // gain, no_gain, slower, undecided or failed
  std::string change;                 // that makes it, in the source: one line, not escaped
  // Why nothing is faster than the program as it is, or why the comparison failed: a clause, not
  // escaped; may be empty.
  std::string why;

  [[nodiscard]] bool gains() const { return outcome == "gain"; }
  // The setting to use: 0 is the program as it is.
  [[nodiscard]] std::size_t best() const { return gains() ? compared : 0; }
};

}  // namespace stallprof
