// SPDX-License-Identifier: MIT
#include "launch/process/terminal.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string>

#include "base/fd.h"
#include "launch/process/inherited.h"

namespace stallprof {

void writeError(std::string_view bytes) {
  const SignalMask before = setSignalMask(kAllSignals);
  sigset_t ofWrites, pending;
  ::sigemptyset(&ofWrites);
  ::sigpending(&pending);
  for (const int signal : {SIGPIPE, SIGXFSZ})
    if (::sigismember(&pending, signal) == 0) ::sigaddset(&ofWrites, signal);
  (void)writeAll(STDERR_FILENO, bytes);
  const timespec now{};
  while (::sigtimedwait(&ofWrites, nullptr, &now) > 0) {
  }
  setSignalMask(before);
}

void printLine(std::string_view line) {
  constexpr int kPatienceMs = 200;
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, kPatienceMs) <= 0) return;
  // One write, so that it lands whole between the job's own lines.
  writeError("stallprof: " + std::string(line) + "\n");
}

}  // namespace stallprof
