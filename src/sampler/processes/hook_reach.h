// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <unordered_map>

#include "sampler/proc/sampler.h"
#include "sampler/processes/process_tree.h"

namespace stallprof {

// Says, as the source "hook", which Python of the job the hook cannot report from. Either it is not
// loaded: the program was started without the run's environment (sudo, env -i), with -E, -I or -S,
// or is no interpreter that it fits. Or it cannot hand over: the event memory is opened as
// /proc/RECORDER/fd/N, which the kernel refuses to another user, to another user namespace and to
// whoever has less capabilities, and which another /proc does not have. The hook itself can only be
// silent there.
class HookReach : public Sampler {
 public:
  // `root` is "/" or a fixture. `tree` must outlive this.
  HookReach(std::string root, const ProcessTree& tree);
  // The path of the event memory, as the job was given it. Without, nothing is asked.
  void expect(std::string events) { events_ = std::move(events); }

  [[nodiscard]] Nanos period() const override;  // 250 ms; a new program is asked about once
  void sample(Nanos now, EventOut& out) override;

  // Why nothing comes of process `pid`, for a person; empty: it can, or is gone.
  [[nodiscard]] std::string whyNot(std::uint32_t pid) const;

 private:
  std::string root_, events_;
  const ProcessTree& tree_;
  [[nodiscard]] std::string whyNotLoaded(const LiveProcess& process) const;
  void forgetEnded();

  std::unordered_map<std::uint32_t, std::string> asked_;  // ProcessId -> the program it ran then
  bool said_ = false;
};

}  // namespace stallprof
