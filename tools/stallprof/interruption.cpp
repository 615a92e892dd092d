// SPDX-License-Identifier: MIT
#include "stallprof/interruption.h"

#include <chrono>
#include <csignal>
#include <cstdio>

#include "base/time.h"
#include "launch/process/inherited.h"

namespace stallprof {
namespace {

// timeout(1) sends its signal to the command, then to the command's group: both are one request.
constexpr Nanos kOneRequest = std::chrono::seconds(1);

volatile std::sig_atomic_t came = 0;
Nanos cameAt{};

void note(int signal) {
  if (came != 0 && now() - cameAt < kOneRequest) return;
  if (came != 0) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  cameAt = now();
  came = signal;
}

}  // namespace

void noteInterruption() {
  const SignalMask ending = endingSignals();
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&action.sa_mask, signal);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    if ((ending & signalBit(signal)) != 0) ::sigaction(signal, &action, nullptr);
}

int interruption() { return came; }

void endByInterruption() {
  if (came == 0) return;
  std::fflush(nullptr);
  ::signal(came, SIG_DFL);
  ::raise(came);
}

}  // namespace stallprof
