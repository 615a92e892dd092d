// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/model/workload.h"

namespace stallprof {

// How the pipeline is arranged: what a fix changes.
struct PipelineSettings {
  int workers = 0;
  int prefetch = 2;  // batches outstanding a worker
  bool inOrder = true;
  bool persistent = false;
  double cores = 1;  // usable
  double ioScale = 1, cpuScale = 1, loadScale = 1, periodicScale = 1;
  double ownScale = 1, copyScale = 1;  // of the trainer's step
  double deviceScale = 1;              // of its device's work
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
// are of the rest. No workers: fetch and compute take turns. Pure: same arguments, same answer. 0
// when there is nothing to play.
[[nodiscard]] double simulate(const Workload& workload, const PipelineSettings& settings,
                              const Draw& draw);

}  // namespace stallprof
