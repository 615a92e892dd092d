// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/facts/facts.h"

// What a training run asks of its machine, apart from how it was arranged, and how long it takes
// under another arrangement. All times are seconds. CPU is demand (what the work takes with a core
// to itself), never the wall time it took under contention.
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

// Evaluation whose loader takes the settings that the trainer's does, as one line makes both; of a
// step of the window.
struct EvaluationDemand {
  double start = 0;       // seconds in which workers are started, ended, and first awaited
  double count = 0;       // evaluations
  double batches = 0;     // of the training's size
  double firstStart = 0;  // share of `start` that is a loader's first: persistent workers leave it
};

struct Workload {
  std::vector<BatchDemand> batches;  // of the window, by delivery
  std::vector<StepDemand> steps;     // of the window
  Firsts ofBatches, ofSteps;
  double trainerCpuRatio = 1;  // cores the trainer's process keeps busy in own + load
  double stepsPerEpoch = 0;    // 0: no epoch began in the window
  double startup = 0;          // an epoch's start: until the first worker runs
  double firstStart = 0;  // share of the window's epochs that are their loader's first: these start
                          // persistent workers, too
  // Seconds a step of the window that lie between steps (after an epoch, before the next).
  double apart = 0;  // evaluation and what no rule claims: settings change `evaluation` of it
  double apartPeriodic = 0;     // checkpoints there
  EvaluationDemand evaluation;  // a part of these, or of the steps' periodic work
  BatchDemand meanBatch;
  double batchBytes = 0;  // mean; 0: not known
  // Measured with no workers: fetch and step took turns, and the device worked through both. Then
  // `own` is without the part of the fetch that its work hid.
  bool inProcess = false;
  double device = 0;  // a device's work a step, mean; 0: not known. No step gets shorter than that
  // Of the loaders that are zipped with this one the slowest, in seconds a step: no setting of this
  // one makes it faster. 0: none has workers.
  double zipped = 0;
  int zippedWorkers = 0;
  bool zippedReads = false;  // its workers are blocked on reading most of that time
  // Seconds a step that a lock which the workers share is held: no number of them makes it shorter.
  double locked = 0;
};

enum class Workers { kNone, kPersistent, kStartedEachEpoch };
// `childCpu`: RunFacts.
[[nodiscard]] Workload workloadOf(const TrainerFacts& trainer, Workers workers,
                                  double childCpu = 0);

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

// How the pipeline is arranged: what a fix changes.
struct PipelineSettings {
  int workers = 0;
  int prefetch = 2;  // batches outstanding a worker
  bool inOrder = true;
  bool persistent = false;
  bool oneEpoch = false;  // no step begins an epoch
  double cores = 1;       // usable
  double ioScale = 1, cpuScale = 1, loadScale = 1, periodicScale = 1;
  double ownScale = 1, copyScale = 1;  // of the trainer's step
  double deviceScale = 1;              // of its device's work
  double zippedScale = 1;              // of what zipped loaders need for a step
  double lockedScale = 1;              // of the time that a lock of the workers is held
  bool evenSamples = false;            // slow samples take what the median does
  bool singleThreaded = false;         // a worker's pools switched off: the same work on one thread
  double startup = -1;                 // seconds an epoch; below 0: the workload's own
  bool slowFirsts = false;  // an epoch's first batches and step stay slow with persistent workers
  double handoff = 0;       // seconds of the trainer's CPU a step, on top of the workload's
  double sending = 0;       // seconds of the producer's CPU a batch, likewise
  // Most seconds that a worker's first batch of an epoch is late where its second keeps it at work.
  double firstSend = 0;
};

// Which of the workload's steps and batches to play, in order. The same draw under two settings
// compares them on the same luck.
using Draw = std::vector<std::uint32_t>;
// Blocks of `block` consecutive steps, with replacement: keeps the correlation of neighbours.
[[nodiscard]] Draw drawBlocks(std::size_t from, std::size_t steps, std::size_t block,
                              std::uint64_t seed);

// Mean seconds a step of the PyTorch DataLoader discipline, played event by event: workers x
// prefetch batches outstanding, one refill for each batch delivered; in order: round-robin
// dispatch and delivery by index, so one slow batch idles the rest; not in order: the next worker
// with room, delivery on arrival. CPU parts share `cores` as a processor does (everything runnable
// slows alike when more is runnable than there are cores). Where workers are started with each
// epoch, its first batches and its first step are played as slowly as such were seen; all others
// are of the rest. No workers: fetch and compute take turns. No step is shorter than zipped loaders
// need for it, nor than a lock of the workers is held for it. Evaluation with the same settings
// starts as many workers, or makes its batches itself. Pure: same arguments, same answer. 0 when
// there is nothing to play.
[[nodiscard]] double simulate(const Workload& workload, const PipelineSettings& settings,
                              const Draw& draw);

}  // namespace stallprof
