// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sampler/processes/process_tree.h"
#include "sampler/processes/thread_samples.h"
#include "sampler/python/python_process.h"
#include "sampler/python/stack_stride.h"

namespace stallprof {

// The Python stacks of every thread of the job that has one, without stopping any: read when the
// ThreadSampler finds that a thread ran, at most as often as it samples. Emits StackSeen,
// StackSlice, and what could be seen as the source "python_stacks". Bounds its cost and what it
// emits by leaving out samples of threads that run (StackStride; Loss kStacksSkipped).
class PythonSampler : public SampleSink {
 public:
  // `tree` must outlive the sampler.
  PythonSampler(std::string root, const ProcessTree& tree);
  // False: a thread of native code in a Python process.
  bool sample(const ThreadSample& sample) override;
  void endRound(Nanos now, const Pace& pace, EventOut& out) override;
  [[nodiscard]] Nanos unpacedCpu() const override { return shared_.unpaced; }
  void resume(Nanos paused) override { second_ += paused; }
  void finish(Nanos now, EventOut& out) override;

  using LastSample = python::LastSample;
  [[nodiscard]] LastSample lastSample(std::uint32_t pid, std::uint32_t tid) const;

 private:
  struct Watched {
    ProcessId id;
    std::unique_ptr<python::PythonProcess> process;
    std::vector<ThreadSample> samples;
  };
  void follow(EventOut& out);
  [[nodiscard]] python::PythonProcess& processOf(Watched& watched, EventOut& out);
  void eachSecond(Nanos now, EventOut& out);
  void report(Nanos now, EventOut& out);

  const ProcessTree& tree_;
  python::Shared shared_;
  std::unordered_map<std::uint32_t, Watched> processes_;  // by pid
  std::vector<Watched*> touched_;
  python::StackStride stride_;
  Pace pace_{Nanos(10'000'000), 1};
  Nanos second_{}, spent_{};
  bool seen_ = false;
  std::pair<Coverage, std::string> state_{Coverage::kAbsent, ""}, reported_{Coverage::kAbsent, ""};
};

}  // namespace stallprof
