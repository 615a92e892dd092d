// SPDX-License-Identifier: MIT
#include "launch/process/terminal.h"

#include <poll.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"
#include "launch/process/inherited.h"

namespace stallprof {

void printLine(std::string_view line) {
  constexpr int kPatienceMs = 200;
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, kPatienceMs) <= 0) return;
  // One write, so that it lands whole between the job's own lines. With SIGTTOU blocked the
  // terminal lets a background process write.
  const SignalMask before = setSignalMask(kAllSignals);
  (void)writeAll(STDERR_FILENO, "stallprof: " + std::string(line) + "\n");
  setSignalMask(before);
}

}  // namespace stallprof
