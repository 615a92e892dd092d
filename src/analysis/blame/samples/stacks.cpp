// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/stacks.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/blame/samples/batch_releases.h"
#include "analysis/blame/samples/fetch_pool.h"
#include "analysis/blame/samples/function_tally.h"
#include "analysis/blame/samples/lock_samples.h"
#include "analysis/blame/samples/native_split.h"
#include "analysis/blame/samples/ranks.h"
#include "analysis/blame/samples/refine.h"
#include "analysis/facts/hook_parts.h"
#include "analysis/facts/stack_samples.h"
#include "analysis/steps/loop_lines.h"
#include "analysis/steps/own_phases.h"
#include "classify/own_rules.h"
#include "classify/waits.h"

namespace stallprof {
namespace {

// As long as the warm-up of steps, which known ones have behind them.
constexpr Nanos kWarmUp = std::chrono::seconds(5);

void add(PhaseSamples& to, Phase phase, const Sample& run) {
  to.addEach(phase, run.stack, seconds(run.weight), run.count);
}

class Gatherer {
 public:
  Gatherer(const Trace& trace, const StackLabels& labels, const TrainerTimeline& timeline,
           Nanos begin, Nanos end, const ProducerThreads& threads)
      : trace_(trace),
        labels_(labels),
        timeline_(timeline),
        begin_(begin),
        end_(end),
        threads_(threads),
        functions_(trace),
        makers_(threads.threads.begin(), threads.threads.end()),
        own_(trace, labels, trace.thread(timeline.who.thread), begin, end),
        split_(trace, labels, begin, end),
        ranks_(trace, timeline.who),
        stepless_(isStepless(timeline)),
        warm_(stepless_ ? begin + std::min(kWarmUp, (end - begin) * 3 / 10) : begin),
        fromWorkers_(std::any_of(timeline.epochs.begin(), timeline.epochs.end(),
                                 [](const EpochSpan& epoch) { return epoch.hasWorkers; })),
        unseen_(timeline.fetches.empty() &&
                missingParts(trace, {}, !timeline.updates.empty()).fetches) {
    if (fromWorkers_)
      releases_.emplace(trace, labels, trace.thread(timeline.who.thread), begin, end);
    // A loader's fetches are exact, and an optimizer's steps order samples in time.
    if (!timeline.fetches.empty()) return;
    shown_ = LoopLines(trace, labels, trace.thread(timeline.who.thread), begin, end);
    if (timeline.updates.empty()) lines_ = shown_;
  }

  StackFacts gather(const Timeline& pieces, const Intervals& idle) {
    findFetches();
    inspectTrainer(pieces, idle);
    inspectWorkers();
    for (const ThreadId id : threads_.threads) inspectProducer(id);
    addLockSamples(facts_, trace_, labels_, producing(), timeline_.who.thread, makers_,
                   {begin_, end_});
    facts_.functions = functions_.take();
    for (const auto& [number, line] : ofLine_) facts_.lines.push_back(line);
    return std::move(facts_);
  }

 private:
  void inspectTrainer(const Timeline& pieces, const Intervals& idle) {
    const ThreadLife& thread = trace_.thread(timeline_.who.thread);
    auto next = pieces.begin();
    auto gap = idle.begin();
    const StackSlice* slice = nullptr;
    const Piece* first = nullptr;
    eachSample(trace_, thread, begin_, end_, [&](const Sample& sample) {
      while (next != pieces.end() && next->end <= sample.at) ++next;
      const Piece* piece = next != pieces.end() && next->begin <= sample.at ? &*next : nullptr;
      if (sample.stack != slice) {
        slice = sample.stack;
        first = piece;
      }
      // Only a slice's first sample has an instant of its own, the others are spread evenly: one of
      // the same stack, callers' lines and all, is inside next() as its first is, or it is not.
      if (inNext(piece) != inNext(first)) piece = first;
      if (inNext(piece) && drawsIndices(sample)) facts_.drawing += seconds(sample.weight);
      while (gap != idle.end() && gap->end <= sample.at) ++gap;
      inLongGap_ = gap != idle.end() && gap->begin <= sample.at;
      facts_.inLongGaps += inLongGap_;
      facts_.trainer.add(sample.stack);
      facts_.trainerTime += seconds(sample.weight);
      if (sample.stack->gc && !sample.stack->stack.none()) addOverhead(OverheadKind::kGc, sample);
      takeTrainer(piece, sample);
    });
  }

