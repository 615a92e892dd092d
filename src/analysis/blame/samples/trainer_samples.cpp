// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/trainer_samples.h"

#include <algorithm>

#include "analysis/blame/samples/lock_samples.h"
#include "analysis/facts/hook_parts.h"
#include "analysis/facts/observed.h"
#include "analysis/steps/stopped.h"
#include "classify/own_rules.h"

namespace stallprof {
namespace {

// As long as the warm-up of steps, which known ones have behind them.
constexpr Nanos kWarmUp = std::chrono::seconds(5);

bool isBy(const StackLabel& label, std::string_view rule) {
  return label.rule && label.rule->id == rule;
}

// Computes as far as nothing says more: own code, or arrays, which serve anything.
bool isVague(const StackLabel& label, const SampleLabel& what) {
  return what.phase == Phase::kCompute && what.overhead == OverheadKind::kNone &&
         (!label.rule || label.rule->work);
}

// For a network, another program or thread, or for time to pass. Beside a device a lock may be a
// wait for the model.
bool waits(const StackLabel& label, const SampleLabel& what, bool device) {
  if (what.phase == Phase::kExtract || what.rule == kAsleep) return true;
  if (what.rule == "wait.child" || what.rule == "wait.pipe") return true;
  if (what.rule == "wait.lock") return !device;
  return label.rule && (label.rule->id == kOwnProgram || label.rule->id == kJoinsThread);
}

// For making data, or what is not done in each step.
bool isKnown(const SampleLabel& what) {
  return what.phase == Phase::kTransform ||
         (what.overhead != OverheadKind::kNone && what.overhead != OverheadKind::kAfterUpdate);
}

// In a step of a program whose loader the hook does not see: in a loader, or blocked in nothing
// that a rule knows.
bool mayWait(const StackLabel& label, const Sample& sample, Phase phase) {
  return phase == Phase::kLoad || (sample.wait != Wait::kRunning && !label.rule);
}

}  // namespace

// Where in the thread's time a sample fell.
struct TrainerSamples::Place {
  const Piece* piece;
  bool phased;  // a step or a phase has it
  bool step;    // computes, as far as is known without samples
  bool gap;     // nothing else names it

