// SPDX-License-Identifier: MIT
#include "analysis/whole_run/native_run.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "analysis/blame/attribution.h"
#include "analysis/blame/blame.h"
#include "analysis/facts/native_samples.h"
#include "analysis/steps/stopped.h"
#include "analysis/whole_run/forward_alone.h"
#include "analysis/whole_run/thread_use.h"
#include "classify/frames.h"
#include "classify/native_work.h"

namespace stallprof {
namespace {

using Is = NativeWork::Is;
using Place = std::pair<StringId, StringId>;  // file, function as spelled

// Where a sample was, for what it was for: code that only does what its caller wants is its
// caller's.
struct Spot {
  Place place;
  bool makes = false;  // random numbers are drawn there, or text is handled
  LoopCode loop{};
};

constexpr double kReads = 0.10;  // of a pool's samples: its loops read files

// A loop that calls for random numbers or text is not longer; instructions on both sides of the
// call.
constexpr std::uint64_t kNearCall = 64;
// Of samples in code that nothing names: that many add to numbers in memory where a program trains.
// Filters of audio and pictures only sum products in registers.
constexpr double kTrains = 0.02;
// Of a function's samples: where as many are known, its others are for the same.
constexpr double kKnown = 0.5;
// Native samples are written every two seconds; it is known of none where in them it was taken.
constexpr Nanos kPassInterval{2'000'000'000};

Nanos runOf(const Trace& trace, const ProcessLife& process) {
  Nanos run{};
  for (const ThreadId id : process.threads)
    for (const auto& slice : trace.thread(id).slices) run += slice.data.run;
  return run;
}

ThreadId mainThreadOf(const Trace& trace, const ProcessLife& process) {
  for (const ThreadId id : process.threads)
    if (trace.thread(id).tid == process.pid) return id;
  return {};
}

const ProcessLife* busiestOf(const Trace& trace) {
  const ProcessLife* best = nullptr;
  Nanos maximum{};
  for (const ProcessLife& process : trace.processes) {
    const Nanos run = runOf(trace, process);
    if (run <= maximum || mainThreadOf(trace, process).none()) continue;
    maximum = run;
    best = &process;
  }
  return best;
}

class NativeRun {
 public:
  NativeRun(const Trace& trace, const RuleTable& rules, const ProcessLife& process,
            const Interval& window)
      : trace_(trace), rules_(rules), process_(process), window_(window) {
    main_ = mainThreadOf(trace, process);
    findCalls();
    judgeCode();
    findPools();
    if (!pools_.empty()) measureUnnamed();
    judgePools();
    const ThreadUse main = cpuUse(trace.thread(main_));
    const bool trains = 2 * main.phases[indexOf(Phase::kCompute)] > main.all;
    const std::set<Place> own = ownPlaces(trace.thread(main_));
    for (const ThreadId id : process.threads) {
      if (id == main_) continue;
      ThreadUse use;
      addThread(use, trace.thread(id));
      if (trains && !pools_.contains(id) && worksElsewhere(trace.thread(id), own)) use.makesData();
      others_.join(use);
      if (!pools_.contains(id) && 2 * use.data() > use.all) makers_.push_back(id);
    }
  }

  [[nodiscard]] bool sampled() const {
    return std::any_of(process_.threads.begin(), process_.threads.end(),
                       [&](ThreadId id) { return !trace_.thread(id).natives.empty(); });
  }

  struct MainUse {
    ThreadUse use;
    double samples = 0;             // how many it rests on
    std::vector<ThreadId> threads;  // that make the data it waits for, more than it makes itself
  };
  // Of the main thread, while it was not `stopped`.
  [[nodiscard]] MainUse mainUse(Nanos stopped) const {
    const ThreadLife& thread = trace_.thread(main_);
    const ThreadUse onCpu = cpuUse(thread);
    const Observed seen = observe(thread, window_);
    MainUse main;
    main.use.add(onCpu, seconds(seen.run + seen.queued));
    main.samples = onCpu.all;
    const double waited =
        addBlocked(main.use, thread, seconds(window_.length() - stopped - seen.run - seen.queued),
                   main.samples);
    const double own = main.use.data();
    if (waited > 0) main.use.add(others_, waited);
    if (main.use.data() > 2 * own) main.threads = makers_;
    return main;
  }

 private:
  template <class Visit>
  void eachSample(const ThreadLife& thread, Visit&& visit) const {
    eachNative(thread, window_,
               [&](const NativeSlice& native) { visit(spotOf(native), double(native.samples)); });
  }

  [[nodiscard]] Spot spotOf(const NativeSlice& native) const {
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
  void findCalls() {
    for (const ThreadId id : process_.threads)
      eachNative(trace_.thread(id), window_, [&](const NativeSlice& native) {
        if (!native.callerFile.none() && workAt({native.file, native.function}).is == Is::kMakes)
          calls_[native.callerFile].insert(native.callerOffset);
      });
  }
  [[nodiscard]] bool nearCall(const NativeSlice& native) const {
    const auto calls = calls_.find(native.file);
    if (calls == calls_.end() || native.offset == 0) return false;
    const auto call = calls->second.lower_bound(native.offset - std::min(native.offset, kNearCall));
    return call != calls->second.end() && *call <= native.offset + kNearCall;
  }

  // What code is for that neither a rule nor a name knows, by its loop.
  [[nodiscard]] Phase phaseOfCode(const Spot& spot) const {
    const bool sums = spot.loop == LoopCode::kProducts || spot.loop == LoopCode::kUpdates;
    if (sums && trains_) return Phase::kCompute;
    return spot.makes || spot.loop == LoopCode::kBytes ? Phase::kTransform : Phase::kUnknown;
  }

  // Whether the program trains in loops of its own, and what its functions do.
  void judgeCode() {
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
  void addOwn(ThreadUse& use, const Spot& spot, double samples) const {
    const Phase phase = phaseOfCode(spot);
    if (phase != Phase::kUnknown) {
      if (phase == Phase::kCompute || !spot.makes) use.named += samples;
      return use.add(phase, samples);
    }
    const auto found = functions_.find(spot.place);
    if (found == functions_.end() || spot.place.second.none())
      return use.add(Phase::kOther, samples);
    ThreadUse known = found->second;
    const double unknown = std::exchange(known.phases[indexOf(Phase::kOther)], 0);
    if (unknown > (1 - kKnown) * known.all) return use.add(Phase::kOther, samples);
    known.all -= unknown;
    known.named = known.all;
    use.add(known, samples);
  }

  const NativeWork& workAt(const Place& place) const {
    const auto [found, fresh] = works_.try_emplace(place);
    if (fresh)
      found->second = nativeWork(rules_, trace_.text(place.first), trace_.text(place.second));
    return found->second;
  }

  // Of a program whose main thread trains: another runs none of its functions, and nothing that a
  // rule or a name says computes but libm. What it does and the main one waits for is then its
  // data.
  [[nodiscard]] bool worksElsewhere(const ThreadLife& thread, const std::set<Place>& mains) const {
    constexpr double kFew = 0.1;
    double all = 0, own = 0, shared = 0, computes = 0;
    eachSample(thread, [&](const Spot& spot, double samples) {
      const NativeWork& work = workAt(spot.place);
      all += samples;
      if (work.is == Is::kPhase && work.phase == Phase::kCompute && !ofLibm(spot.place))
        computes += samples;
      if (work.is != Is::kOwn) return;
      own += samples;
      if (mains.contains(spot.place)) shared += samples;
    });
    return own > kFew * all && shared <= kFew * own && computes <= kFew * all;
  }

  [[nodiscard]] bool ofLibm(const Place& place) const {
    const std::string_view name = baseName(trace_.text(place.first));
    return name.starts_with("libm.so") || name.starts_with("libm-2") || name.starts_with("libmvec");
  }

  [[nodiscard]] std::set<Place> ownPlaces(const ThreadLife& thread) const {
    std::set<Place> own;
    eachSample(thread, [&](const Spot& spot, double) {
      if (workAt(spot.place).is == Is::kOwn) own.insert(spot.place);
    });
    return own;
  }

  // The program's own functions that run on threads which wait in OpenMP's library.
  void findPools() {
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

  [[nodiscard]] bool ofPool(const ThreadLife& thread) const { return pools_.contains(thread.id); }

  // How much of what a thread does at a place is such a loop. Without symbols a file is one place,
  // and the threads of a pool have even parts of each loop: the main one has as much as another.
  [[nodiscard]] double regionPart(const ThreadLife& thread, const Place& place) const {
    if (workAt(place).is == Is::kRegion) return 1;
    if (!regions_.contains(place)) return 0;
    if (!place.second.none() || ofPool(thread)) return 1;
    return unnamedPart_;
  }

  void measureUnnamed() {
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
  void judgePools() {
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

  void addSample(ThreadUse& use, const ThreadLife& thread, const Spot& spot, double samples) const {
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

  [[nodiscard]] ThreadUse cpuUse(const ThreadLife& thread) const {
    ThreadUse use;
    std::map<std::int64_t, PassSamples> passes;  // by interval: a forged window may last years
    double locks = 0;
    eachTimedNative(thread, window_, [&](const NativeSlice& native, Nanos middle) {
      const Spot spot = spotOf(native);
      if (workAt(spot.place).is == Is::kLock) {
        locks += native.samples;
        return;
      }
      ThreadUse one;
      addSample(one, thread, spot, native.samples);
      addPass(passes[middle / kPassInterval], spot, one.phases[indexOf(Phase::kCompute)]);
      use.join(one);
    });
    if (locks > 0) use.add(pools_.empty() ? ThreadUse(use) : team_, locks);
    std::vector<PassSamples> inOrder;
    for (const auto& [interval, samples] : passes) inOrder.push_back(samples);
    use.runsAlone(forwardAlone(inOrder));
    return use;
  }
  void addPass(PassSamples& passes, const Spot& spot, double computing) const {
    const ModelPass pass = workAt(spot.place).pass;
    (pass == ModelPass::kForward    ? passes.forward
     : pass == ModelPass::kBackward ? passes.backward
                                    : passes.rest) += computing;
  }

  // What another thread of the process did while it was not waiting for the others.
  void addThread(ThreadUse& to, const ThreadLife& thread) {
    const Observed seen = observe(thread, window_);
    to.add(cpuUse(thread), seconds(seen.run + seen.queued));
    to.read += seconds(seen.extract);
    to.add(Phase::kExtract, seconds(seen.extract));
  }

  // Time blocked, by what the samples found it blocked in; returned, and not added: in which it
  // waits for other threads.
  double addBlocked(ThreadUse& use, const ThreadLife& thread, double blocked,
                    double& samples) const {
    std::map<Wait, double> waits;
    double all = 0;
    for (const auto& slice : thread.slices)
      if (window_.overlaps(intervalOf(slice))) waits[slice.data.wait] += slice.data.samples;
    for (const Wait none : {Wait::kRunning, Wait::kUnknown, Wait::kStopped}) waits.erase(none);
    for (const auto& [wait, count] : waits) all += count;
    if (blocked <= 0) return 0;
    if (all <= 0) {
      use.add(Phase::kOther, blocked);
      return 0;
    }
    samples += all;
    double waited = 0;
    for (const auto& [wait, count] : waits) waited += addWait(use, wait, blocked * count / all);
    return waited;
  }

  double addWait(ThreadUse& use, Wait wait, double time) const {
    switch (wait) {
      case Wait::kFileMeta:
      case Wait::kFileRead:
      case Wait::kPageFault:
      case Wait::kSocket:
        (wait == Wait::kFileMeta ? use.open : use.read) += time;
        use.add(Phase::kExtract, time);
        return 0;
      case Wait::kFutex:
      case Wait::kPipe:
      case Wait::kPoll:
      case Wait::kEventLoop:
      case Wait::kSleep: {
        // No more than the others worked: beyond that it waits for nobody that is seen.
        const double worked = std::min(time, others_.all);
        use.add(Phase::kOther, time - worked);
        return worked;
      }
      default:
        use.add(Phase::kOther, time);
        return 0;
    }
  }

  const Trace& trace_;
  const RuleTable& rules_;
  const ProcessLife& process_;
  const Interval window_;
  ThreadId main_;
  std::set<ThreadId> pools_;
  std::set<Place> regions_;
  std::map<StringId, std::set<std::uint64_t>> calls_;  // their places, by file
  std::map<Place, ThreadUse> functions_;               // of own code, by its loops
  bool trains_ = false;
  double unnamedPart_ = 0;
  Phase looped_ = Phase::kOther;
  ThreadUse team_, others_;
  std::vector<ThreadId> makers_;  // of the others, whose work is data
  mutable std::map<Place, NativeWork> works_;
};

void give(const ThreadUse& use, double samples, TrainerFacts& facts) {
  facts.split.other = facts.window();
  PhaseSamples& gap = facts.stacks.gap;
  gap.seconds = use.phases;
  gap.time = use.all;
  gap.all.samples = gap.all.squares = samples;
  facts.stacks.trainer = gap.all;
  facts.stacks.trainerTime = use.all;
  facts.stacks.modelTime = use.phases[indexOf(Phase::kCompute)];
  facts.stacks.overheads[static_cast<std::size_t>(OverheadKind::kEvaluation)] = use.evaluation;
  facts.native = {true, use.open / use.all, use.read / use.all, use.named / use.all, use.passes};
}

}  // namespace

TrainerFacts attributeNativeRun(const Trace& trace, const RuleTable& rules) {
  TrainerFacts facts;
  facts.windowBegin = trace.begin;
  facts.windowEnd = trace.end;
  const ProcessLife* process = busiestOf(trace);
  if (!process) return facts;
  const ThreadLife& thread = trace.thread(mainThreadOf(trace, *process));
  if (thread.slices.empty()) return facts;
  const Interval window{std::max(trace.begin, thread.slices.front().at),
                        std::min(trace.end, thread.slices.back().end())};
  const NativeRun run(trace, rules, *process, window);
  TrainerTimeline timeline;
  timeline.who = {process->id, thread.id};
  facts.stopped = lengthIn(stoppedTimes(trace, timeline), window);
  NativeRun::MainUse main = run.mainUse(facts.stopped);
  if (main.use.all <= 0 || !run.sampled()) return facts;
  facts.process = process->id;
  facts.thread = thread.id;
  facts.windowBegin = window.begin;
  facts.windowEnd = window.end;
  give(main.use, main.samples, facts);
  facts.threads = std::move(main.threads);
  const Observed observed = observe(thread, window);
  facts.cpu = observed.run;
  facts.starved = observed.queued;
  measureCounters(trace, facts);
  return facts;
}

}  // namespace stallprof