  void addOverhead(OverheadKind overhead, const Sample& sample) {
    facts_.overheads[static_cast<std::size_t>(overhead)] += seconds(sample.weight);
  }

  [[nodiscard]] static bool inNext(const Piece* piece) {
    return piece && piece->kind == Piece::Kind::kFetch;
  }
  // It may read, too: the rule says whose time it is, not what it is blocked in.
  [[nodiscard]] bool drawsIndices(const Sample& sample) const {
    const StackLabel& label = labels_.of(sample.stack->stack, Side::kProducer);
    return label.rule && label.rule->id == kDrawsIndices;
  }
  [[nodiscard]] bool madeHere(const Piece* piece) const {
    return inNext(piece) && !timeline_.epochs[timeline_.epochOf[piece->index]].hasWorkers;
  }

  void takeTrainer(const Piece* piece, const Sample& sample) {
    const ThreadId trainer = timeline_.who.thread;
    if (madeHere(piece)) {
      takeLock(sample);
      ++fetched_;
      const PhaseRule* handover = labels_.of(sample.stack->stack, Side::kTrainer).handover;
      handedOver_ += handover && handover->id != kEventLoop;
      return takeMaking(trainer, sample);
    }
    const StackLabel& label = labels_.of(sample.stack->stack, Side::kTrainer);
    SampleLabel what = split_.label(trainer, label, Side::kTrainer, sample);
    const bool phased =
        piece && (piece->kind == Piece::Kind::kPhase || piece->kind == Piece::Kind::kStep);
    // What the program annotated itself is not split by samples.
    const bool open = phased && !piece->annotated;
    const bool step = open && piece->phase == Phase::kCompute;
    const bool gap = !piece || (open && piece->phase == Phase::kOther);
    // A sample's instant is a little earlier than its stack was read: it fell beside its fetch,
    // which the hook has to the nanosecond, and may stand for a long time where samples are few.
    if (label.fetches && !timeline_.fetches.empty() && (step || gap)) return;
    const auto by = [&](std::string_view rule) { return label.rule && label.rule->id == rule; };
    if (step && !stepless_ && timeline_.fetches.empty() && by(kTorchLoad))
      what = {Phase::kExtract, OverheadKind::kNone, kTorchLoad};
    const auto own = own_.claim(sample.stack->stack, label, what);
    const bool data = !own && ofDataLine(label, sample, what);
    if (own)
      what = *own;
    else if ((step || gap) && releases_ && releases_->take(sample)) {
      what = {Phase::kLoad, OverheadKind::kNone, kOwnRelease};
      facts_.releasing += seconds(sample.weight);
    }
    if (data) what = {Phase::kTransform, OverheadKind::kNone, kOwnData};
    if (!own && !data && ofUnknownLine(label, sample, what))
      what = {Phase::kOther, OverheadKind::kNone, kUnknownLine};
    countCompilation(what, sample);
    Phase phase = what.phase;
    const bool unclear =
        phase == Phase::kUnknown || phase == Phase::kOther || phase == Phase::kSync;
    if (step && unseen_ && mayWait(label, sample, phase))
      phase = Phase::kUnknown;
    else if (step && unclear && what.rule != kUnknownLine)
      phase = Phase::kCompute;
    if (step && phase == Phase::kCompute && ranks_.waitsForOthers(label.python, sample)) {
      what = {Phase::kComm, OverheadKind::kNone, kOwnCollective};
      phase = Phase::kComm;
    }
    if (step && phase == Phase::kComm)
      facts_.collectives.push_back({sample.at - sample.weight, sample.at});
    const bool blocked = sample.wait != Wait::kRunning;
    // What a program that this one started is asked for: data, or an evaluation.
    if (step && blocked && phase == Phase::kCompute && by(kOwnProgram)) phase = Phase::kUnknown;
    // What a pool was asked for is not known, unless a library asked.
    if (stepless_ && by(kAsksPool)) phase = Phase::kOther;
    const bool anyone = stepless_ || (blocked && (unclear || what.phase == Phase::kCompute));
    const bool waits = (step || gap) && threads_.awaited(label, sample, timeline_, anyone);
    if (waits) phase = threads_.madeMeanwhile(trace_, {sample.at - sample.weight, sample.at});
    if (step && phase == Phase::kCompute && threads_.graphHidden(label, sample.wait))
      phase = Phase::kOther;
    if (!step && !gap) phase = phased ? piece->phase : Phase::kLoad;
    const bool warmUp = what.overhead == OverheadKind::kCompilation && sample.at < warm_;
    if ((step || gap) && what.overhead != OverheadKind::kGc && !warmUp)
      addOverhead(what.overhead, sample);
    if (step) {
      facts_.step.add(phase, sample.stack, seconds(sample.weight));
      takeStep(label, sample, data || (own && own->phase != Phase::kCompute));
    }
    if ((step || gap) && phase == Phase::kCompute && knownToCompute(label, sample))
      facts_.modelTime += seconds(sample.weight);
    if (gap) facts_.gap.add(phase, sample.stack, seconds(sample.weight));
    if (const StackId frame = shown_.frameOf(sample.stack->stack); !frame.none()) {
      LoopLineSamples& line = ofLine_[trace_.stack(frame).line];
      if (line.frame.none()) line.frame = frame;
      line.samples.add(phase, sample.stack, seconds(sample.weight));
    }
    // Waiting for a batch is not what the trainer does: blame says who owes it.
    if (!waits && (step || gap || phased || !blocked)) {
      // What a rule knows to wait does no work, though it was seen on a CPU.
      const bool deviceIdle = inLongGap_ && step && phase == Phase::kCompute && !unclear &&
                              !label.handover && what.overhead == OverheadKind::kNone;
      functions_.add(trainer, label, phase, what, sample, Side::kTrainer, deviceIdle);
    }
  }

