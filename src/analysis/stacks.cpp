// SPDX-License-Identifier: MIT
#include "analysis/stacks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analysis/looks.h"
#include "analysis/phases_own.h"
#include "analysis/ranks.h"
#include "classify/own_rules.h"
#include "classify/waits.h"

namespace stallprof {
namespace {

constexpr double kEnoughLooks = 30;  // below it a share of them is off by 9 points (one sigma)
constexpr double kNormal90 = 1.645;

using FunctionKey = std::tuple<Side, Phase, StringId, StringId, StringId, StringId, std::uint32_t>;

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
        ownData_(trace, labels, trace.thread(timeline.who.thread), begin, end),
        ranks_(trace, timeline.who) {}

  StackFacts gather(const Line& line) {
    lookAtTrainer(line);
    lookAtWorkers();
    for (const ThreadId id : threads_.threads) lookAtProducer(id);
    lookAtLocks();
    for (auto& [key, function] : functions_) {
      function.looks.processes = static_cast<std::uint32_t>(function.processes.size());
      facts_.functions.push_back(std::move(function.looks));
    }
    std::stable_sort(facts_.functions.begin(), facts_.functions.end(),
                     [](const auto& a, const auto& b) { return a.looks > b.looks; });
    return std::move(facts_);
  }

 private:
  struct Function {
    FunctionLooks looks;
    std::set<ProcessId> processes;
    ThreadId last;  // whose process is in the set already
  };

  void lookAtTrainer(const Line& line) {
    const ThreadLife& thread = trace_.thread(timeline_.who.thread);
    auto next = line.begin();
    const StackSlice* slice = nullptr;
    const Piece* first = nullptr;
    eachLook(thread, begin_, end_, [&](const Look& look) {
      while (next != line.end() && next->end <= look.at) ++next;
      const Piece* piece = next != line.end() && next->begin <= look.at ? &*next : nullptr;
      if (look.stack != slice) slice = look.stack, first = piece;
      // Only a slice's first look has an instant of its own, the others are spread evenly: one of
      // the same stack, callers' lines and all, is inside next() as its first is, or it is not.
      if (inNext(piece) != inNext(first)) piece = first;
      facts_.trainer.add(look.stack);
      facts_.trainerTime += seconds(look.stands);
      if (look.stack->gc && !look.stack->stack.none()) addChore(Chore::kGc, look);
      takeTrainer(piece, look);
    });
  }

  void addChore(Chore chore, const Look& look) {
    facts_.chores[static_cast<std::size_t>(chore)] += seconds(look.stands);
  }

  [[nodiscard]] static bool inNext(const Piece* piece) {
    return piece && piece->kind == Piece::Kind::kFetch;
  }
  [[nodiscard]] bool madeHere(const Piece* piece) const {
    return inNext(piece) && !timeline_.passes[timeline_.passOf[piece->index]].hasWorkers;
  }

  void takeTrainer(const Piece* piece, const Look& look) {
    const ThreadId trainer = timeline_.who.thread;
    if (madeHere(piece)) return takeMaking(trainer, look);
    const StackLabel label = labels_.of(look.stack->stack, Side::kTrainer);
    LookLabel what = StackLabels::look(label, look.wait, look.stack->gc);
    if (ofFetch(label)) return;
    const bool data = ownData_.claim(look.stack->stack, label, what);
    if (data) what = {Phase::kTransform, Chore::kNone, kOwnData};
    const bool phased =
        piece && (piece->kind == Piece::Kind::kPhase || piece->kind == Piece::Kind::kStep);
    // What the program itself told of is not for looks to divide.
    const bool open = phased && !piece->told;
    const bool step = open && piece->phase == Phase::kCompute;
    const bool gap = !piece || (open && piece->phase == Phase::kOther);
    Phase phase = what.phase;
    if (step && (phase == Phase::kUnknown || phase == Phase::kOther || phase == Phase::kSync))
      phase = Phase::kCompute;
    if (step && phase == Phase::kCompute && ranks_.waitsForOthers(label.python, look))
      what = {Phase::kComm, Chore::kNone, kOwnCollective}, phase = Phase::kComm;
    if (step && phase == Phase::kComm)
      facts_.collectives.push_back({look.at - look.stands, look.at});
    const bool waits = (step || gap) && ((threads_.found() && waitsForThreads(label, look.wait)) ||
                                         threads_.graphWaits(label, look.wait, look.at));
    if (waits) phase = madeMeanwhile(look);
    if (step && phase == Phase::kCompute && threads_.graphHidden(label, look.wait))
      phase = Phase::kOther;
    if (!step && !gap) phase = phased ? piece->phase : Phase::kLoad;
    if ((step || gap) && what.chore != Chore::kGc) addChore(what.chore, look);
    if (step) facts_.step.add(phase, look.stack, seconds(look.stands)), takeStep(label, look, data);
    if (step && what.phase == Phase::kCompute && label.rule && !label.rule->work)
      facts_.stepTold += seconds(look.stands);
    if (gap) facts_.gap.add(phase, look.stack, seconds(look.stands));
    // Waiting for a batch is not what the trainer does: blame says who owes it.
    if (!waits && (step || gap || phased || look.wait == Wait::kRunning))
      note(trainer, label, phase, what, look, Side::kTrainer);
  }

