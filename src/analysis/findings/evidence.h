// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"
#include "analysis/facts/run_facts.h"
#include "analysis/findings/device_evidence.h"
#include "analysis/model/gains.h"

namespace stallprof {

// Of the window; above: no verdict.
inline constexpr double kMaxUnexplained = 0.15;
// Of the usable cores, in use: above, too few are idle for a thread to have one at once.
inline constexpr double kFewIdle = 0.9;

// All that a rule may reason from, worked out once: shares of the window, the trainer's loader,
// what a step and a batch ask for, and the model. Lives as long as the trace and facts it names.
struct Evidence {
  const Trace& trace;
  const TrainerFacts& trainer;
  const RunFacts& run;
  Gains gains;
  std::vector<Ceiling> ceilings;
  const LoaderSeen* loader = nullptr;  // null: none was seen whose workings are known

  double window = 0;   // seconds
  double perStep = 0;  // seconds of the window a step
  // Shares of the window.
  double wait = 0, extract = 0, transform = 0, loadBlame = 0, startup = 0, unknownWait = 0;
  double extractCpu = 0;  // of `transform`: reading on a CPU, which is no waiting for storage
  double compute = 0, ownLoad = 0, periodic = 0, other = 0, starved = 0;
  // Drawing the indices of batches in the trainer's own thread, with workers and without; value 0
  // where no sample saw it.
  Share drawing = {0, 0, 0};
  Share drawingAhead = {0, 0, 0};  // the same as an epoch's iterator is made
  // Of the trainer's thread: unmapping the shared memory of batches; 0 as above.
  Share releasing = {0, 0, 0};
  double waitsAfter = 0;   // of `other`: after a step's last update, at lines that are known
  double inLoop = 0;       // beside a loader: data that the loop itself makes, by samples
  double checkpoint = 0;   // spans of saving on the trainer's thread
  double evaluation = 0;   // epochs without training
  double workersBusy = 0;  // share of the workers' time spent making batches; 0 without workers
  double coresBusy = 0;    // of the usable cores, by the job and by others that it waited for
  double coresUsed = 0;    // of the usable cores, by the job and by all others
  double external = 0;     // of the usable cores, by others and the hypervisor, where it cost
  double shared = 0;       // the same, and by siblings
  [[nodiscard]] bool quietHost() const { return shared <= 0.05; }
  int ranks = 1;           // of the job on this host: what one changes in its script, all change
  bool contended = false;  // the job lacked cores: few were idle, or its threads were queued
  double unseen = 0;       // of the window: the recorder was not run, or had nowhere to write
  // Of the window: what the trainer's thread ran, or was ready to, by the kernel's clock and by its
  // samples. Both 0 where fetches are timed.
  double ranByClock = 0, ranBySamples = 0;
  [[nodiscard]] bool missesWork() const { return ranByClock - ranBySamples > kMuchMissed; }
  double beside = 0;          // of the usable cores, by the job outside the pipeline (RunFacts)
  double trainerBlocked = 1;  // of the window its thread neither ran nor was runnable
  bool trainerBlockedKnown = false;
  double workerBytes = 0;  // memory one more worker would take; 0: not known
  bool workerBytesMeasured = false;
  DeviceEvidence device = {};
  std::vector<Ceiling> misfits =
      {};  // below the measured pace, so no ceilings: the model is wrong there

  [[nodiscard]] int workers() const { return gains.base().workers; }
  [[nodiscard]] int prefetch() const { return gains.base().prefetch; }
  // Its workers send their state beside batches.
  [[nodiscard]] bool sendsState() const {
    return loader && trace.text(loader->kind) == kStatefulLoader;
  }
  // The phase that holds over half of the window; empty: none does. Of a program without an
  // interpreter, where reading and what becomes of it are one function: the larger of the two,
  // where they do together.
  [[nodiscard]] std::string_view phaseOfHalf() const;
  // Of the window: a lock of the workers is held, which lets one of them work at a time.
  [[nodiscard]] double locked() const {
    return perStep > 0 ? gains.workload().locked / perStep : 0;
  }
  // Time that nothing says what it was for.
  [[nodiscard]] double unexplained() const { return other - waitsAfter + unknownWait; }
  // Waiting for anything but the start of workers.
  [[nodiscard]] double steadyWait() const { return wait - startup; }
  // No loader is known, so that the model has the data that the loop makes in the step's own time.
  [[nodiscard]] bool computeCeilingHoldsData() const;
  [[nodiscard]] SourceLine loaderLine() const;
};

// Until growth of so many bytes a second has used up the memory that is free: a straight line, far
// beyond what was seen. Null where it is an allocator's noise (under 64 MB in the window), where it
// takes over a day, or where it is not known what is free.
[[nodiscard]] Maybe<double> secondsOfMemory(const Evidence& e, double growthPerSecond);

// `cores` less what others, and the job beside the pipeline, use of the cores there are.
[[nodiscard]] double coresForPipeline(const Evidence& e, double cores, double external);

// The cores set the pace: they are full, or the CPU's ceiling is the lowest and is met.
[[nodiscard]] bool coresFull(const Evidence& e);

// Visits the epochs that begin in the window, with whether each is its loader's first in the run.
template <class Visit>
void eachEpochOfWindow(const TrainerFacts& t, Visit&& visit) {
  std::set<std::uint32_t> known;
  for (const Epoch& epoch : t.epochs) {
    const bool first = known.insert(epoch.loader).second;
    if (epoch.begin >= t.windowBegin && epoch.begin < t.windowEnd) visit(epoch, first);
  }
}

[[nodiscard]] Evidence gather(const Trace& trace, const TrainerFacts& trainer, const RunFacts& run);

// Past so many, process overhead is what one would measure. It also bounds what is simulated: a
// recording's number of cores is foreign.
constexpr int kMaxWorkers = 64;
// How many workers this host can hold: by CPU demand (what blocks leaves its core to others; four a
// core, kMaxWorkers in all), by memory and by /dev/shm, of which each rank has its part. Never
// fewer than there are now.
[[nodiscard]] int workerLimit(const Evidence& e);
// The same by memory and /dev/shm alone.
[[nodiscard]] int memoryWorkerLimit(const Evidence& e);

// Pages are reclaimed or swapped, perhaps others' alone (PSI and swap count the whole host); the
// job reads pages in again, which may be of its data; or it does and they are swapped, or are
// swapped with little memory left for anybody.
enum class MemoryShort { kNo, kForSomeone, kForJob, kSwaps };
[[nodiscard]] MemoryShort memoryShort(const Evidence& e);

// How sure findings of this run are that rest on the model. High needs a model within 10 %, the
// next ceiling more than 10 % away, 100 steps in the window, batch times with a CV up to 30 % and a
// host where others use at most 5 % of the CPU; each one missing costs a level. Low without a
// model, at most medium beside a device without a timeline.
[[nodiscard]] Confidence modelConfidence(const Evidence& e);
// What no finding of this run can be surer than: its steps, the device's timeline, and the parts of
// the hook that were there.
[[nodiscard]] Confidence highestConfidence(const Evidence& e);
[[nodiscard]] Confidence lowered(Confidence c);

}  // namespace stallprof
