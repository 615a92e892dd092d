// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "base/time.h"
#include "event/event_out.h"
#include "event/vocabulary.h"

namespace stallprof {

// How hard to sample, as the governor allows: one sample every `period`, at one of `turns` threads
// each.
struct Pace {
  Nanos period{};
  unsigned turns = 1;
  double share = 0.01;      // of one core: what the whole recorder may take now
  Nanos asked{10'000'000};  // the period of `--hz`, which the governor only lengthens
  // Between two samples of a thread that runs, and is not preferred to others.
  [[nodiscard]] Nanos between() const { return period * static_cast<Nanos::rep>(turns); }
  friend bool operator==(const Pace&, const Pace&) = default;
};

// One source of truth, sampled from outside. A sampler reads through a root directory given at
// construction ("/" in life, a fixture in tests), never stops, signals or writes to what it
// watches, and treats every file as optional: what is missing becomes a SourceState, once.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // How often `sample` is due, asked again after each call. The loop may call it late, or early by
  // up to a quarter; up to a half where it leads, or beside one that does.
  [[nodiscard]] virtual Nanos period() const = 0;
  // The loop wakes when this one is due, and calls the others at the nearest of its turns.
  [[nodiscard]] virtual bool leads() const { return false; }
  virtual void sample(Nanos now, EventOut& out) = 0;
  // The command has ended or the recorder stops: give what is still held back (open slices).
  virtual void finish(Nanos now, EventOut& out) { sample(now, out); }
  // Nothing is sampled from now on, until `resume`, which says how long that was.
  virtual void pause() {}
  virtual void resume(Nanos /*now*/, Nanos /*paused*/) {}
  // What the governor asks for. Only samplers whose cost grows with the number of threads heed it.
  virtual void setPace(const Pace&) {}
  // Threads that train: sampled with every round, whose turns only the others wait for.
  virtual void prefer(std::span<const ThreadId>) {}
  // CPU spent so far in what the pace governs: repeated samples, without a new thread's first.
  [[nodiscard]] virtual Nanos pacedCpu() const { return Nanos::zero(); }
};

struct SourceReport {
  std::string name;  // as in SourceState events
  Coverage state = Coverage::kAbsent;
  std::string why;
};

}  // namespace stallprof