  [[nodiscard]] const Intervals& makingOf(ThreadId thread) const {
    static const Intervals kAlways;
    const auto found = fetches_.find(thread);
    return found == fetches_.end() ? kAlways : found->second;
  }

  // A collection of garbage in the middle of one does not end it.
  void countCompilation(const SampleLabel& what, const Sample& sample) {
    if (what.overhead == OverheadKind::kGc) return;
    const bool compiles = what.overhead == OverheadKind::kCompilation && sample.at >= warm_;
    facts_.compilations += compiles && !compiling_;
    compiling_ = compiles;
  }

  // In a step of a program whose loader the hook does not see: in a loader, or blocked in nothing
  // that a rule knows.
  static bool mayWait(const StackLabel& label, const Sample& sample, Phase phase) {
    return phase == Phase::kLoad || (sample.wait != Wait::kRunning && !label.rule);
  }

  [[nodiscard]] bool knownToCompute(const StackLabel& label, const Sample& sample) const {
    return (label.rule && namesModel(*label.rule)) ||
           lines_.of(sample.stack->stack) == LoopLines::Is::kCompute;
  }
  // No rule says more of it than that it works: the line of the loop that it is called from does.
  static bool vague(const StackLabel& label, const SampleLabel& what) {
    return what.overhead == OverheadKind::kNone && (!label.rule || label.rule->work);
  }
  [[nodiscard]] bool ofDataLine(const StackLabel& label, const Sample& sample,
                                const SampleLabel& what) const {
    return lines_.of(sample.stack->stack) == LoopLines::Is::kData && vague(label, what) &&
           (what.phase == Phase::kCompute || what.phase == Phase::kUnknown);
  }
  // Neither a rule nor its line says what it is for. Waiting behind the model's first call may be
  // for its result.
  [[nodiscard]] bool ofUnknownLine(const StackLabel& label, const Sample& sample,
                                   const SampleLabel& what) const {
    const StackId stack = sample.stack->stack;
    return lines_.known() && !label.rule && what.phase == Phase::kCompute &&
           lines_.of(stack) != LoopLines::Is::kCompute &&
           !lines_.awaitsModel(stack, sample.wait != Wait::kRunning);
  }

