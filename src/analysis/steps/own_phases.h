// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "analysis/facts/stack_samples.h"
#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

// What the user's own functions in a trainer's thread are for, where their place in its stacks and
// steps says so.
//
// Making data, beside a loader or without one: nothing in them is a model's by a known rule, while
// elsewhere in the trainer something is, and
//  - what they call reads or transforms by known rules for much of their time, or the kernel's
//    samples find as much of it in libraries that store, decode or fetch, or reading files, or
//  - they work on arrays and call no framework, nor does one call them, and where a loader's
//    batches, else steps of an optimizer, are known they lie after one and before the model is next
//    met. A function that scores the step before by arrays alone cannot be distinguished from
//    these where no loader is known. Or
//  - they lie between a loader's batch and the model, and the kernel's samples of them are in no
//    framework's code, nor in BLAS (without such samples: they run with the interpreter's lock
//    held, which operators let go); lines of a function that trains likewise, with a loader or
//    without, above the line at which the model first runs (which decides alone where samples are
//    too far apart to place them between steps), and what is called at that line before the model.
//    Or
//  - they are called by the iterator of a `for` statement around the training, above the line at
//    which the model first runs, and have next to nothing of a model in them: a file of batches
//    that C reads, a generator. Or
//  - their name says that they get batches, or that they make them and they lie between a step and
//    the model; half of their samples in a framework at most: it makes tensors of data, too. Or
//  - they step or reset an environment, by the class and the name that they have; or are a method
//    `step` with nothing of a model in it, of a class that is no optimizer by its name.
// The rest of their time, own lines and arrays, is then transform too. So is that of a line of
// the user's own, in a function that trains, too, which reads, transforms or works on arrays, calls
// no framework, and lies after such a batch or step and before the model: a batch cut in the loop,
// by a list comprehension of its own (Python from 3.12 on has no frame for it). Likewise a line
// above the model's at which a program without a loader is asleep. A model is where rules know one,
// or the hook says where its steps are called from (StepPlace). Without either nothing
// distinguishes what makes data, but for the iterator of a `for` statement where the kernel's
// samples show operators or BLAS, and no larger a part of them than the loop's body is of the time.
//
// Evaluating: they run the model, never backward nor an update, and lie in a few steps of an
// optimizer alone, each far longer than the others; or a line below the update that is so. Not by
// waiting for results alone, unless the other steps wait for theirs: it may be steps that were only
// dispatched. All of their time is periodic. One that steps an environment, by a rule or by the
// words of a name in it, is none: what it plays is trained on.
//
// Pausing: lines in such steps alone at which the thread is asleep, or waits for another process.
//
// Writing: they are blocked writing a file for much of their time, and neither update a model nor
// make data. All of their time is periodic, opening the file and formatting what it gets, too. Or
// they log for as much: then what they compute and format for it is periodic, too.
//
// Following the update: lines of a function in which an optimizer steps, below the last line that
// does or that runs backward, or a callback that a library calls there, by its name; with all that
// they call. It stays compute: nothing but its place says
// that the next step does not wait for it. What they read or wait for from a network, where a
// loader is known, is no data of it (a tracker, another rank); what for is not known. Nor are
// functions there that would be data elsewhere.
class OwnPhases {
 public:
  OwnPhases() = default;
  // By the samples of `thread` in [begin, end). Pure.
  OwnPhases(const Trace& trace, const StackLabels& labels, const ThreadLife& thread, Nanos begin,
            Nanos end);

  // What a sample is for whose stack holds one of them, where nothing nearer says it.
  [[nodiscard]] std::optional<SampleLabel> claim(StackId stack, const StackLabel& label,
                                                 const SampleLabel& sample) const;
  // No rule knows a model, but what makes data: an iterator, for a loop that computes by the
  // kernel's samples.
  [[nodiscard]] bool yieldsToOperators() const { return yieldsToOperators_; }

 private:
  enum class Is : std::uint8_t {
    kNeither,
    kData,
    kPlays,
    kEvaluation,
    kWriting,
    kLogging,
    kPause,
    kAfterUpdate,
    kExchange
  };
  bool yieldsToOperators_ = false, fetched_ = false;
  std::vector<Is> inside_;  // of each stack, index = StackId - 1: a frame of it is one's
};

}  // namespace stallprof