  // It asks tf.data for its next batch, and the hook tells of every such fetch to the nanosecond:
  // a look's instant is a little earlier than its stack was read, so that it fell beside one.
  [[nodiscard]] bool ofFetch(const StackLabel& label) const {
    return !timeline_.fetches.empty() && label.rule && label.rule->id == "tfdata.next";
  }

  [[nodiscard]] Phase madeMeanwhile(const Look& look) const {
    if (!threads_.found()) return Phase::kUnknown;
    const auto doing = threads_.in(trace_, look.at - look.stands, look.at);
    const std::pair<Nanos, Phase> parts[] = {{doing.extract, Phase::kExtract},
                                             {doing.transform, Phase::kTransform},
                                             {doing.load, Phase::kLoad},
                                             {doing.unknown, Phase::kUnknown}};
    return std::max_element(std::begin(parts), std::end(parts),
                            [](auto& a, auto& b) { return a.first < b.first; })
        ->second;
  }

  // What threads that make data in the trainer's process do, all the time.
  void lookAtProducer(ThreadId id) {
    eachLook(trace_.thread(id), begin_, end_, [&](const Look& look) { takePool(id, look); });
  }

  void takeStep(const StackLabel& label, const Look& look, bool data) {
    if (look.stack->gil == Gil::kUnknown) return;
    ++facts_.gilKnown;
    facts_.ownPython += !data && ownPython(label, look);
  }

  // A line of the user's own at work: no library's Python below it, nor native code that let go of
  // the lock or is known to be a library's.
  static bool ownPython(const StackLabel& label, const Look& look) {
    return look.wait == Wait::kRunning && look.stack->gil == Gil::kHolds &&
           label.hot == label.python && label.usersLine() && !look.stack->gc;
  }

  static bool ofProducer(Phase phase) {
    return phase == Phase::kExtract || phase == Phase::kTransform || phase == Phase::kLoad ||
           phase == Phase::kUnknown;
  }

  void takeMaking(ThreadId thread, const Look& look) {
    const StackLabel label = labels_.of(look.stack->stack, Side::kProducer);
    LookLabel what = StackLabels::look(label, look.wait, look.stack->gc);
    // The hook says that a batch is made here, whatever else the stack is known for.
    if (!ofProducer(what.phase)) what = {Phase::kTransform, Chore::kNone, kOwnProducer};
    facts_.making.add(what.phase, look.stack, seconds(look.stands));
    if (look.wait == Wait::kRunning) {
      facts_.makingRunning.add(what.phase, look.stack, seconds(look.stands));
    } else {
      const Phase blocked = producerWait(look.wait).phase;
      if (blocked == Phase::kTransform)
        facts_.makingLocked.add(what.phase, look.stack, seconds(look.stands));
      if (blocked == Phase::kUnknown)
        facts_.makingVague.add(what.phase, look.stack, seconds(look.stands));
    }
    note(thread, label, what.phase, what, look, Side::kProducer);
  }

  // When a process makes batches: its fetches of one trainer do not overlap, in order of time.
  struct Stretch {
    Nanos begin{}, end{};
  };
  using Stretches = std::vector<Stretch>;

