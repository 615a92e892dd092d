// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "analysis/facts/native_samples.h"
#include "analysis/whole_run/thread_use.h"
#include "classify/native_work.h"

namespace stallprof {

// Where a sample was, for what it was for: code that only does what its caller wants is its
// caller's.
struct Spot {
  using Place = std::pair<StringId, StringId>;  // file, function as spelled
  Place place;
  bool makes = false;  // random numbers are drawn there, or text is handled
  LoopCode loop{};
};

// What the code of a process without an interpreter is for, by all samples of its threads in a
// window (native_run.h). All that is passed outlives it.
class NativeCode {
 public:
  using Place = Spot::Place;
  NativeCode(const Trace& trace, const RuleTable& rules, const ProcessLife& process,
             const Interval& window, ThreadId main);

  template <class Visit>
  void eachSample(const ThreadLife& thread, Visit&& visit) const {
    eachNative(thread, window_,
               [&](const NativeSlice& native) { visit(spotOf(native), double(native.samples)); });
  }
  [[nodiscard]] Spot spotOf(const NativeSlice& native) const;
  [[nodiscard]] const NativeWork& workAt(const Place& place) const;
  // Adds samples of a thread at a spot, by phase.
  void addSample(ThreadUse& use, const ThreadLife& thread, const Spot& spot, double samples) const;
  // Locks: for the loops of its pools, where it has some, or for what else `use` is.
  void addLocks(ThreadUse& use, double samples) const;

  [[nodiscard]] bool ofPool(const ThreadLife& thread) const { return pools_.contains(thread.id); }
  // Of a program whose main thread trains: another runs none of its functions, and nothing that a
  // rule or a name says computes but libm. What it does and the main one waits for is then its
  // data.
  [[nodiscard]] bool worksElsewhere(const ThreadLife& thread) const;

 private:
  void findCalls();
  [[nodiscard]] bool nearCall(const NativeSlice& native) const;
  [[nodiscard]] Phase phaseOfCode(const Spot& spot) const;
  void judgeCode();
  void addOwn(ThreadUse& use, const Spot& spot, double samples) const;
  void findPools();
  [[nodiscard]] double regionPart(const ThreadLife& thread, const Place& place) const;
  void measureUnnamed();
  void judgePools();
  [[nodiscard]] std::set<Place> ownPlaces(const ThreadLife& thread) const;

  const Trace& trace_;
  const RuleTable& rules_;
  const ProcessLife& process_;
  const Interval window_;
  const ThreadId main_;
  std::set<ThreadId> pools_;
  std::set<Place> regions_, ofMain_;
  std::map<StringId, std::set<std::uint64_t>> calls_;  // their places, by file
  std::map<Place, ThreadUse> functions_;               // of own code, by its loops
  bool trains_ = false;
  double unnamedPart_ = 0;
  Phase looped_ = Phase::kOther;
  ThreadUse team_;
  mutable std::map<Place, NativeWork> works_;
};

}  // namespace stallprof
