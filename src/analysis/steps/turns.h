// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "classify/rule_table.h"
#include "trace/trace.h"

namespace stallprof {

// Where samples lie between a thread's batches, or between the steps of its optimizers where no
// loader is known: before the model is first met in that turn, or after.
class Turns {
 public:
  enum class At { kBefore, kAfter };
  using Report = std::function<void(StackId, At)>;

  Turns(const Trace& trace, ThreadId thread, Report report);

  [[nodiscard]] bool fetched() const { return fetched_; }
  // Samples come in order of time; `rule` is that of the stack, or null. The turn of one before the
  // model is known only once it is met. Of those that wait for it two million are held: more are
  // not counted.
  void sample(Nanos at, StackId stack, const PhaseRule* rule);
  // Where samples are as far apart as steps, most are alone in their turn. Each is placed by its
  // time since the last step or batch: before the model where it is earlier than 95 % of the
  // model's samples, after it where it is later than half of them; between those it is not counted.
  void end();

 private:
  struct Early {
    StackId stack;
    Nanos since{};  // the optimizer's last step, or the batch
  };
  Report report_;
  std::vector<Interval> steps_;
  std::size_t next_ = 0;
  Nanos begin_{};
  std::vector<Early> before_, lone_;
  std::vector<Nanos> models_;  // as Early::since
  bool fetched_ = false, begun_ = false, seen_ = false;
};

// The steps of a thread's optimizers in [begin, end) that take over three times the median: more
// than steps of one kind differ. None where they are over a quarter of all, and so belong to the
// training, or where there are too few steps to know.
class LongSteps {
 public:
  LongSteps(const Trace& trace, ThreadId thread, Nanos begin, Nanos end);

  // Which of them `at` lies in; to be asked in order of time.
  [[nodiscard]] std::optional<std::size_t> at(Nanos at);

 private:
  std::vector<Interval> long_;
  std::size_t next_ = 0;
};

}  // namespace stallprof
