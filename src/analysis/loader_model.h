// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/analyze.h"

namespace stallprof {

// What the recording says of other settings of the trainer's loader, for a search that measures
// them.
struct LoaderModel {
  SourceLine where;            // of the loader
  int workers = 0;             // of it
  int limit = 0;               // workers that the cores are enough for, and the memory
  int memoryLimit = 0;         // that the memory is enough for
  std::vector<double> gain;    // old by new step time, by workers from 0; empty: no model fits
  double trainerCores = 1;     // that the training process keeps busy in its step
  double cores = 1;            // that the job may use
  int ranks = 1;               // that train on this host, each with such a loader
  double coresBusy = 0;        // of them, by the job and others
  double batchBytes = 0;       // mean; 0: not known
  double workerBytes = 0;      // that one more worker takes; 0: not known
  Maybe<double> memory;        // free, bytes, a fifth left to page cache and trainer
  Maybe<double> sharedMemory;  // of /dev/shm, likewise
  bool iterable = false;       // each worker goes through the data set, unless it divides itself

  // The fewest workers within 2 % of the best, where a model fits.
  [[nodiscard]] int bestWorkers() const;
};

// Null where no loader of PyTorch's kind fed the trainer.
[[nodiscard]] Maybe<LoaderModel> loaderModel(const Trace& trace, const Analyzed& analyzed);

}  // namespace stallprof
