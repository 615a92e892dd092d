// SPDX-License-Identifier: MIT
#include "analysis/whole_run/native_run.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/blame/attribution.h"
#include "analysis/blame/blame.h"
#include "analysis/facts/native_samples.h"
#include "analysis/steps/stopped.h"
#include "analysis/whole_run/forward_alone.h"
#include "analysis/whole_run/native_code.h"

namespace stallprof {
namespace {

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
      : trace_(trace),
        process_(process),
        window_(window),
        main_(mainThreadOf(trace, process)),
        code_(trace, rules, process, window, main_) {
    const ThreadUse main = cpuUse(trace.thread(main_));
    const bool trains = 2 * main.phases[indexOf(Phase::kCompute)] > main.all;
    for (const ThreadId id : process.threads) {
      if (id == main_) continue;
      const ThreadLife& thread = trace.thread(id);
      ThreadUse use;
      addThread(use, thread);
      const bool ofPool = code_.ofPool(thread);
      if (trains && !ofPool && code_.worksElsewhere(thread)) use.makesData();
      others_.join(use);
      if (!ofPool && 2 * use.data() > use.all) makers_.push_back(id);
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
  [[nodiscard]] ThreadUse cpuUse(const ThreadLife& thread) const {
    ThreadUse use;
    std::map<std::int64_t, PassSamples> passes;  // by interval: a forged window may last years
    double locks = 0;
    eachTimedNative(thread, window_, [&](const NativeSlice& native, Nanos middle) {
      const Spot spot = code_.spotOf(native);
      if (code_.workAt(spot.place).is == NativeWork::Is::kLock) {
        locks += native.samples;
        return;
      }
      ThreadUse one;
      code_.addSample(one, thread, spot, native.samples);
      addPass(passes[middle / kPassInterval], spot, one.phases[indexOf(Phase::kCompute)]);
      use.join(one);
    });
    code_.addLocks(use, locks);
    std::vector<PassSamples> inOrder;
    for (const auto& [interval, samples] : passes) inOrder.push_back(samples);
    use.runsAlone(forwardAlone(inOrder));
    return use;
  }
  void addPass(PassSamples& passes, const Spot& spot, double computing) const {
    const ModelPass pass = code_.workAt(spot.place).pass;
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
  const ProcessLife& process_;
  const Interval window_;
  const ThreadId main_;
  const NativeCode code_;
  ThreadUse others_;
  std::vector<ThreadId> makers_;  // of the others, whose work is data
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
