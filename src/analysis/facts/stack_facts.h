// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval.h"
#include "classify/rule_table.h"
#include "event/vocabulary.h"

// What samples of Python stacks say about one trainer and its producers. Samples are instants: a
// share of many of them is a share of time; times come from the hook and the scheduler.
namespace stallprof {

// So many samples are enough for a share of them: below, it is off by 9 points (one sigma).
inline constexpr double kEnoughWorkerSamples = 30;

// A number of samples. Samples in a row that saw the same are one witness, not many, so the number
// that counts for a confidence interval is Kish's effective size: the square of the sum of weights
// over the sum of their squares, each run of equal samples weighing its length.
struct SampleSum {
  double samples = 0, squares = 0;
  // `count` samples; `witness` is the slice they are of. Samples are added slice by slice.
  void add(const void* witness, double count = 1) {
    const double before = witness == last_ ? run_ : 0;
    run_ = before + count;
    last_ = witness;
    samples += count;
    squares += run_ * run_ - before * before;
  }
  void join(const SampleSum& other) {
    samples += other.samples;
    squares += other.squares;
  }
  [[nodiscard]] double effective() const { return squares > 0 ? samples * samples / squares : 0; }

 private:
  const void* last_ = nullptr;
  double run_ = 0;
};

// A share with its 90 % interval (Wilson's, which holds for shares near 0 and few samples).
struct Share {
  double value = 0, low = 0, high = 1;
};
[[nodiscard]] Share shareOf(double part, const SampleSum& all);

// Samples by phase: how many, and the time that is the weight of each phase's.
struct PhaseSamples {
  std::array<double, kPhaseNames.size()> seconds{};
  double time = 0;  // all of them, seconds
  SampleSum all;
  // `count` samples of one slice, of `weight` seconds together.
  void add(Phase phase, const void* witness, double weight, double count = 1) {
    seconds[static_cast<std::size_t>(phase)] += weight;
    time += weight;
    all.add(witness, count);
  }
  // `count` samples of `weight` seconds each, one by one: sums are the same to the last digit
  // however samples are grouped.
  void addEach(Phase phase, const void* witness, double weight, std::uint32_t count) {
    double partSum = seconds[static_cast<std::size_t>(phase)], timeSum = time;
    for (std::uint32_t i = 0; i < count; ++i) {
      partSum += weight;
      timeSum += weight;
    }
    seconds[static_cast<std::size_t>(phase)] = partSum;
    time = timeSum;
    all.add(witness, count);  // whole numbers: exact
  }
  void join(const PhaseSamples& other) {
    for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] += other.seconds[i];
    time += other.time;
    all.join(other.all);
  }
  [[nodiscard]] double ratio(Phase phase) const {
    return time > 0 ? seconds[static_cast<std::size_t>(phase)] / time : 0;
  }
};

// One function, with the user's line that led to it, by the samples of one side.
struct FunctionSamples {
  Side side = Side::kTrainer;
  Phase phase = Phase::kUnknown;
  OverheadKind overhead = OverheadKind::kNone;
  std::string rule;   // that gave the phase
  StackId hot, user;  // the innermost frame; the innermost of the user's own code, or none
  double samples = 0, running = 0, ownPython = 0, lockWaits = 0;
  double whileIdle = 0;         // of these in a step, on a CPU, in DeviceFacts::longGaps
  double seconds = 0;           // the weight of its samples
  double blockedInOwn = 0;      // of these computing, in a line of the user's own: blocked in a
                                // futex, without the interpreter's lock or a wait for it
  std::uint32_t processes = 0;  // how many had it
};

// One line of the loop that the trainer's thread was in, by the samples of it and of what it
// called.
struct LoopLineSamples {
  StackId frame;  // of the loop's function, at the line
  PhaseSamples samples;
};

// Of the window: how much longer a thread ran than its samples say, where these get other weights.
// A recorder that gets a core only when the thread gives it up misses short work between waits.
inline constexpr double kMuchMissed = 0.10;

struct StackFacts {
  // Making batches: the workers in their fetches, or the trainer in its own.
  PhaseSamples making, makingRunning, makingLocked, makingVague;  // all; on a CPU; blocked in
                                                                  // locks, pipes; in sleeps, polls
  // The trainer: inside steps, and in the time no evidence of the hook names.
  PhaseSamples step, gap;
  double modelTime = 0;   // of those: seconds of compute that a rule, or its line, knows to be so
  SampleSum trainer;      // all samples of it in the window, those without a stack too
  double inLongGaps = 0;  // of these: in DeviceFacts::longGaps
  double ownPython = 0;   // in steps: its own line, running, with the interpreter's lock
  double gilKnown = 0;    // in steps: samples that know the lock
  // Of the trainer's samples in steps, and where no evidence of the hook names the time: those that
  // know the lock, and of these the ones that hold it; where they make data, and where they
  // compute.
  struct LockShare {
    double samples = 0, held = 0;
    [[nodiscard]] double ratio() const { return samples > 0 ? held / samples : 0; }
  };
  LockShare lockOfData, lockOfCompute;
  // In steps, and in fetches of its own: samples without a core or blocked, and of those the ones
  // that wait for the lock.
  SampleSum ownIdle;
  double ownLockWaits = 0, stepLockWaits = 0;  // the second: in steps alone
  // Samples of the trainer's process that hold the lock beside the trainer: of all its threads, of
  // those that make data, and of those that neither make it nor hand it over.
  double lockBeside = 0, lockProducers = 0, lockOthers = 0;
  std::vector<FunctionSamples> lockHolders;  // of the last, most samples first
  // Native samples of the threads that make batches: the kernel opens files for them, or reads.
  double openingFiles = 0, readingFiles = 0;
  double trainerTime = 0;  // the weight of all samples of it, seconds
  // Where no fetch is timed: the seconds of that in which it ran or was ready to, by the kernel's
  // clock and by its samples.
  double ranByClock = 0, ranBySamples = 0;
  std::array<double, kOverheadKinds> overheads{};  // of that, by OverheadKind
  double waitsAfter = 0;                           // of that: waiting after a step's last update
  double drawing = 0;  // of that: inside next(), in the samplers that draw a batch's indices
  // Of that: the same before an epoch's first batch, as its iterator is made.
  double drawingAhead = 0;
  // Of that, where nothing else names it: waiting in a loader, while nobody is seen to work for it.
  double fetchWaits = 0;
  double releasing = 0;  // of that: unmapping the shared memory of batches that workers sent
  // Runs of samples that compile, after warm-up; back to back they are one.
  double compilations = 0;
  double predicting = 0, predictions = 0;  // seconds in a model's predict(); runs of such samples
  // Threads of the producing processes that want the interpreter's lock.
  SampleSum lockWanted;
  double lockWaits = 0;
  std::uint32_t lockThreads = 0;           // most in one process
  std::vector<FunctionSamples> functions;  // most samples first
  std::vector<LoopLineSamples> lines;      // of a loop without a known loader, by line
  std::vector<Interval> collectives;       // of its steps: the time of samples in a collective

  [[nodiscard]] bool seen() const {
    return making.all.samples + step.all.samples + gap.all.samples > 0;
  }
};

}  // namespace stallprof
