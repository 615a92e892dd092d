// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>

#include "trace/trace.h"

namespace stallprof {

// How many rows a Trace holds, however long the run. What comes at a pace of its own is kept more
// coarsely; what the program did itself is read in parts (trace_builder.h). An hour of 64 threads
// has 1.4 million samples (reports/report.md), below these bounds.
struct TraceBounds {
  std::size_t samples =
      1'500'000;                   // slices of threads, stacks and native code: 40 to 56 bytes each
  std::size_t counters = 150'000;  // of processes, devices and the host: 40 to 200 bytes
  std::size_t works = 250'000;     // pieces of device work, and calls for it: 96 and 56 bytes
  // Fetches, batches, optimizer steps, spans, device work by step: 32 to 104 bytes. A loader's
  // steps have four each with a device: 50,000 steps.
  std::size_t program = 200'000;
  [[nodiscard]] static TraceBounds none() {
    return {SIZE_MAX / 2, SIZE_MAX / 2, SIZE_MAX / 2, SIZE_MAX / 2};
  }
};

// Keeps a growing Trace within its bounds: where it has become too large it becomes as if
// the recorder had sampled less often, all over the run alike, and halves that as often as need be.
// Sums of CPU and of run-queue time stay exact.
class Coarsener {
 public:
  explicit Coarsener(const TraceBounds& bounds) : bounds_(bounds), next_(bounds) {}

  // To be called after each row of its kind.
  void addedSample(Trace& trace) {
    if (++rows_.samples > next_.samples) boundSamples(trace);
  }
  void addedCounter(Trace& trace) {
    if (++rows_.counters > next_.counters) boundCounters(trace);
  }
  void addedWork(Trace& trace) {
    if (++rows_.works > next_.works) boundWorks(trace);
  }
  // Samples are thinned out, or will be at this rate; `taken`: of the recording so far, 0 to 1.
  [[nodiscard]] bool thins(double taken) const {
    return period_ > Nanos{} ||
           static_cast<double>(rows_.samples) > taken * static_cast<double>(bounds_.samples);
  }
  // The end of the run as coarse as its begin; reported as the source "samples".
  void finish(Trace& trace);

 private:
  [[nodiscard]] std::size_t coarsenSamples(Trace& trace) const;
  [[nodiscard]] std::size_t thinCounters(Trace& trace) const;
  [[nodiscard]] std::size_t dropWorks(Trace& trace);
  void boundSamples(Trace& trace);
  void boundCounters(Trace& trace);
  void boundWorks(Trace& trace);

  TraceBounds bounds_, next_;
  TraceBounds rows_{0, 0, 0, 0};
  Nanos period_{};             // one sample of a thread in each; 0: all of them
  std::int64_t seconds_ = 1;   // one second's counters in so many
  std::uint64_t windows_ = 1;  // one in so many intervals with every piece
  std::map<ProcessId, std::map<Nanos, Nanos>> dropped_;  // of these the others: begin -> end
};

}  // namespace stallprof
