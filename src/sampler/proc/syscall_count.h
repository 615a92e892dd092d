// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "sampler/proc/sampler.h"

namespace stallprof {

// How often the job opened a file: one counting perf event on the tracepoint of openat, inherited
// by every descendant. Needs tracefs and, for an ordinary user, perf_event_paranoid -1; elsewhere
// opens are "not counted" and said so.
class SyscallCounter : public Sampler {
 public:
  explicit SyscallCounter(std::string root) : root_(std::move(root)) {}

  // Before the command is released. False: sample() says why.
  bool open(pid_t command);
  [[nodiscard]] Nanos period() const override { return std::chrono::seconds(1); }
  void sample(Nanos now, EventOut& out) override;

 private:
  std::string root_;
  Fd counter_;
  std::string why_ = "not counted: not opened";
  bool reported_ = false;
};

}  // namespace stallprof
