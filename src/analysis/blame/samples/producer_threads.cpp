// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/producer_threads.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "analysis/facts/native_samples.h"
#include "analysis/facts/observed.h"
#include "analysis/facts/stack_samples.h"
#include "classify/own_rules.h"
#include "classify/waits.h"

namespace stallprof {
namespace {

constexpr double kWorksMeanwhile = 0.10;  // of the trainer's waiting: less is chance
constexpr double kHandsOver = 0.01;       // likewise, of who waits for what it hands over
constexpr double kWorksAllAlong = 0.80;   // of its sleeping: more than who is merely ahead
constexpr double kComputes = 0.20;        // of a thread's running samples: it is the model's
constexpr double kSpins = 0.50;           // of a native thread's samples: it waits for the model
constexpr double kFewNative = 10;         // of them: fewer say nothing
constexpr double kMinSamples = 30;        // of all running samples: below, shares are noise
constexpr double kWaitsForRoom = 0.05;    // of a thread's samples: a put that blocks is no chance
constexpr double kMinWaiting = 0.01;      // of the interval, or a life: nobody is waited for
constexpr std::string_view kCompiledPool = "tf_XLA";  // how XLA on a CPU names its threads

// In an evaluation, a checkpoint or a line that makes data the graph is not the training's.
bool ofModel(const StackLabel& label) {
  return !label.rule || label.rule->work || label.rule->phase == Phase::kCompute;
}

// The trainer's thread is in a call that hands over what other threads or processes made: blocked
// for one, or on its way into or out of waiting, as behind the interpreter's lock.
// Where no steps are known (`stepless`) what a pool was asked for may be the training itself.
bool waitsForThreads(const StackLabel& label, bool stepless) {
  if (!label.handover) return false;
  // A notebook's own loop, between cells, is nobody's.
  if (label.handover->id == kSelects) return !label.user.none();
  return !(stepless && label.handover->id == kAsksPool);
}

Nanos worked(const Observed& seen) { return seen.run + seen.queued + seen.extract; }

class ProducerFinder {
 public:
  ProducerFinder(const Trace& trace, const StackLabels& labels, const TrainerTimeline& timeline,
                 Nanos begin, Nanos end)
      : trace_(trace), labels_(labels), timeline_(timeline), begin_(begin), end_(end) {
    found_.getNexts = GetNexts(trace, timeline.who.process);
  }

  ProducerThreads find() {
    inspectFetches();
    inspectTrainer();
    waits_ = joined(std::move(waits_));  // they may be compared with thousands of threads
    const Nanos waiting = lengthIn(waits_, {begin_, end_});
    const bool waitedFor = seconds(waiting) >= kMinWaiting * seconds(end_ - begin_);
    Inspected seen;
    const auto take = [&](ThreadId id) {
      // Beside a device it is data that is computed on a CPU.
      const bool compiled =
          trace_.devices.empty() && trace_.text(trace_.thread(id).name).starts_with(kCompiledPool);
      if (spins(id)) return;
      if (compiled) found_.compiled.push_back(id);
      if (compiled || computes(id)) {
        found_.computing = true;
        return;
      }
      found_.threads.push_back(id);
      inspectProducer(id, seen);
    };
    if (waitedFor)
      takeWorking(waiting, take);
    else
      takeAhead(take);
    if (!found_.found() && !waitedFor) takePolled(take);
    if (seen.running.all.samples >= kMinSamples) {
      found_.cpuExtract = seen.running.ratio(Phase::kExtract);
      found_.cpuLoad = seen.running.ratio(Phase::kLoad);
    }
    found_.awaitsNetwork = seen.networkShare();
    return std::move(found_);
  }

 private:
  struct Inspected {
    PhaseSamples running;
    double vague = 0, network = 0;  // samples that are blocked: their waits do not say for what
    [[nodiscard]] double networkShare() const { return vague >= kMinSamples ? network / vague : 0; }
  };

  void inspectFetches() {
    for (std::size_t i = 0; i < timeline_.fetches.size(); ++i) {
      const Timed<Fetch>& fetch = *timeline_.fetches[i];
      if (timeline_.epochs[timeline_.epochOf[i]].byThreads)
        waits_.push_back(intersect(intervalOf(fetch), {begin_, end_}));
    }
  }

  // Samples outside of fetches: what a fetch is for, the hook says.
  void inspectTrainer() {
    const bool stepless = isStepless(timeline_);
    auto fetch = timeline_.fetches.begin();
    eachSample(
        trace_, trace_.thread(timeline_.who.thread), begin_, end_, [&](const Sample& sample) {
          while (fetch != timeline_.fetches.end() && (*fetch)->end() < sample.at) ++fetch;
          if (fetch != timeline_.fetches.end() && (*fetch)->at <= sample.at) return;
          const StackLabel& label = labels_.of(sample.stack->stack, Side::kTrainer);
          if (polls(label, sample.wait, timeline_))
            polled_.push_back({sample.at - sample.weight, sample.at});
          if (waitsForThreads(label, stepless) || found_.graphWaits(label, sample.wait, sample.at))
            waits_.push_back({sample.at - sample.weight, sample.at});
        });
  }

