// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/loader_model.h"

// Which settings of a loader are run to find the fastest: the program as it is, then the model's
// best number of workers, then up and down from the best so far, one setting at a time. Pure: what
// comes next follows from what was run.
namespace stallprof {

struct TuneSetting {
  int workers = 0;
  int prefetch = 2;  // batches ahead a worker; of no workers that of the program as it is
  int threads = 0;   // of each native pool; 0: as the program has it
  bool operator==(const TuneSetting&) const = default;
};

// One run of a setting.
struct TuneRun {
  TuneSetting setting;
  Maybe<double> step;       // seconds; null: it gave no steps
  Maybe<double> peakBytes;  // resident, of all processes; null: not known
};

struct TuneSpace {
  TuneSetting base;                             // the program as it is
  std::vector<int> workers, prefetch, threads;  // what is tried of each, in order; base's among it
  int guess = 0;                                // workers, by the model; of `workers`
  bool threadsFirst = false;   // before prefetch: the step keeps more than one core busy
  std::vector<double> gain;    // by workers from 0, as LoaderModel has it; may be empty
  std::size_t maximum = 5;     // settings
  double workerBytes = 0;      // that one more worker of each rank takes, until runs say more; 0:
                               // not known
  double batchBytes = 0;       // of a batch of each rank that lies ready; 0: not known
  Maybe<double> memory;        // bytes that may be used more than by the program as it is
  Maybe<double> sharedMemory;  // for batches that lie ready
};

// At most five numbers of workers from 0 to `top`: those of `base` and `guess`, and the others next
// to `guess`, closer together where they are few.
[[nodiscard]] std::vector<int> workerCounts(int base, int guess, int top);

[[nodiscard]] TuneSpace tuneSpace(const LoaderModel& model, const TuneSetting& base,
                                  std::size_t maximum);

// Null once the search is over: the most settings were run, or no neighbour of the best is left.
// The memory that a setting takes is estimated from the runs there are; what does not fit is not
// run.
[[nodiscard]] Maybe<TuneSetting> nextSetting(const TuneSpace& space,
                                             const std::vector<TuneRun>& runs);

// The first of `runs`, the program as it is, where nothing is 2 % faster; else the one with the
// fewest workers, batches ahead and changes of threads within 2 % of the fastest.
[[nodiscard]] std::size_t bestRun(const std::vector<TuneRun>& runs);
// Among all but the first; 0 where none of them gave steps.
[[nodiscard]] std::size_t bestOther(const std::vector<TuneRun>& runs);

}  // namespace stallprof
