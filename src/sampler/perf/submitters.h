// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "sampler/perf_rings/perf_records.h"
#include "sampler/python/python_sampler.h"

namespace stallprof {

// Whose work a thread does that never runs Python: a pool's thread works for the thread that made
// it, or whose maker made it (OpenMP's pools belong to the thread that made them), else for its
// process's first. That it did at a given instant is believed where that thread slept on a lock
// meanwhile, or ran code of the same file: not where it waited elsewhere or did something else.
class Submitters {
 public:
  // What PythonSampler::lastSample says of a process's thread.
  using Samples = std::function<PythonSampler::LastSample(std::uint32_t pid, std::uint32_t tid)>;

  explicit Submitters(Samples samples) : samples_(std::move(samples)) {}
  // A kFork or kExit; others change nothing.
  void take(const PerfRecord& record);
  // A sample of a thread that runs Python fell into `file`.
  void ran(std::uint32_t tid, StringId file, Nanos at);
  // The stack that a sample of another thread is of the work of; none: nobody's that is known.
  [[nodiscard]] StackId stackOf(const PerfRecord& sample, StringId file) const;

 private:
  struct Ran {
    StringId file;
    Nanos at{};
  };
  struct Thread {
    std::uint32_t maker = 0;  // 0: not known
    std::array<Ran, 4> ran;   // of its last files
  };
  // Who submitted the work of a sample's thread, and the samples of it; 0: nobody that is known.
  [[nodiscard]] std::pair<std::uint32_t, PythonSampler::LastSample> submitterOf(
      const PerfRecord& sample) const;
  [[nodiscard]] bool ranIn(std::uint32_t tid, StringId file, Nanos at) const;
  [[nodiscard]] Thread& threadOf(std::uint32_t tid);

  Samples samples_;
  std::unordered_map<std::uint32_t, Thread> threads_;  // by tid
};

// The stack that a thread ran under at an instant: of the last two samples that found it runnable
// the nearer one's, if that is near. What it was blocked in it did not run.
[[nodiscard]] StackId stackRun(const PythonSampler::LastSample& samples, Nanos at);

}  // namespace stallprof
