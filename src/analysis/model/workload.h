// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/facts/facts.h"

// What a training run asks of its machine, apart from how it was arranged: the model's input.
// All times are seconds. CPU is demand (what the work takes with a core to itself), never the wall
// time it took under contention.
namespace stallprof {

// One batch, as its producer has to make it.
struct BatchDemand {
  double io = 0;       // blocked on storage or network
  double blocked = 0;  // blocked otherwise: sleep, lock
  double cpu = 0;      // wall time of its CPU part with the cores it asks for
  double pool = 1;     // cores it keeps busy meanwhile: above 1 with OpenMP or BLAS pools
  double put = 0;      // taking its index and handing the batch to the queue
  double excess = 0;   // share of blocked and cpu that slow samples take beyond the median
  bool first = false;  // of a worker that was just started: its memory is not touched yet
  [[nodiscard]] double alone() const { return io + blocked + cpu + put; }
  [[nodiscard]] double coreSeconds() const { return cpu * pool; }
};

// One step of the trainer, its data ready and its cores free.
struct StepDemand {
  double own = 0;       // compute, sync, comm and what no rule claims
  double load = 0;      // its CPU inside next(): unpickling, pinning
  double periodic = 0;  // checkpoint, evaluation, logging
  double copy = 0;      // blocked in copies to a device
  bool first = false;  // after workers were started: pages that these share are copied when written
  // All that a device's work may go on beside.
  [[nodiscard]] double beside() const { return own + load + copy; }
};

// Of a list of batches or steps: those that are `first`, and those that are not. Both empty where
// none is.
struct Firsts {
  std::vector<std::size_t> firsts, others;
};

struct Workload {
  std::vector<BatchDemand> batches;  // of the window, by delivery
  std::vector<StepDemand> steps;     // of the window
  Firsts ofBatches, ofSteps;
  double trainerCpuRatio = 1;  // cores the trainer's process keeps busy in own + load
  double stepsPerEpoch = 0;    // 0: no epoch began in the window
  double startup = 0;          // an epoch's start: until the first worker runs
  // Seconds a step of the window that lie between steps (after an epoch, before the next).
  double apart = 0;          // evaluation and what no rule claims: no setting changes it
  double apartPeriodic = 0;  // checkpoints there
  double batchBytes = 0;     // mean; 0: not known
  // Measured with no workers: fetch and step took turns, and the device worked through both. Then
  // `own` is without the part of the fetch that its work hid.
  bool inProcess = false;
  double device = 0;  // a device's work a step, mean; 0: not known. No step gets shorter than that
};

enum class Workers { kNone, kPersistent, kStartedEachEpoch };
[[nodiscard]] Workload workloadOf(const TrainerFacts& trainer, Workers workers);

// Means over the window, for ceilings and evidence.
struct Demand {
  BatchDemand batch;
  StepDemand step;
  double batchCpu = 0;    // core seconds a batch
  double trainerCpu = 0;  // core seconds a step, periodic work not counted
  double batchCv = 0;     // of alone(): sample deviation over mean
  double batchMaxOverMedian = 0;
};
[[nodiscard]] Demand demandOf(const Workload& workload);

}  // namespace stallprof
