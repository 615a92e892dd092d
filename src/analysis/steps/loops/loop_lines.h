// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/facts/analysis.h"
#include "base/interval.h"
#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

// The loop that a thread was in for most of its time, by the lines at which samples found it.
// Iterations need not be countable: a line that comes back shows the loop, however fast it is.
struct MainLoop {
  StackId place;                      // its function's frame, at the first of the lines
  std::uint32_t first = 0, last = 0;  // lines of its body that were seen
  Interval window;                    // from the first of them to the last
  double seconds = 0;                 // in the body
};

// The outermost of those that hold nearly as much time as the longest one, so that it is the loop
// over epochs or batches and not one inside an operator. None where no line came back often
// enough, or the loop holds little of the thread's time. Pure.
[[nodiscard]] Maybe<MainLoop> findMainLoop(const Trace& trace, const ThreadLife& thread,
                                           const StackLabels& labels);

// What the lines of the main loop are for, of a thread whose loader and optimizer nobody knows. A
// line under which a model runs, by known rules, or a framework's operators for a good part, is
// compute; so is one that was seen to take a gradient, and the last that compiles before those.
// Lines before the first of these, with little of either, make what it is given: data; but those
// that mostly multiply matrices, by the kernel's samples, compute: a model of tensors alone. Of the
// others those compute that were seen to compile; what the rest do is not known.
class LoopLines {
 public:
  enum class Is { kUnknown, kData, kCompute };

  LoopLines() = default;
  // By the samples of `thread` in [begin, end). Pure.
  LoopLines(const Trace& trace, const StackLabels& labels, const ThreadLife& thread, Nanos begin,
            Nanos end);

  // A loop was found, and lines of it that compute: only then is what the others are for known.
  [[nodiscard]] bool known() const { return known_; }
  // Of the line that the stack is at or was called from; kUnknown outside the loop.
  [[nodiscard]] Is of(StackId stack) const {
    return stack.none() || stack.value > lines_.size() ? Is::kUnknown : lines_[stack.value - 1].is;
  }
  // The frame of the loop's function, at its line, that the stack is in; none: outside the loop.
  [[nodiscard]] StackId frameOf(StackId stack) const {
    return stack.none() || stack.value > lines_.size() ? StackId{} : lines_[stack.value - 1].frame;
  }
  // The line lies behind the first that computes, and a sample of it that is blocked, or one of a
  // line that mostly is, waits for a result of the model's: the others get no core at once.
  [[nodiscard]] bool awaitsModel(StackId stack, bool blocked) const {
    if (stack.none() || stack.value > lines_.size()) return false;
    const Line& line = lines_[stack.value - 1];
    return line.behind && (blocked || line.waits);
  }

  // Of a sample there by a label that no known rule gave more than "works": its line makes data.
  [[nodiscard]] bool makesData(StackId stack, const StackLabel& label,
                               const SampleLabel& what) const;
  // Neither a rule nor its line says what it is for. `nowhere`: no line is known to compute in a
  // program without steps, where arrays may be a model's or its data. Waiting behind the model's
  // first call may be for its result.
  [[nodiscard]] bool isUnknown(StackId stack, bool blocked, const StackLabel& label,
                               const SampleLabel& what, bool nowhere) const;

 private:
  struct Line {
    std::uint32_t number = 0;  // 0: not in the loop
    StackId frame;
    Is is = Is::kUnknown;
    bool behind = false;  // or it is that one
    bool waits = false;   // mostly
  };
  bool known_ = false;
  std::vector<Line> lines_;  // of each stack, index = StackId - 1
};

}  // namespace stallprof
