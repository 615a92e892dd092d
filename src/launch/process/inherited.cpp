// SPDX-License-Identifier: MIT
#include "launch/process/inherited.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

namespace stallprof {
namespace {

constexpr int kTimers[3] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

// open() gives the lowest free number, so three tries fill every hole below 3.
void fillStandardDescriptors() {
  for (;;) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    if (fd > 2) {
      ::close(fd);
      return;
    }
  }
}

}  // namespace

SignalMask setSignalMask(SignalMask mask) {
  SignalMask before = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof mask);
  return before;
}

SignalMask endingSignals() {
  SignalMask signals = 0;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    struct sigaction inherited {};
    if (::sigaction(signal, nullptr, &inherited) != 0 || inherited.sa_handler != SIG_IGN)
      signals |= signalBit(signal);
  }
  return signals;
}

int openSignalFd(SignalMask mask) {
  return static_cast<int>(
      ::syscall(SYS_signalfd4, -1, &mask, sizeof mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

Inherited Inherited::take() {
  Inherited state;
  // Block first: a signal from now on waits for the front's loop instead of ending us.
  state.mask_ = setSignalMask(kAllSignals);
  setSignalMask((kAllSignals & ~kJobControl) | state.mask_);
  struct sigaction byDefault {};
  byDefault.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &byDefault, &state.child_);
  const itimerval stopped{};
  for (int i = 0; i < 3; ++i) ::setitimer(kTimers[i], &stopped, &state.timers_[i]);
  ::prctl(PR_GET_PDEATHSIG, &state.deathSignal_);
  ::prctl(PR_GET_CHILD_SUBREAPER, &state.subreaper_);
  if (state.subreaper_ != 0) ::prctl(PR_SET_CHILD_SUBREAPER, 0);  // they are the command's
  fillStandardDescriptors();
  return state;
}

void Inherited::restore() const {
  for (int i = 0; i < 3; ++i) {
    const timeval& left = timers_[i].it_value;
    if (left.tv_sec != 0 || left.tv_usec != 0) ::setitimer(kTimers[i], &timers_[i], nullptr);
  }
  if (deathSignal_ != 0) ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(deathSignal_));
  if (subreaper_ != 0) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::sigaction(SIGCHLD, &child_, nullptr);
  setSignalMask(mask_);  // last: a signal that waited takes effect here, as on the command
}

}  // namespace stallprof
