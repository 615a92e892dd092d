// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/stacks.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/blame/samples/function_tally.h"
#include "analysis/blame/samples/lock_samples.h"
#include "analysis/blame/samples/native_split.h"
#include "analysis/blame/samples/trainer_samples.h"
#include "analysis/facts/observed.h"
#include "analysis/facts/stack_samples.h"
#include "base/interval.h"
#include "classify/own_rules.h"
#include "classify/waits.h"

namespace stallprof {
namespace {

void add(PhaseSamples& to, Phase phase, const Sample& run) {
  to.addEach(phase, run.stack, seconds(run.weight), run.count);
}

// At work, or kept from it by the interpreter's lock alone.
bool atWork(const Sample& sample) {
  return sample.wait == Wait::kRunning || sample.stack->gil == Gil::kWaits;
}

// Whether the thread's work in `within` goes with `fetches` (sorted, apart from each other): one
// that works half as much and more while no batch is made works for something else.
bool worksForFetches(const Trace& trace, const ThreadLife& thread, const Intervals& fetches,
                     const Interval& within) {
  constexpr double kMinBeside = 10;  // samples
  constexpr double kAsMuch = 0.5;    // of the samples a second in fetches
  double inside = 0, beside = 0;
  eachSample(trace, thread, within.begin, within.end, [&](const Sample& sample) {
    if (atWork(sample)) ++(containsAny(fetches, sample.at) ? inside : beside);
  });
  const double fetching = seconds(lengthIn(fetches, within));
  const double rest = seconds(within.length()) - fetching;
  return beside < kMinBeside || beside * fetching < kAsMuch * inside * rest;
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
        split_(trace, labels, begin, end),
        trainer_(trace, labels, timeline, {begin, end}, threads, split_, functions_, facts_) {}

  StackFacts gather(const Timeline& pieces, const Intervals& idle) {
    findFetches();
    inspectTrainer(pieces, idle);
    inspectWorkers();
    for (const ThreadId id : threads_.threads) inspectProducer(id);
    addLockSamples(facts_, trace_, labels_, producing(), timeline_.who.thread, makers_,
                   {begin_, end_});
    facts_.functions = functions_.take();
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
      if (piece && piece->kind == Piece::Kind::kIterator && drawsIndices(sample))
        facts_.drawingAhead += seconds(sample.weight);
      while (gap != idle.end() && gap->end <= sample.at) ++gap;
      const bool inLongGap = gap != idle.end() && gap->begin <= sample.at;
      facts_.inLongGaps += inLongGap;
      facts_.trainer.add(sample.stack);
      facts_.trainerTime += seconds(sample.weight);
      if (sample.stack->gc && !sample.stack->stack.none())
        facts_.overheads[static_cast<std::size_t>(OverheadKind::kGc)] += seconds(sample.weight);
      if (madeHere(piece))
        takeOwnFetch(sample);
      else
        trainer_.take(piece, sample, inLongGap);
    });
    trainer_.end();
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

  // A batch that the training thread makes itself.
  void takeOwnFetch(const Sample& sample) {
    addOwnLock(facts_, sample);
    ++fetched_;
    const PhaseRule* handover = labels_.of(sample.stack->stack, Side::kTrainer).handover;
    handedOver_ += handover && handover->id != kSelects;
    takeMaking(timeline_.who.thread, sample);
  }

  [[nodiscard]] const Intervals& makingOf(ThreadId thread) const {
    static const Intervals kAlways;
    const auto found = fetches_.find(thread);
    return found == fetches_.end() ? kAlways : found->second;
  }

  // What threads that make data in the trainer's process do, all the time.
  void inspectProducer(ThreadId id) {
    eachRun(
        trace_, trace_.thread(id), begin_, end_, [](const Sample&) { return true; },
        [&](const Sample& run) { takePool(id, run); });
  }

  static bool ofProducer(Phase phase) {
    return phase == Phase::kExtract || phase == Phase::kTransform || phase == Phase::kLoad ||
           phase == Phase::kUnknown;
  }

  // An event loop may wait for its executor's threads instead.
  [[nodiscard]] bool othersWork(ThreadId thread, const Sample& sample) const {
    const std::vector<ThreadId>& all = trace_.process(trace_.thread(thread).process).threads;
    return std::any_of(all.begin(), all.end(), [&](ThreadId id) {
      const Interval before{sample.at - sample.weight, sample.at};
      return id != thread && 2 * observe(trace_.thread(id), before).run > before.length();
    });
  }

  void takeMaking(ThreadId thread, const Sample& sample) {
    const StackLabel& label = labels_.of(sample.stack->stack, Side::kProducer);
    SampleLabel what = split_.label(thread, label, Side::kProducer, sample);
    // The hook says that a batch is made here, whatever else the stack is known for.
    if (!ofProducer(what.phase) || (what.rule == kAwaitsNetwork && othersWork(thread, sample)))
      what = {Phase::kTransform, OverheadKind::kNone, kOwnProducer};
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
  NativeSplit split_;
  std::map<ThreadId, Intervals> fetches_;  // of a process that makes batches: they do not overlap
  StackFacts facts_;
  TrainerSamples trainer_;
};

}  // namespace

StackFacts gatherStacks(const Trace& trace, const StackLabels& labels,
                        const TrainerTimeline& timeline, const Timeline& pieces, Nanos begin,
                        Nanos end, const ProducerThreads& threads, const Intervals& idle) {
  return Gatherer(trace, labels, timeline, begin, end, threads).gather(pieces, idle);
}

}  // namespace stallprof