  // What threads that make data in the trainer's process do, all the time.
  void inspectProducer(ThreadId id) {
    eachRun(
        trace_, trace_.thread(id), begin_, end_, [](const Sample&) { return true; },
        [&](const Sample& run) { takePool(id, run); });
  }

  void takeLock(const Sample& sample) {
    if (sample.stack->gil == Gil::kUnknown) return;
    const bool waits = sample.stack->gil == Gil::kWaits;
    if (waits || sample.wait != Wait::kRunning) facts_.ownIdle.add(sample.stack);
    facts_.ownLockWaits += waits;
  }

  void takeStep(const StackLabel& label, const Sample& sample, bool beside) {
    takeLock(sample);
    if (sample.stack->gil == Gil::kUnknown) return;
    ++facts_.gilKnown;
    facts_.stepLockWaits += sample.stack->gil == Gil::kWaits;
    facts_.ownPython += !beside && ownPython(label, sample);
  }

  static bool ofProducer(Phase phase) {
    return phase == Phase::kExtract || phase == Phase::kTransform || phase == Phase::kLoad ||
           phase == Phase::kUnknown;
  }

  void takeMaking(ThreadId thread, const Sample& sample) {
    const StackLabel& label = labels_.of(sample.stack->stack, Side::kProducer);
    SampleLabel what = split_.label(thread, label, Side::kProducer, sample);
    // The hook says that a batch is made here, whatever else the stack is known for.
    if (!ofProducer(what.phase)) what = {Phase::kTransform, OverheadKind::kNone, kOwnProducer};
    what = split_.split(thread, makingOf(thread), sample, what);
    add(facts_.making, what.phase, sample);
    if (sample.wait == Wait::kRunning) {
      add(facts_.makingRunning, what.phase, sample);
    } else {
      const Phase blocked = producerWait(sample.wait).phase;
      if (blocked == Phase::kTransform) add(facts_.makingLocked, what.phase, sample);
      if (blocked == Phase::kUnknown) add(facts_.makingVague, what.phase, sample);
    }
    functions_.add(thread, label, what.phase, what, sample, Side::kProducer);
  }

  // Of the loader's workers, and the trainer's own.
  void findFetches() {
    std::set<std::uint64_t> ours;
    for (const EpochSpan& epoch : timeline_.epochs)
      if (epoch.hasWorkers && epoch.key != 0) ours.insert(epoch.key);
    for (const auto& row : trace_.tasks)
      if (ours.count(row.data.key) != 0)
        fetches_[row.data.thread].push_back(
            {row.at + row.data.fetchBegin, row.at + row.data.fetchEnd});
    for (std::size_t i = 0; i < timeline_.fetches.size(); ++i) {
      const EpochSpan& epoch = timeline_.epochs[timeline_.epochOf[i]];
      if (epoch.hasWorkers) continue;
      fetches_[timeline_.who.thread].push_back(intervalOf(timeline_.fetches[i]));
      if (!epoch.byThreads) makers_.insert(timeline_.who.thread);
    }
  }

  void inspectWorkers() {
    for (const auto& worker : fetches_)
      if (worker.first != timeline_.who.thread)
        eachRunWithin(worker.first, worker.second,
                      [&](const Sample& run) { takeMaking(worker.first, run); });
    for (const auto& [thread, intervals] : fetches_) {
      const NativeSplit::Natives natives = split_.nativesOf(trace_.thread(thread));
      facts_.openingFiles += natives.opening;
      facts_.readingFiles += natives.reading;
    }
    for (const auto& [thread, intervals] : fetches_)
      for (const ThreadId other : trace_.process(trace_.thread(thread).process).threads)
        if (other != thread) inspectPool(other, intervals);
  }