  // Who works while it waits. Each may live for a moment, in which it resolves a host's name, say:
  // what they do together has to count.
  template <class Take>
  void takeWorking(Nanos waiting, Take&& take) {
    std::vector<ThreadId> found;
    Nanos meanwhile{};
    const auto ask = [&](ThreadId id) {
      const Nanos work = works(id, kWorksMeanwhile);
      if (work <= Nanos{}) return;
      found.push_back(id);
      meanwhile += work;
    };
    for (const ThreadId id : trace_.process(timeline_.who.process).threads)
      if (id != timeline_.who.thread) ask(id);
    eachOther(ask);
    if (seconds(meanwhile) < kWorksMeanwhile * seconds(waiting)) return;
    std::for_each(found.begin(), found.end(), take);
  }

  // Where it waits for nobody, who waits for it.
  template <class Take>
  void takeAhead(Take&& take) {
    for (const ThreadId id : trace_.process(timeline_.who.process).threads)
      if (id != timeline_.who.thread && waitsForRoom(id)) take(id);
  }

  // Where it waits for nobody and sleeps, until who works nearly all of that time is done: a Python
  // thread, as those of libraries spin beside it.
  template <class Take>
  void takePolled(Take&& take) {
    waits_ = joined(std::move(polled_));
    const Nanos asleep = lengthIn(waits_, {begin_, end_});
    if (seconds(asleep) < kMinWaiting * seconds(end_ - begin_)) return;
    for (const ThreadId id : trace_.process(timeline_.who.process).threads)
      if (id != timeline_.who.thread && !trace_.thread(id).stacks.empty() &&
          works(id, kWorksAllAlong) > Nanos{})
        take(id);
    found_.polled = found_.found();
  }

  // Python threads of processes that the trainer started, or that those did; not the workers of a
  // loader that it reads itself: the hook knows whose batches they make.
  template <class Visit>
  void eachOther(Visit&& visit) const {
    const std::set<ProcessId> own = ownWorkers();
    for (const ProcessLife& process : trace_.processes)
      if (below(process) && !own.contains(process.id))
        for (const ThreadId id : process.threads)
          if (!trace_.thread(id).stacks.empty()) visit(id);
  }

  // Without those of loaders that another thread reads for it (BackgroundGenerator, MONAI's
  // ThreadDataLoader).
  [[nodiscard]] std::set<ProcessId> ownWorkers() const {
    std::set<std::uint64_t> keys;
    for (const EpochSpan& epoch : timeline_.epochs)
      if (epoch.hasWorkers) keys.insert(epoch.key);
    const bool unknown = keys.erase(0) > 0 && keys.empty();  // no iterator was seen
    std::set<ProcessId> workers;
    for (const auto& row : trace_.workers)
      if (unknown || keys.contains(row.data.key))
        workers.insert(trace_.thread(row.data.thread).process);
    return workers;
  }

  [[nodiscard]] bool below(const ProcessLife& process) const {
    const auto ours = [&](ProcessId id) { return id == timeline_.who.process; };
    return !firstAbove(trace_, process.id, ours).none();
  }

  // What a thread works while the trainer waits, if for `part` of that in the thread's life, which
  // may be an epoch's; else none.
  [[nodiscard]] Nanos works(ThreadId id, double part) const {
    const ThreadLife& thread = trace_.thread(id);
    const Interval life{std::max(begin_, thread.seen), std::min(end_, thread.gone)};
    Nanos waiting{}, work{}, vague{};
    divide(waits_, life, [&](const Interval& interval, const Interval* wait) {
      if (!wait) return;
      waiting += interval.length();
      const Observed seen = observe(thread, interval);
      work += worked(seen);
      vague += seen.unknown;
    });
    if (waiting <= Nanos{} || seconds(waiting) < kMinWaiting * seconds(life.length())) return {};
    // What an event loop of the program's own gets from the network takes hardly any work.
    if (seconds(work) >= kHandsOver * seconds(waiting) && seconds(work) < part * seconds(waiting)) {
      Inspected seen;
      inspectProducer(id, seen);
      work += scaled(vague, seen.networkShare());
    }
    return seconds(work) >= part * seconds(waiting) ? work : Nanos{};
  }

  [[nodiscard]] bool waitsForRoom(ThreadId id) const {
    double all = 0, inPut = 0;
    eachSample(trace_, trace_.thread(id), begin_, end_, [&](const Sample& sample) {
      ++all;
      const PhaseRule* rule = labels_.of(sample.stack->stack, Side::kTrainer).rule;
      inPut += sample.wait != Wait::kRunning && rule && rule->id == "python.queue_put";
    });
    return inPut > kWaitsForRoom * all;
  }

  // A thread of a pool, as OpenMP's, that spins for a while after each piece of work.
  [[nodiscard]] bool spins(ThreadId id) {
    if (!trace_.thread(id).stacks.empty()) return false;
    const Spins seen = spinsIn(trace_.thread(id), {begin_, end_}, classes_);
    return seen.samples >= kFewNative && seen.spins > kSpins * seen.samples;
  }

