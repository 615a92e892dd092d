// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/device/device_time.h"
#include "trace/trace.h"

namespace stallprof {

[[nodiscard]] bool runsTensorFlow(const Trace& trace, ProcessId process);

// When a graph of a process got the next element of a tf.data iterator, by samples of its threads'
// native stacks (sampler/perf/get_next_watch.h): Keras' fit() does so inside its compiled step,
// where no Python call lasts as long. For sums of many samples; each counts for the time around it.
class GetNexts {
 public:
  GetNexts() = default;
  GetNexts(const Trace& trace, ProcessId process);

  [[nodiscard]] bool at(Nanos t) const;
  // The process runs TensorFlow, and its threads' stacks could not be sampled: what it does while
  // it waits for a graph is not known.
  [[nodiscard]] bool blind() const { return blind_; }
  // A wait while a device works for the process is hidden by that work, and none.
  void leaveOut(const Intervals& busy);

 private:
  Intervals underWay_, hidden_;
  bool blind_ = false;
};

}  // namespace stallprof