  template <class Visit>
  void eachRunWithin(ThreadId id, const Intervals& intervals, Visit&& visit) {
    auto at = intervals.begin();
    const auto within = [&](const Sample& sample) {
      while (at != intervals.end() && at->end <= sample.at) ++at;
      return at != intervals.end() && at->begin <= sample.at;
    };
    eachRun(trace_, trace_.thread(id), begin_, end_, within, visit);
  }

  // Python threads that work for the fetch: their CPU is the batch's. What hands batches over
  // meanwhile (the queue's feeder, the pin thread) is not.
  void inspectPool(ThreadId id, const Intervals& intervals) {
    if (threads_.has(id)) return;  // inspected already
    // A worker's threads have nothing else to work for, nor those that a fetch takes its data from.
    const bool beside = trace_.thread(id).process == timeline_.who.process;
    if (beside && !takesFromThreads() &&
        !worksForFetches(trace_, trace_.thread(id), intervals, {begin_, end_}))
      return;
    makers_.insert(id);
    eachRunWithin(id, intervals, [&](const Sample& run) { takePool(id, run); });
  }

  // Of the trainer's own fetches: they wait at a queue for others.
  [[nodiscard]] bool takesFromThreads() const {
    constexpr double kSome = 0.1;
    return handedOver_ > kSome * fetched_;
  }

  void takePool(ThreadId id, const Sample& sample) {
    if (!atWork(sample)) return;
    const bool running = sample.wait == Wait::kRunning;
    const StackLabel& label = labels_.of(sample.stack->stack, Side::kProducer);
    const SampleLabel what =
        split_.split(id, makingOf(id), sample, split_.label(id, label, Side::kProducer, sample));
    if (what.phase != Phase::kTransform && what.phase != Phase::kExtract) return;
    if (running) add(facts_.makingRunning, what.phase, sample);
    functions_.add(id, label, what.phase, what, sample, Side::kProducer);
  }

  // Processes that make batches; the trainer's where none is known.
  [[nodiscard]] std::set<ProcessId> producing() const {
    std::set<ProcessId> processes;
    for (const auto& [thread, intervals] : fetches_)
      processes.insert(trace_.thread(thread).process);
    if (processes.empty()) processes.insert(timeline_.who.process);
    return processes;
  }

  const Trace& trace_;
  const StackLabels& labels_;
  const TrainerTimeline& timeline_;
  const Nanos begin_, end_;
  const ProducerThreads& threads_;
  FunctionTally functions_;
  std::set<ThreadId> makers_;            // those, the trainer's, and pools' of its fetches
  double fetched_ = 0, handedOver_ = 0;  // samples in fetches of the trainer's own
  const OwnPhases own_;
  NativeSplit split_;
  Maybe<BatchReleases> releases_;  // of batches from workers
  LoopLines lines_, shown_;        // by which samples are judged; that the report's table is of
  std::map<std::uint32_t, LoopLineSamples> ofLine_;
  RankWaits ranks_;
  const bool stepless_;
  // Without steps: what is compiled until then is so for the first time.
  const Nanos warm_;
  bool compiling_ = false, inLongGap_ = false;  // the trainer's sample does, or is
  const bool fromWorkers_;                      // batches come
  const bool unseen_;  // fetches, if there are any: what is blocked in a step may wait for a batch
  std::map<ThreadId, Intervals> fetches_;  // of a process that makes batches: they do not overlap
  StackFacts facts_;
};

}  // namespace

StackFacts gatherStacks(const Trace& trace, const StackLabels& labels,
                        const TrainerTimeline& timeline, const Timeline& pieces, Nanos begin,
                        Nanos end, const ProducerThreads& threads, const Intervals& idle) {
  return Gatherer(trace, labels, timeline, begin, end, threads).gather(pieces, idle);
}

}  // namespace stallprof
