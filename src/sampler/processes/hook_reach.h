// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sampler/proc/sampler.h"
#include "sampler/processes/process_tree.h"

namespace stallprof {

// Says, as the source "hook", which Python of the job the hook cannot report from. Either it is not
// loaded: the program was started without the run's environment (sudo, env -i), with a PYTHONPATH
// of its own, with -E, -I or -S, in a root in which the hook is not, or is no interpreter that it
// fits. Or it cannot hand over: the event memory is opened as /proc/RECORDER/fd/N, which the kernel
// refuses to another user, to another user namespace and to whoever has less capabilities, and
// which another /proc does not have. The hook itself can only be silent there.
class HookReach : public Sampler {
 public:
  // `root` is "/" or a fixture. `tree` must outlive this.
  HookReach(std::string root, const ProcessTree& tree);
  // The path of the event memory and the directory of the hook, as the job was given them. Without
  // the first, nothing is asked; without the second, not for that.
  void expect(std::string events, std::string directory) {
    events_ = std::move(events);
    directory_ = std::move(directory);
  }

  [[nodiscard]] Nanos period() const override;  // 250 ms; a new program is asked about once
  void sample(Nanos now, EventOut& out) override;

  // Why nothing comes of process `pid`, for a person; empty: it can, or is gone.
  [[nodiscard]] std::string whyNot(std::uint32_t pid) const;

 private:
  std::string root_, events_, directory_;
  const ProcessTree& tree_;
  [[nodiscard]] std::string whyNotLoaded(const LiveProcess& process) const;
  void forgetEnded();

  std::unordered_map<std::uint32_t, std::string> asked_;  // ProcessId -> the program it ran then
  std::vector<std::string> reasons_;                      // said, without the process; bounded
  std::string said_;
};

}  // namespace stallprof
