// SPDX-License-Identifier: MIT
#include "stallprof/interruption.h"

#include <csignal>
#include <cstdio>

#include "launch/process/inherited.h"

namespace stallprof {
namespace {

volatile std::sig_atomic_t came = 0;

}  // namespace

void noteInterruption() {
  struct sigaction note {};
  note.sa_handler = [](int signal) { came = signal; };
  note.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  const SignalMask ending = endingSignals();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    if ((ending & signalBit(signal)) != 0) ::sigaction(signal, &note, nullptr);
}

int interruption() { return came; }

void endByInterruption() {
  if (came == 0) return;
  std::fflush(nullptr);
  ::signal(came, SIG_DFL);
  ::raise(came);
}

}  // namespace stallprof
