// SPDX-License-Identifier: MIT
#include "analysis/whole_run/native_code.h"

#include <algorithm>

#include "classify/native_class.h"

namespace stallprof {
namespace {

using Is = NativeWork::Is;

constexpr double kReads = 0.10;  // of a pool's samples: its loops read files

// A loop that calls for random numbers or text is not longer; instructions on both sides of the
// call.
constexpr std::uint64_t kNearCall = 64;
// Of samples in code that nothing names: that many add to numbers in memory where a program trains.
// Filters of audio and pictures only sum products in registers.
constexpr double kTrains = 0.02;
// Of a function's samples: where as many are known, its others are for the same.
constexpr double kKnown = 0.5;

}  // namespace

NativeCode::NativeCode(const Trace& trace, const RuleTable& rules, const ProcessLife& process,
                       const Interval& window, ThreadId main)
    : trace_(trace), rules_(rules), process_(process), window_(window), main_(main) {
  findCalls();
  judgeCode();
  findPools();
  if (!pools_.empty()) measureUnnamed();
  judgePools();
  ofMain_ = ownPlaces(trace.thread(main));
}

Spot NativeCode::spotOf(const NativeSlice& native) const {
  const Place leaf{native.file, native.function};
  const NativeWork& work = workAt(leaf);
  const Is is = work.is;
  const Place caller{native.callerFile, native.callerFunction};
  const bool called = !caller.first.none() && workAt(caller).is != Is::kUnknown;
  if (is == Is::kOwn) {
    const bool makes = native.draws || nearCall(native);
    // Of a template in a library the caller would be whoever called the library.
    const bool within = called && caller.first == leaf.first && !workAt(caller).ofTemplate;
    if (!work.ofTemplate || !within) return {leaf, makes, native.loop};
    return {caller, makes, native.loop == LoopCode::kUnknown ? native.callerLoop : native.loop};
  }
  if (!called || (is != Is::kUnknown && is != Is::kMakes)) return {leaf};
  return is == Is::kMakes ? Spot{caller, true} : Spot{caller, false, native.callerLoop};
}

// Calls for random numbers and text.
void NativeCode::findCalls() {
  for (const ThreadId id : process_.threads)
    eachNative(trace_.thread(id), window_, [&](const NativeSlice& native) {
      if (!native.callerFile.none() && workAt({native.file, native.function}).is == Is::kMakes)
        calls_[native.callerFile].insert(native.callerOffset);
    });
}
bool NativeCode::nearCall(const NativeSlice& native) const {
  const auto calls = calls_.find(native.file);
  if (calls == calls_.end() || native.offset == 0) return false;
  const auto call = calls->second.lower_bound(native.offset - std::min(native.offset, kNearCall));
  return call != calls->second.end() && *call <= native.offset + kNearCall;
}

// What code is for that neither a rule nor a name knows, by its loop.
Phase NativeCode::phaseOfCode(const Spot& spot) const {
  const bool sums = spot.loop == LoopCode::kProducts || spot.loop == LoopCode::kUpdates;
  if (sums && trains_) return Phase::kCompute;
  return spot.makes || spot.loop == LoopCode::kBytes ? Phase::kTransform : Phase::kUnknown;
}

// Whether the program trains in loops of its own, and what its functions do.
void NativeCode::judgeCode() {
  double own = 0, updates = 0;
  const auto eachOwn = [&](auto&& visit) {
    for (const ThreadId id : process_.threads)
      eachSample(trace_.thread(id), [&](const Spot& spot, double samples) {
        if (workAt(spot.place).is == Is::kOwn) visit(spot, samples);
      });
  };
  eachOwn([&](const Spot& spot, double samples) {
    own += samples;
    if (spot.loop == LoopCode::kUpdates) updates += samples;
  });
  trains_ = updates > kTrains * own;
  eachOwn([&](const Spot& spot, double samples) {
    const Phase phase = phaseOfCode(spot);
    const bool byLoop = phase == Phase::kCompute || !spot.makes;
    functions_[spot.place].add(byLoop ? phase : Phase::kUnknown, samples);
  });
}

// Own code whose loop shows nothing: for what the rest of its function is for.
void NativeCode::addOwn(ThreadUse& use, const Spot& spot, double samples) const {
  const Phase phase = phaseOfCode(spot);
  if (phase != Phase::kUnknown) {
    if (phase == Phase::kCompute || !spot.makes) use.named += samples;
    return use.add(phase, samples);
  }
  const auto found = functions_.find(spot.place);
  if (found == functions_.end() || spot.place.second.none()) return use.add(Phase::kOther, samples);
  ThreadUse known = found->second;
  const double unknown = std::exchange(known.phases[indexOf(Phase::kOther)], 0);
  if (unknown > (1 - kKnown) * known.all) return use.add(Phase::kOther, samples);
  known.all -= unknown;
  known.named = known.all;
  use.add(known, samples);
}

const NativeWork& NativeCode::workAt(const Place& place) const {
  const auto [found, fresh] = works_.try_emplace(place);
  if (fresh)
    found->second = nativeWork(rules_, trace_.text(place.first), trace_.text(place.second));
  return found->second;
}

bool NativeCode::worksElsewhere(const ThreadLife& thread) const {
  constexpr double kFew = 0.1;
  double all = 0, own = 0, shared = 0, computes = 0;
  eachSample(thread, [&](const Spot& spot, double samples) {
    const NativeWork& work = workAt(spot.place);
    all += samples;
    if (work.is == Is::kPhase && work.phase == Phase::kCompute &&
        !isOfLibm(trace_.text(spot.place.first)))
      computes += samples;
    if (work.is != Is::kOwn) return;
    own += samples;
    if (ofMain_.contains(spot.place)) shared += samples;
  });
  return own > kFew * all && shared <= kFew * own && computes <= kFew * all;
}

std::set<Spot::Place> NativeCode::ownPlaces(const ThreadLife& thread) const {
  std::set<Place> own;
  eachSample(thread, [&](const Spot& spot, double) {
    if (workAt(spot.place).is == Is::kOwn) own.insert(spot.place);
  });
  return own;
}

// The program's own functions that run on threads which wait in OpenMP's library.
void NativeCode::findPools() {
  for (const ThreadId id : process_.threads) {
    if (id == main_) continue;
    std::set<Place> own;
    bool pool = false;
    eachSample(trace_.thread(id), [&](const Spot& spot, double) {
      const Is is = workAt(spot.place).is;
      pool = pool || is == Is::kTeam;
      if (is == Is::kOwn) own.insert(spot.place);
    });
    if (!pool) continue;
    pools_.insert(id);
    regions_.insert(own.begin(), own.end());
  }
}

// How much of what a thread does at a place is such a loop. Without symbols a file is one place,
// and the threads of a pool have even parts of each loop: the main one has as much as another.
double NativeCode::regionPart(const ThreadLife& thread, const Place& place) const {
  if (workAt(place).is == Is::kRegion) return 1;
  if (!regions_.contains(place)) return 0;
  if (!place.second.none() || ofPool(thread)) return 1;
  return unnamedPart_;
}

void NativeCode::measureUnnamed() {
  double main = 0, pools = 0;
  for (const ThreadId id : process_.threads) {
    const ThreadLife& thread = trace_.thread(id);
    double* const sum = id == main_ ? &main : ofPool(thread) ? &pools : nullptr;
    if (sum == nullptr) continue;
    eachSample(thread, [&](const Spot& spot, double samples) {
      const Place& place = spot.place;
      if (place.second.none() && regions_.contains(place)) *sum += samples;
    });
  }
  if (main > 0) unnamedPart_ = std::min(1.0, pools / static_cast<double>(pools_.size()) / main);
}

// What the loops of its pools are for, as their own threads and the main one show it.
void NativeCode::judgePools() {
  double reads = 0, all = 0;
  for (const ThreadId id : pools_)
    eachSample(trace_.thread(id), [&](const Spot& spot, double samples) {
      const NativeWork& work = workAt(spot.place);
      if (work.is == Is::kTeam || work.is == Is::kLock) return;
      all += samples;
      if (work.is == Is::kOpen || work.is == Is::kRead) reads += samples;
    });
  looped_ = reads <= kReads * all ? Phase::kCompute : Phase::kOther;
  for (const ThreadId id : process_.threads)
    eachSample(trace_.thread(id), [&](const Spot& spot, double samples) {
      const bool computes = workAt(spot.place).phase == Phase::kCompute;
      const double part = regionPart(trace_.thread(id), spot.place);
      if (computes) team_.add(Phase::kCompute, samples);
      if (part > 0) team_.add(looped_, part * samples);
    });
}

void NativeCode::addSample(ThreadUse& use, const ThreadLife& thread, const Spot& spot,
                           double samples) const {
  const NativeWork& work = workAt(spot.place);
  if (const double part = regionPart(thread, spot.place); part > 0) {
    use.add(looped_, part * samples);
    if (part < 1) use.add(Phase::kOther, (1 - part) * samples);
    return;
  }
  if (work.is == Is::kTeam) return use.add(team_, samples);
  if (work.is == Is::kMakes) return use.add(Phase::kTransform, samples);
  if (work.is == Is::kOwn) return addOwn(use, spot, samples);
  if (work.is == Is::kOpen) use.open += samples;
  if (work.is == Is::kRead) use.read += samples;
  if (work.byName) use.named += samples;
  if (work.evaluates) use.evaluation += samples;
  use.add(work.phase, samples);
}

void NativeCode::addLocks(ThreadUse& use, double samples) const {
  if (samples > 0) use.add(pools_.empty() ? ThreadUse(use) : team_, samples);
}

}  // namespace stallprof
