// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

#include "analysis/facts/native_samples.h"
#include "analysis/facts/stack_samples.h"
#include "classify/rule_table.h"
#include "trace/trace.h"

// What OwnPhases counts of the user's own functions, and what their names say.
namespace stallprof {

using FunctionName = std::tuple<StringId, StringId>;  // function, file

struct CallLines {
  std::uint32_t first = 0, last = 0;
};
// The lines of each function at which the hook saw the thread's steps called. A line that was left
// for another and never came back warmed up.
[[nodiscard]] std::map<FunctionName, CallLines> callsOfSteps(const Trace& trace, ThreadId thread);

// Of a function, a line or a stack: samples in the trainer's thread, and how many of them are so.
struct OwnSamples {
  double all = 0, data = 0, model = 0, arrays = 0;
  double framework = 0;                // operators of a framework's, or called by its model;
  double programs = 0;                 // of these, waiting for a program that it started
  double results = 0;                  // of the model's, waiting for what was dispatched before
  double update = 0;                   // backward, an optimizer
  double backward = 0, optimizer = 0;  // of these
  double writes = 0;                   // blocked writing a file
  double logs = 0;                     // in a logger, a tracker, a progress bar
  double asleep = 0;                   // as long as the program asked for
  double awaits = 0;                   // likewise, or for another process
  double before = 0, after = 0;        // the model was met, in this turn
  double operators = 0, others = 0;  // the kernel's samples: a framework's code or BLAS; any other
  double unlocked = 0, locked = 0;   // running without the interpreter's lock, with it
  double sources = 0;                // of these, and of the kernel's own: reads, decodes, fetches
  double stores = 0;                 // of the kernel's own: writes
  double usualModel = 0, usualResults = 0;         // the model's, and these, in all other steps
  double inLong = 0;                               // in steps far longer than the others,
  std::size_t firstLong = SIZE_MAX, lastLong = 0;  // of these
  bool plays = false;                              // an environment, by the words of a name

  void see(const Sample& sample);
  // A sample of the kernel's.
  void see(const Trace& trace, const NativeSlice& native, NativeClass is);
  // All of them are of a stack that the rule claims.
  void claim(const PhaseRule& rule);
  void add(const OwnSamples& more);
};

// "Env.step", "collect_rollouts", "play_episode".
[[nodiscard]] bool namesPlay(std::string_view function);

// "get_batch", "Corpus.next_batch".
[[nodiscard]] bool fetchesBatches(std::string_view function);
// "batch_of", "augment": it may as well be for what is done with a batch.
[[nodiscard]] bool namesBatches(std::string_view function);

// "Histograms.on_train_batch_end": what Lightning, Keras and transformers call after each update.
[[nodiscard]] bool endsSteps(std::string_view function);

// "CartPoleEnv.step", "Environment.reset"; without the class (Python up to 3.10) nothing is known.
// `noModel`: nothing of a model is in it. Then "Cart.step" of a program that trains is one, too,
// unless it updates weights by hand.
[[nodiscard]] bool stepsEnvironment(std::string_view function, bool noModel);

}  // namespace stallprof