  explicit Place(const Piece* at) : piece(at) {
    phased = at && (at->kind == Piece::Kind::kPhase || at->kind == Piece::Kind::kStep);
    // What the program annotated itself is not split by samples.
    const bool open = phased && !at->annotated;
    step = open && at->phase == Phase::kCompute;
    gap = !at || (open && at->phase == Phase::kOther);
  }
  [[nodiscard]] bool open() const { return step || gap; }
};

struct TrainerSamples::Seen {
  SampleLabel what;
  Phase phase = Phase::kUnknown;
  bool unclear = false;  // what it is for, by rules
  bool waits = false;    // for a producer
};

TrainerSamples::TrainerSamples(const Trace& trace, const StackLabels& labels,
                               const TrainerTimeline& timeline, const Interval& within,
                               const ProducerThreads& threads, NativeSplit& split,
                               FunctionTally& functions, StackFacts& facts)
    : trace_(trace),
      labels_(labels),
      timeline_(timeline),
      threads_(threads),
      split_(split),
      functions_(functions),
      facts_(facts),
      own_(trace, labels, trace.thread(timeline.who.thread), within.begin, within.end),
      ranks_(trace, timeline.who),
      stepless_(isStepless(timeline)),
      warm_(stepless_ ? within.begin + std::min(kWarmUp, within.length() * 3 / 10) : within.begin),
      unseen_(timeline.fetches.empty() &&
              missingParts(trace, {}, !timeline.updates.empty()).fetches) {
  const ThreadLife& thread = trace.thread(timeline.who.thread);
  if (std::any_of(timeline.epochs.begin(), timeline.epochs.end(),
                  [](const EpochSpan& epoch) { return epoch.hasWorkers; }))
    releases_.emplace(trace, labels, thread, within.begin, within.end);
  // A loader's fetches are exact, and an optimizer's steps order samples in time.
  if (!timeline.fetches.empty()) return;
  weigh(thread, within);
  shown_ = LoopLines(trace, labels, thread, within.begin, within.end);
  if (timeline.updates.empty()) lines_ = shown_;
}

void TrainerSamples::take(const Piece* piece, const Sample& sample, bool idle) {
  const StackLabel& label = labels_.of(sample.stack->stack, Side::kTrainer);
  const Place place(piece);
  const SampleLabel what = split_.label(timeline_.who.thread, label, Side::kTrainer, sample);
  // A sample's instant is a little earlier than its stack was read: it fell beside its fetch,
  // which the hook has to the nanosecond, and may stand for a long time where samples are few.
  if (label.fetches && !timeline_.fetches.empty() && place.open()) return;
  const Seen seen = seenIn(label, place, sample, what);
  count(label, place, sample, seen);
  // Waiting for a batch is not what the trainer does: blame says who owes it.
  if (seen.waits || !(place.open() || place.phased || sample.wait == Wait::kRunning)) return;
  // What a rule knows to wait does no work, though it was seen on a CPU.
  const bool deviceIdle = idle && place.step && seen.phase == Phase::kCompute && !seen.unclear &&
                          !label.handover && seen.what.overhead == OverheadKind::kNone;
  functions_.add(timeline_.who.thread, label, seen.phase, seen.what, sample, Side::kTrainer,
                 deviceIdle);
}

void TrainerSamples::labelOwnCode(const StackLabel& label, const Place& place, const Sample& sample,
                                  SampleLabel& what) {
  if (place.step && !stepless_ && timeline_.fetches.empty() && isBy(label, kTorchLoad))
    what = {Phase::kExtract, OverheadKind::kNone, kTorchLoad};
  if (const auto own = own_.claim(sample.stack->stack, label, what)) {
    what = *own;
    return;
  }
  const StackId stack = sample.stack->stack;
  const bool data = lines_.makesData(stack, label, what);
  if (place.open() && releases_ && releases_->take(sample)) {
    what = {Phase::kLoad, OverheadKind::kNone, kOwnRelease};
    facts_.releasing += seconds(sample.weight);
  }
  if (data)
    what = {Phase::kTransform, OverheadKind::kNone, kOwnData};
  else if (lines_.isUnknown(stack, sample.wait != Wait::kRunning, label, what,
                            stepless_ && !lines_.known() && !own_.yieldsToOperators()))
    what = {Phase::kOther, OverheadKind::kNone, kUnknownLine};
}

TrainerSamples::Seen TrainerSamples::seenIn(const StackLabel& label, const Place& place,
                                            const Sample& sample, SampleLabel what) {
  Seen seen;
  const bool waiting = place.step && waits(label, what, !trace_.devices.empty());
  labelOwnCode(label, place, sample, what);
  if (waiting && !isKnown(what) && timeline_.afterUpdate(sample.at))
    what = {Phase::kOther, OverheadKind::kAfterUpdate, kUnknownLine};
  // Between the epochs of a loader own code may prepare the next, or anything.
  if (place.gap && !timeline_.fetches.empty() && isVague(label, what))
    what = {Phase::kOther, OverheadKind::kNone, kUnknownLine};
  countCompilation(what, sample);
  countPrediction(what, sample);
  Phase& phase = seen.phase = what.phase;
  seen.unclear = phase == Phase::kUnknown || phase == Phase::kOther || phase == Phase::kSync;
  if (place.step) phase = phaseInStep(label, sample, seen.unclear, what);
  // What a pool was asked for is not known, unless a library asked.
  if (stepless_ && isBy(label, kAsksPool)) phase = Phase::kOther;
  const bool blocked = sample.wait != Wait::kRunning;
  const bool anyone = stepless_ || (blocked && (seen.unclear || what.phase == Phase::kCompute));
  seen.waits =
      place.open() && what.rule != kOwnPause && threads_.awaited(label, sample, timeline_, anyone);
  if (seen.waits) {
    const Phase made = threads_.madeMeanwhile(trace_, {sample.at - sample.weight, sample.at});
    const bool nobody = made == Phase::kUnknown || made == Phase::kLoad;
    // Of a program without steps it may be a server that waits for requests.
    seen.waits = stepless_ || what.rule != kAwaitsNetwork || !nobody;
    if (seen.waits) phase = made;
  }
  if (place.step && phase == Phase::kCompute && threads_.graphHidden(label, sample.wait))
    phase = Phase::kOther;
  if (!place.open()) phase = place.phased ? place.piece->phase : Phase::kLoad;
  seen.what = what;
  return seen;
}

Phase TrainerSamples::phaseInStep(const StackLabel& label, const Sample& sample, bool unclear,
                                  SampleLabel& what) {
  Phase phase = what.phase;
  if (unseen_ && mayWait(label, sample, phase))
    phase = Phase::kUnknown;
  else if (unclear && what.rule != kUnknownLine)
    phase = Phase::kCompute;
  if (phase == Phase::kCompute && ranks_.waitsForOthers(label.python, sample)) {
    what = {Phase::kComm, OverheadKind::kNone, kOwnCollective};
    phase = Phase::kComm;
  }
  if (phase == Phase::kComm) facts_.collectives.push_back({sample.at - sample.weight, sample.at});
  // What a program that this one started is asked for: data, or an evaluation.
  const bool asks = sample.wait != Wait::kRunning && isBy(label, kOwnProgram);
  return asks && phase == Phase::kCompute ? Phase::kUnknown : phase;
}

void TrainerSamples::weigh(const ThreadLife& thread, const Interval& within) {
  constexpr int kMinRunning = 5;  // samples: fewer do not say what it ran
  double running = 0, all = 0;
  int found = 0;
  eachSample(trace_, thread, within.begin, within.end, [&](const Sample& sample) {
    all += seconds(sample.weight);
    if (sample.wait != Wait::kRunning) return;
    running += seconds(sample.weight);
    ++found;
  });
  const Observed seen = observe(thread, within);
  const Nanos time = within.length() - lengthIn(stoppedTimes(trace_, timeline_), within);
  const double exact = all * std::min(1.0, fractionOf(seen.run + seen.queued, time));
  facts_.ranByClock = exact;
  facts_.ranBySamples = running;
  if (found < kMinRunning || exact - running <= kMuchMissed * all) return;
  ran_ = exact / running;
  idle_ = (all - exact) / (all - running);
}

double TrainerSamples::secondsOf(const Sample& sample) const {
  return seconds(sample.weight) * (sample.wait == Wait::kRunning ? ran_ : idle_);
}

void TrainerSamples::count(const StackLabel& label, const Place& place, const Sample& sample,
                           const Seen& seen) {
  const OverheadKind overhead = seen.what.overhead;
  const bool warmUp = overhead == OverheadKind::kCompilation && sample.at < warm_;
  const double weight = secondsOf(sample);
  if (place.open() && overhead != OverheadKind::kGc && !warmUp)
    facts_.overheads[static_cast<std::size_t>(overhead)] += weight;
  if (place.open() && seen.phase == Phase::kOther && overhead == OverheadKind::kAfterUpdate)
    facts_.waitsAfter += weight;
  if (place.step) {
    facts_.step.add(seen.phase, sample.stack, weight);
    countStep(label, sample, seen.phase);
  }
  if (place.open() && seen.phase == Phase::kCompute && computes(label, sample))
    facts_.modelTime += weight;
  if (place.gap) facts_.gap.add(seen.phase, sample.stack, weight);
  if (place.gap && seen.waits && label.fetches && seen.phase == Phase::kUnknown)
    facts_.fetchWaits += weight;
  const bool data = seen.phase == Phase::kTransform;
  if (place.open() && !seen.waits && sample.stack->gil != Gil::kUnknown &&
      (data || seen.phase == Phase::kCompute)) {
    StackFacts::LockShare& lock = data ? facts_.lockOfData : facts_.lockOfCompute;
    ++lock.samples;
    lock.held += sample.stack->gil == Gil::kHolds;
  }
  countLine(seen.phase, sample);
}

// A collection of garbage in the middle of one does not end it.
void TrainerSamples::countCompilation(const SampleLabel& what, const Sample& sample) {
  if (what.overhead == OverheadKind::kGc) return;
  const bool compiles = what.overhead == OverheadKind::kCompilation && sample.at >= warm_;
  facts_.compilations += compiles && !compiling_;
  compiling_ = compiles;
}

void TrainerSamples::countPrediction(const SampleLabel& what, const Sample& sample) {
  if (what.overhead == OverheadKind::kGc) return;
  const bool predicts = what.rule == kPredicts;
  if (predicts) facts_.predicting += seconds(sample.weight);
  facts_.predictions += predicts && !predicting_;
  predicting_ = predicts;
}

void TrainerSamples::countLine(Phase phase, const Sample& sample) {
  const StackId frame = shown_.frameOf(sample.stack->stack);
  if (frame.none()) return;
  LoopLineSamples& line = ofLine_[trace_.stack(frame).line];
  if (line.frame.none()) line.frame = frame;
  line.samples.add(phase, sample.stack, secondsOf(sample));
}

void TrainerSamples::countStep(const StackLabel& label, const Sample& sample, Phase phase) {
  addOwnLock(facts_, sample);
  if (sample.stack->gil == Gil::kUnknown) return;
  ++facts_.gilKnown;
  facts_.stepLockWaits += sample.stack->gil == Gil::kWaits;
  facts_.ownPython += ownPython(label, sample, phase);
}

void TrainerSamples::end() {
  for (const auto& [number, line] : ofLine_) facts_.lines.push_back(line);
}

bool TrainerSamples::computes(const StackLabel& label, const Sample& sample) const {
  return (label.rule && namesModel(*label.rule)) ||
         lines_.of(sample.stack->stack) == LoopLines::Is::kCompute;
}

}  // namespace stallprof
