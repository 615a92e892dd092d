// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/build.h"

// Fixes that several findings share. Null where the run has no room for it, or the model finds no
// gain (under 1 %).
namespace stallprof {

inline constexpr double kNoGain = 1.01;

// The same Python takes longer in a worker than it takes in the trainer: its heap has not grown to
// the sizes of batches, so freed memory goes back to the kernel and is faulted in again.
// Measured 1.0 (puppet) to 1.2 times (the demo classifier, 3,300 -> 7,700 page faults a batch).
inline constexpr double kWorkerCpu = 1.15, kMinWorkerCpu = 1.0, kMaxWorkerCpu = 1.3;

// What receiving a batch from a worker costs the trainer: descriptors, each asked of a thread of
// the worker, and an unpickle. Measured 0.3 ms for an image batch, 0.8 for two tensors of a worker
// that is at work on the next batch (PyTorch 1.13), 1.4 for two of 100 kB (PyTorch 2.15), 2.2 to
// 2.4 for two (reports/handover.md, 1.13): a host's wake-ups of processes, of which it is made,
// differ as much. And either side touches its bytes in fresh shared memory, page by page. The cost
// of a page fault is measured in the run (RunFacts::faultSeconds), to which its copy adds 0.4 us at
// 10 GB/s. Where the run has no such measurement, RunFacts::kFaultSeconds is assumed, within a
// factor of 3.
inline constexpr double kHandoffSeconds = 1.5e-3, kMinHandoff = 0.3e-3, kMaxHandoff = 2.5e-3;
// A worker's first batch of an epoch is sent by a thread of it that wants the interpreter's lock,
// while the worker is at work on its second: after sys.getswitchinterval() it gets it.
inline constexpr double kSwitchInterval = 5e-3;

extern const AdviceDefinition kMoreWorkers, kFewerWorkers, kFewerStarts, kCacheInRam,
    kSequentialShards, kMoreCores, kRaiseCpuLimit, kMorePrefetch, kCopyFewerBytes, kLoadAhead,
    kMoreRequests;

// From no workers to some: what the model has to take from elsewhere than this run.
[[nodiscard]] PipelineSettings firstWorkers(const Evidence& e);
// The pipeline with so many workers, as is likeliest.
[[nodiscard]] PipelineSettings likelyWith(const Evidence& e, int workers);

[[nodiscard]] Maybe<Advice> moreWorkers(const Evidence& e);
// Down to none; worth 5 %, or null. kFewerStarts is the same change, said of starting them.
[[nodiscard]] Maybe<Advice> fewerWorkers(const Evidence& e,
                                         const AdviceDefinition& definition = kFewerWorkers);
// What this host reads of the data set in time: each rank reads a part in an epoch, in the next one
// another. Null: not known.
[[nodiscard]] Maybe<double> dataOfHost(const Evidence& e);
[[nodiscard]] Maybe<Advice> cacheInRam(const Evidence& e);
// `cpu`: the part of a batch's CPU that shrinks with the reads.
[[nodiscard]] Advice sequentialShards(const Evidence& e, double cpu = 0);
// What makes batches in other processes, by the run's framework: "PyTorch's DataLoader".
[[nodiscard]] std::string_view processesFor(const AdviceContext& c);
// Where the training thread makes its batches itself, in `share` of the window.
[[nodiscard]] Advice loadAhead(const Evidence& e, double share);
// Of what fetches from a network now, in `share` of the window: "these threads".
[[nodiscard]] Advice moreRequests(const Evidence& e, std::string now, double share);
[[nodiscard]] Maybe<Advice> moreCores(const Evidence& e);  // none: they would gain nothing
// Samples as bytes instead of floating-point numbers.
[[nodiscard]] Advice copyFewerBytes(Prediction predicted);
[[nodiscard]] Maybe<Advice> morePrefetch(const Evidence& e);

}  // namespace stallprof
