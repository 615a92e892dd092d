// SPDX-License-Identifier: MIT
#pragma once

#include <sys/time.h>

#include <csignal>
#include <cstdint>
#include <ctime>

namespace stallprof {

// A set of signals as the kernel keeps it, bit N-1 for signal N. glibc's sigset_t calls hide
// signals 32 and 33, which a caller may well block or send.
using SignalMask = std::uint64_t;

[[nodiscard]] constexpr SignalMask signalBit(int signal) { return SignalMask{1} << (signal - 1); }
inline constexpr SignalMask kAllSignals = ~SignalMask{0};
// What a terminal stops a job by. Where we wait for the command alone, it stops us as the command
// does; else the kernel stops us.
inline constexpr SignalMask kJobControl =
    signalBit(SIGTSTP) | signalBit(SIGTTIN) | signalBit(SIGTTOU);

// Sets this thread's mask and returns the one before. Async-signal-safe.
SignalMask setSignalMask(SignalMask mask);
// Those that ask a process to end, but for the ones that our caller had ignored, as nohup and a
// shell's background do: blocked, they would be read all the same, and are to end nothing.
[[nodiscard]] SignalMask endingSignals();
// A non-blocking, close-on-exec signalfd; -1 with errno.
[[nodiscard]] int openSignalFd(SignalMask mask);

// What our caller handed us and the command must receive unchanged, although the front itself needs
// it otherwise. `take` comes first in a run; `restore` last in the child, right before exec.
class Inherited {
 public:
  // Blocks every signal but those of job control; SIGCHLD to its default (else there is no status
  // to wait for); stops interval timers (fork would lose them, and they are the command's); notes
  // the parent-death signal and whether orphans come to us, which fork clears; and puts
  // close-on-exec placeholders where 0, 1 or 2 are closed, so that no descriptor of ours lands
  // there.
  [[nodiscard]] static Inherited take();
  // Async-signal-safe. The command has the front as its parent, so its parent-death signal comes
  // when the front dies. The front got its own at the caller's death: SIGKILL ends both, any other
  // is passed on.
  void restore() const;

 private:
  SignalMask mask_ = 0;
  struct sigaction child_ {};
  itimerval timers_[3] = {};
  int deathSignal_ = 0;  // of the parent; 0: none
  int subreaper_ = 0;    // 1: its descendants' orphans become its children
};

}  // namespace stallprof
