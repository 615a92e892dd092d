// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "sampler/proc/sampler.h"

namespace stallprof {

// The number by which perf knows the tracepoint of openat, or -errno. It is read from tracefs where
// that is mounted; else, by root, from a mount that is in no namespace (fsmount, Linux 5.2): the
// host and the job see nothing of it. `root` is "/" or a fixture, in which nothing is mounted.
// -ENOENT, -ENODEV: the kernel has no such tracepoint, no tracefs. -EPERM, -EACCES: not permitted.
[[nodiscard]] std::int64_t openatTracepoint(const std::string& root);

// How often the job opened a file: one counting perf event on the tracepoint of openat, inherited
// by every descendant. Needs root, or tracefs and perf_event_paranoid -1; elsewhere opens are "not
// counted" and said so. While it is open every system call of every process of the host takes the
// kernel's slow path (syscall_regfunc), whose cost is in nobody's account.
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
  std::string why_;
  bool asked_ = false, reported_ = false;
};

}  // namespace stallprof
