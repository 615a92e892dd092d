// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "base/result.h"
#include "launch/process/control.h"
#include "launch/process/signal_judge.h"

namespace stallprof {

// The page that front and recorder share: how often each signal reached the recorder's process.
// Anonymous shared memory: it ends with the two processes and no disk can fail it.
class Witness {
 public:
  [[nodiscard]] static Result<Witness> create();

  // In the recorder, with every signal blocked: counts in a thread of its own, whatever the
  // recorder is busy with, until the process ends, and wakes the front by kWitnessed. False with
  // errno.
  [[nodiscard]] bool startCounting(const Control& control) const;
  // In the front. What is pending at the recorder is asked for before.
  [[nodiscard]] WitnessCounts counts(bool alive) const;

 private:
  struct Page {
    std::atomic<std::uint32_t> count[kSignals];
    std::atomic<bool> taking;  // from before a signal is taken until it is counted
  };
  struct Counting {
    Page* page = nullptr;
    int signals = -1;  // a signalfd
    Control control;   // with a descriptor of its own
  };
  static void* countForever(void* counting);
  explicit Witness(Page* page) : page_(page) {}
  Page* page_;  // never unmapped: it lives as long as the process
};

}  // namespace stallprof
