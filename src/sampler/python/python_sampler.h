// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sampler/process_tree.h"
#include "sampler/python/python_process.h"
#include "sampler/thread_looks.h"

namespace stallprof {

// The Python stacks of every thread of the job that has one, without stopping any: read when the
// ThreadSampler finds that a thread ran, at most as often as it looks. Emits StackSeen, StackSlice,
// and what could be seen as the source "python_stacks". Keeps itself to kShare of a core and
// kSlicesPerSecond by leaving out looks at threads that run (Loss kStacksSkipped).
class PythonSampler : public LookTaker {
 public:
  // A little under half of the recorder's budget of 1 %.
  static constexpr double kShare = 0.004;
  // At 15 bytes each 16 MB an hour, a third of the recording's budget.
  static constexpr std::size_t kSlicesPerSecond = 300;

  // `tree` must outlive the sampler.
  PythonSampler(std::string root, const ProcessTree& tree);
  void look(const ThreadLook& look) override;
  void endRound(Nanos now, Nanos period, EventOut& out) override;
  void finish(Nanos now, EventOut& out) override;

  using LastLook = python::LastLook;
  [[nodiscard]] LastLook lastLook(std::uint32_t pid, std::uint32_t tid) const;

 private:
  struct Watched {
    ProcessId id;
    std::unique_ptr<python::PythonProcess> process;
    std::vector<ThreadLook> looks;
  };
  void follow(EventOut& out);
  [[nodiscard]] python::PythonProcess& processOf(Watched& watched, EventOut& out);
  void eachSecond(Nanos now, EventOut& out);
  void tell(Nanos now, EventOut& out);

  const ProcessTree& tree_;
  python::Shared shared_;
  std::unordered_map<std::uint32_t, Watched> processes_;  // by pid
  std::vector<Watched*> touched_;
  unsigned stride_ = 1;
  Nanos second_{}, spent_{}, period_{10'000'000};
  bool seen_ = false;
  std::pair<Coverage, std::string> state_{Coverage::kAbsent, ""}, told_{Coverage::kAbsent, ""};
};

}  // namespace stallprof