  void lookAtWorkers() {
    std::set<std::uint64_t> ours;
    for (const PassSpan& pass : timeline_.passes)
      if (pass.hasWorkers && pass.key != 0) ours.insert(pass.key);
    for (const auto& row : trace_.tasks)
      if (ours.count(row.data.key) != 0)
        fetches_[row.data.thread].push_back(
            {row.at + row.data.fetchBegin, row.at + row.data.fetchEnd});
    for (const auto& [thread, stretches] : fetches_) lookAtWorker(thread, stretches);
    for (std::size_t i = 0; i < timeline_.fetches.size(); ++i)
      if (!timeline_.passes[timeline_.passOf[i]].hasWorkers)
        fetches_[timeline_.who.thread].push_back(
            {timeline_.fetches[i]->at, timeline_.fetches[i]->end()});
    for (const auto& [thread, stretches] : fetches_)
      for (const ThreadId other : trace_.process(trace_.thread(thread).process).threads)
        if (other != thread) lookAtPool(other, stretches);
  }

  template <class Visit>
  void eachLookWithin(ThreadId id, const Stretches& stretches, Visit&& visit) {
    auto at = stretches.begin();
    eachLook(trace_.thread(id), begin_, end_, [&](const Look& look) {
      while (at != stretches.end() && at->end <= look.at) ++at;
      if (at != stretches.end() && at->begin <= look.at) visit(look);
    });
  }

  // Python threads that work for the fetch: their CPU is the batch's. What hands batches over
  // meanwhile (the queue's feeder, the pin thread) is not.
  void lookAtPool(ThreadId id, const Stretches& stretches) {
    if (threads_.has(id)) return;  // looked at already
    eachLookWithin(id, stretches, [&](const Look& look) { takePool(id, look); });
  }

  void takePool(ThreadId id, const Look& look) {
    const bool running = look.wait == Wait::kRunning;
    if (!running && look.stack->gil != Gil::kWaits) return;
    const StackLabel label = labels_.of(look.stack->stack, Side::kProducer);
    const LookLabel what = StackLabels::look(label, look.wait, look.stack->gc);
    if (what.phase != Phase::kTransform && what.phase != Phase::kExtract) return;
    if (running) facts_.makingRunning.add(what.phase, look.stack, seconds(look.stands));
    note(id, label, what.phase, what, look, Side::kProducer);
  }

  void lookAtWorker(ThreadId id, const Stretches& stretches) {
    eachLookWithin(id, stretches, [&](const Look& look) { takeMaking(id, look); });
  }

  // Of all Python threads of the processes that make batches.
  void lookAtLocks() {
    std::set<ProcessId> producing;
    for (const auto& [thread, stretches] : fetches_)
      producing.insert(trace_.thread(thread).process);
    if (producing.empty()) producing.insert(trace_.thread(timeline_.who.thread).process);
    for (const ProcessId id : producing) {
      std::uint32_t threads = 0;
      for (const ThreadId thread : trace_.process(id).threads) threads += lookAtLock(thread);
      facts_.lockThreads = std::max(facts_.lockThreads, threads);
    }
  }

  bool lookAtLock(ThreadId id) {
    double wanted = 0;
    eachLook(trace_.thread(id), begin_, end_, [&](const Look& look) {
      if (look.stack->gil != Gil::kHolds && look.stack->gil != Gil::kWaits) return;
      ++wanted;
      facts_.lockWanted.add(look.stack);
      facts_.lockWaits += look.stack->gil == Gil::kWaits;
    });
    return wanted >= kEnoughLooks;
  }

  Function& functionOf(const StackLabel& label, Phase phase, const LookLabel& what, Side side) {
    const StackSeen& hot = trace_.stack(label.hot);
    const StackSeen& user = trace_.stack(label.user);
    Function& f =
        functions_[{side, phase, hot.function, hot.file, user.function, user.file, user.line}];
    if (f.looks.rule.empty())
      f.looks = {side, phase, what.chore, std::string(what.rule), label.hot, label.user};
    return f;
  }

  void note(ThreadId thread, const StackLabel& label, Phase phase, const LookLabel& what,
            const Look& look, Side side) {
    const std::uint64_t key = (std::uint64_t{look.stack->stack.value} << 16) |
                              (static_cast<std::uint64_t>(phase) << 8) |
                              static_cast<std::uint64_t>(side);
    Function*& known = byStack_[key];
    if (!known) known = &functionOf(label, phase, what, side);
    Function& f = *known;
    f.looks.looks += 1, f.looks.seconds += seconds(look.stands);
    f.looks.running += look.wait == Wait::kRunning;
    f.looks.ownPython += what.rule != kOwnData && ownPython(label, look);
    f.looks.lockWaits += look.stack->gil == Gil::kWaits;
    if (thread != f.last) f.last = thread, f.processes.insert(trace_.thread(thread).process);
  }

