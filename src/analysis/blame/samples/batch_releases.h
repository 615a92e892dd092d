// SPDX-License-Identifier: MIT
#pragma once

#include <set>

#include "analysis/blame/samples/native_split.h"

namespace stallprof {

// A batch that a worker sent lies in shared memory, which the trainer's thread unmaps when nothing
// refers to it any more: where the loop's variable becomes the next batch. That is a part of moving
// batches between processes, and grows with their bytes; by Python's frames it is the loop's own
// line. So of samples on a CPU with their innermost frame at a line that gets a loader's batches,
// as many are hand-over as the kernel's samples of the thread are in munmap(), there or with no
// frame known: a process's memory is locked meanwhile, and its stack is often not read. Memory that
// is unmapped at other lines may be anything's. Not thread-safe.
class BatchReleases {
 public:
  BatchReleases(const Trace& trace, const StackLabels& labels, const ThreadLife& trainer,
                Nanos begin, Nanos end);

  // Of the trainer's samples outside of next(), in order.
  [[nodiscard]] bool take(const Sample& sample);

 private:
  [[nodiscard]] bool atLine(const Sample& sample) const {
    return sample.wait == Wait::kRunning && lines_.count(sample.stack->stack) > 0;
  }

  std::set<StackId> lines_;
  NativeSplit::Part part_;
};

}  // namespace stallprof