  [[nodiscard]] bool computes(ThreadId id) const {
    double running = 0, computing = 0;
    eachSample(trace_, trace_.thread(id), begin_, end_, [&](const Sample& sample) {
      if (sample.wait != Wait::kRunning) return;
      const PhaseRule* rule = labels_.of(sample.stack->stack, Side::kTrainer).rule;
      ++running;
      computing += rule && !rule->work && rule->phase == Phase::kCompute;
    });
    return running > 0 && computing > kComputes * running;
  }

  void inspectProducer(ThreadId id, Inspected& seen) const {
    eachSample(trace_, trace_.thread(id), begin_, end_, [&](const Sample& sample) {
      const StackLabel& label = labels_.of(sample.stack->stack, Side::kProducer);
      const SampleLabel what = StackLabels::sample(label, sample.wait, false);
      if (sample.wait == Wait::kRunning)
        return seen.running.add(what.phase, sample.stack, seconds(sample.weight));
      if (producerWait(sample.wait).phase != Phase::kUnknown) return;
      ++seen.vague;
      seen.network += what.rule == kAwaitsNetwork;
    });
  }

  const Trace& trace_;
  const StackLabels& labels_;
  const TrainerTimeline& timeline_;
  const Nanos begin_, end_;
  std::vector<Interval> waits_, polled_;
  NativeClasses classes_{trace_};
  ProducerThreads found_;
};

}  // namespace

bool polls(const StackLabel& label, Wait wait, const TrainerTimeline& timeline) {
  return wait == Wait::kSleep && label.usersLine() && timeline.fetches.empty() &&
         !isStepless(timeline);
}

bool isStepless(const TrainerTimeline& timeline) {
  return timeline.fetches.empty() && timeline.updates.empty() && timeline.iterations.empty() &&
         timeline.annotated.iterations.empty();
}

bool ProducerThreads::graphWaits(const StackLabel& label, Wait wait, Nanos at) const {
  return wait != Wait::kRunning && ofModel(label) && getNexts.at(at);
}

bool ProducerThreads::graphHidden(const StackLabel& label, Wait wait) const {
  return wait != Wait::kRunning && ofModel(label) && getNexts.blind();
}

bool ProducerThreads::has(ThreadId id) const {
  return std::find(threads.begin(), threads.end(), id) != threads.end();
}

bool ProducerThreads::computedMeanwhile(const Trace& trace, const Interval& wait) const {
  return std::any_of(compiled.begin(), compiled.end(), [&](ThreadId id) {
    return 2 * worked(observe(trace.thread(id), wait)) > wait.length();
  });
}

bool ProducerThreads::awaited(const StackLabel& label, const Sample& sample,
                              const TrainerTimeline& timeline, bool anyone) const {
  return ((found() || anyone) && waitsForThreads(label, isStepless(timeline))) ||
         (polled && polls(label, sample.wait, timeline)) ||
         graphWaits(label, sample.wait, sample.at);
}

Phase ProducerThreads::madeMeanwhile(const Trace& trace, const Interval& wait) const {
  if (!found()) return computing ? Phase::kCompute : Phase::kUnknown;
  if (computedMeanwhile(trace, wait)) return Phase::kCompute;
  const Doing doing = in(trace, wait);
  const std::pair<Nanos, Phase> parts[] = {{doing.extract, Phase::kExtract},
                                           {doing.transform, Phase::kTransform},
                                           {doing.load, Phase::kLoad},
                                           {doing.unknown, Phase::kUnknown}};
  return std::max_element(std::begin(parts), std::end(parts),
                          [](auto& a, auto& b) { return a.first < b.first; })
      ->second;
}

ProducerThreads::Doing ProducerThreads::in(const Trace& trace, const Interval& wait) const {
  Observed all;
  for (const ThreadId id : threads)
    if (const ThreadLife& thread = trace.thread(id);
        thread.seen < wait.end && thread.gone > wait.begin)
      all += observe(thread, wait);
  const Nanos length = wait.length(), busy = worked(all);
  const double scale = busy > length ? seconds(length) / seconds(busy) : 1;
  Doing doing;
  const Nanos cpu = scaled(all.run + all.queued, scale);
  doing.extractCpu = scaled(cpu, cpuExtract);
  doing.extract = scaled(all.extract, scale) + doing.extractCpu;
  const Nanos handing = scaled(cpu, cpuLoad);
  doing.transform = cpu - doing.extractCpu - handing;
  const Nanos idle = std::max(Nanos{}, length - doing.extract - doing.transform - handing);
  const Nanos vague = std::min(all.unknown, idle), network = scaled(vague, awaitsNetwork);
  doing.extract += network;
  doing.unknown = vague - network;
  doing.load = length - doing.extract - doing.transform - doing.unknown;
  return doing;
}

ProducerThreads findProducerThreads(const Trace& trace, const StackLabels& labels,
                                    const TrainerTimeline& timeline, Nanos begin, Nanos end) {
  return ProducerFinder(trace, labels, timeline, begin, end).find();
}

}  // namespace stallprof