  const Trace& trace_;
  const StackLabels& labels_;
  const TrainerTimeline& timeline_;
  const Nanos begin_, end_;
  const ProducerThreads& threads_;
  const DataFunctions ownData_;
  RankWaits ranks_;
  std::map<ThreadId, Stretches> fetches_;
  StackFacts facts_;
  std::map<FunctionKey, Function> functions_;
  std::unordered_map<std::uint64_t, Function*> byStack_;  // millions of looks, thousands of stacks
};

Nanos scaled(Nanos value, double share) {
  return Nanos(static_cast<Nanos::rep>(static_cast<double>(value.count()) * share));
}

// Gives `time` of a part of the split to `phase`; false: that phase has no part of its own.
bool give(Split& split, Blame& blame, Phase phase, Nanos time) {
  switch (phase) {
    case Phase::kCompute:
      return split.compute += time, true;
    case Phase::kComm:
      return split.comm += time, true;
    case Phase::kPeriodic:
      return split.periodic += time, true;
    case Phase::kLoad:
      return split.load += time, true;
    // As a user's mark for his own loading code: time for data, and whose is known.
    case Phase::kExtract:
      return split.wait += time, blame.extract += time, true;
    case Phase::kTransform:
      return split.wait += time, blame.transform += time, true;
    default:
      return false;
  }
}

void move(const PhaseLooks& looks, Phase own, Nanos& from, Split& split, Blame& blame) {
  if (looks.all.looks < kEnoughLooks) return;
  const Nanos whole = from;
  if (own == Phase::kCompute) {  // in a step only a wait for threads is unknown, or for a graph
    const Nanos part = scaled(whole, looks.ratio(Phase::kUnknown));
    const Nanos hidden = scaled(whole, looks.ratio(Phase::kOther));
    split.wait += part, blame.unknown += part, split.other += hidden, from -= part + hidden;
  }
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
    const auto phase = static_cast<Phase>(i);
    const Nanos part = scaled(whole, looks.ratio(phase));
    if (phase != own && part > Nanos{} && give(split, blame, phase, part)) from -= part;
  }
}

}  // namespace

Share shareOf(double part, const LookSum& all) {
  if (all.looks <= 0) return {};
  const double p = std::clamp(part / all.looks, 0.0, 1.0), n = all.effective(), z = kNormal90;
  const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {p, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

StackFacts gatherStacks(const Trace& trace, const StackLabels& labels,
                        const TrainerTimeline& timeline, const Line& line, Nanos begin, Nanos end,
                        const ProducerThreads& threads) {
  return Gatherer(trace, labels, timeline, begin, end, threads).gather(line);
}

FetchShares fetchShares(const StackFacts& facts) {
  FetchShares shares;
  if (facts.makingRunning.all.looks >= kEnoughLooks) {
    shares.cpuKnown = true;
    shares.cpuExtract = facts.makingRunning.ratio(Phase::kExtract);
    shares.cpuLoad = facts.makingRunning.ratio(Phase::kLoad);
  }
  if (facts.makingLocked.all.looks >= kEnoughLooks) {
    shares.lockExtract = facts.makingLocked.ratio(Phase::kExtract);
    shares.lockLoad = facts.makingLocked.ratio(Phase::kLoad);
  }
  if (facts.makingVague.all.looks >= kEnoughLooks) {
    shares.vagueExtract = facts.makingVague.ratio(Phase::kExtract);
    shares.vagueTransform = facts.makingVague.ratio(Phase::kTransform);
    shares.vagueLoad = facts.makingVague.ratio(Phase::kLoad);
  }
  return shares;
}

void refine(const StackFacts& facts, Split& split, Blame& blame) {
  // A wait that a device's work hides is no look inside a step.
  const Nanos sure = split.hidden + split.toldCompute;
  Nanos compute = split.compute - sure, other = split.other - split.toldOther;
  split.compute = sure, split.other = split.toldOther;
  move(facts.step, Phase::kCompute, compute, split, blame);
  move(facts.gap, Phase::kOther, other, split, blame);
  split.compute += compute, split.other += other;
}

}  // namespace stallprof
