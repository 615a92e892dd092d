// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/laps.h"
#include "base/ids.h"
#include "classify/rule_table.h"
#include "event/vocabulary.h"

// What looks at Python stacks say about one trainer and its producers. Looks are instants: a share
// of many of them is a share of time; times come from the hook and the scheduler.
namespace stallprof {

// Looks that answered yes, of `all`. Looks in a row that saw the same are one witness, not many: so
// the number that counts for an interval is Kish's effective size.
struct LookSum {
  double looks = 0, squares = 0;
  // One look; `witness` is the slice it is of. Looks come slice by slice.
  void add(const void* witness) {
    run_ = witness == last_ ? run_ + 1 : 1;
    last_ = witness, looks += 1, squares += 2 * run_ - 1;
  }
  void join(const LookSum& other) { looks += other.looks, squares += other.squares; }
  [[nodiscard]] double effective() const { return squares > 0 ? looks * looks / squares : 0; }

 private:
  const void* last_ = nullptr;
  double run_ = 0;
};

// A share with its 90 % interval (Wilson's, which holds for shares near 0 and few looks).
struct Share {
  double value = 0, low = 0, high = 1;
};
[[nodiscard]] Share shareOf(double part, const LookSum& all);

// Looks by phase: how many, and how long each phase's stand for.
struct PhaseLooks {
  std::array<double, kPhaseNames.size()> seconds{};
  double time = 0;  // all of them, seconds
  LookSum all;
  void add(Phase phase, const void* witness, double stands) {
    seconds[static_cast<std::size_t>(phase)] += stands;
    time += stands;
    all.add(witness);
  }
  void join(const PhaseLooks& other) {
    for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] += other.seconds[i];
    time += other.time;
    all.join(other.all);
  }
  [[nodiscard]] double ratio(Phase phase) const {
    return time > 0 ? seconds[static_cast<std::size_t>(phase)] / time : 0;
  }
};

// One function, with the user's line that led to it, as one side spent looks in it.
struct FunctionLooks {
  Side side = Side::kTrainer;
  Phase phase = Phase::kUnknown;
  Chore chore = Chore::kNone;
  std::string rule;   // that gave the phase
  StackId hot, user;  // the innermost frame; the innermost of the user's own code, or none
  double looks = 0, running = 0, ownPython = 0, lockWaits = 0;
  double seconds = 0;           // the time its looks stand for
  std::uint32_t processes = 0;  // how many had it
};

struct StackFacts {
  // Making batches: the workers in their fetches, or the trainer in its own.
  PhaseLooks making, makingRunning, makingLocked, makingVague;  // all; on a CPU; blocked in locks,
                                                                // pipes; in sleeps, polls
  // The trainer: inside steps, and in the time no evidence of the hook names.
  PhaseLooks step, gap;
  double stepTold = 0;   // in steps: seconds of compute that a rule knows to be a model's
  LookSum trainer;       // all looks at it in the window, those without a stack too
  double ownPython = 0;  // in steps: its own line, running, with the interpreter's lock
  double gilKnown = 0, gilWaits = 0;  // in steps: looks that knew the lock, and waited for it
  double trainerTime = 0;             // that all looks at it stand for, seconds
  std::array<double, 5> chores{};     // of that, by Chore
  // Threads of the producing processes that want the interpreter's lock.
  LookSum lockWanted;
  double lockWaits = 0;
  std::uint32_t lockThreads = 0;         // most in one process
  std::vector<FunctionLooks> functions;  // most looks first
  std::vector<Lap> collectives;          // of its steps: what looks in a collective stand for

  [[nodiscard]] bool seen() const { return making.all.looks + step.all.looks + gap.all.looks > 0; }
};

}  // namespace stallprof
