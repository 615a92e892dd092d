// SPDX-License-Identifier: MIT
#include "analysis/steps/own_phases.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "analysis/facts/native_samples.h"
#include "analysis/steps/own_samples.h"
#include "analysis/steps/turns.h"
#include "classify/frames.h"
#include "classify/own_rules.h"

namespace stallprof {
namespace {

constexpr double kMinPhaseSamples = 5;    // that read or transform: fewer may be one odd call
constexpr double kMuchOfFunction = 0.20;  // of a function's samples
constexpr double kNoModel = 0.02;      // of a function's samples: a module's constant, a type check
constexpr double kSomeModel = 0.05;    // of the trainer's samples: rules know this program's model
constexpr double kSomeArrays = 0.10;   // of its samples, or reads: more is C that it calls itself
constexpr double kOutOfTurn = 0.10;    // of a function's samples in a step: samples are not exact
constexpr double kMuchWriting = 0.20;  // of a function's samples; of logging likewise
// Of the kernel's samples: a tensor made of an array, and samples that were paired with the stack
// of a call just before or after.
constexpr double kFewOperators = 0.25;
constexpr double kFewUnlocked = 0.10;  // of a function's running samples: operators let go for most
constexpr double kHalf = 0.5;          // likewise, of a line above the model's: lists made tensors
constexpr double kFewPlaced = 0.20;    // of a line's samples: they say nothing of its turn
// Of a function's samples in a step, where its name says that it makes batches: a framework's call
// in it is taken for the model, and what follows in it lies after that.
constexpr double kSomeAfter = 0.25;
constexpr double kInLongSteps = 0.95;  // of a function's samples
constexpr double kRunsModel = 0.30;    // of a function's samples: a checkpoint, a table do not
constexpr double kIdleLine = 0.80;     // of a line's samples: asleep, or waiting for others

using Name = FunctionName;

class PhaseFinder {
 public:
  // `fetched`: the hook times the loader's batches.
  PhaseFinder(const Trace& trace, const StackLabels& labels, ThreadId thread, bool fetched)
      : trace_(trace), labels_(labels), fetched_(fetched), calls_(callsOfSteps(trace, thread)) {}

  // `seen`: how often the stack was, and when.
  void see(StackId stack, OwnSamples seen) {
    const StackLabel& label = labels_.of(stack, Side::kTrainer);
    if (!label.update.none()) seen.update = seen.optimizer = seen.all;
    if (label.rule) seen.claim(*label.rule);
    if (label.handover) seen.awaits = 0;  // who hands over shows what it is waited for
    whole_.add(seen);
    std::set<Name> met;  // once each, though it may call itself
    for (StackId at = stack; !at.none(); at = trace_.stack(at).caller) {
      const Name name = nameOf(at);
      if (startsPrograms(at)) seen.awaits = seen.all;  // in poll() where it reads their output
      if (!users(at)) continue;
      seen.plays = seen.plays || plays(trace_.stack(at).function);
      if (!met.insert(name).second) continue;
      OwnSamples here = seen;
      const PhaseRule* caller = labels_.of(trace_.stack(at).caller, Side::kTrainer).rule;
      if (caller && (namesModel(*caller) || namesOperators(*caller))) here.framework = seen.all;
      functions_[name].add(here);
      (trace_.stack(at).iterates ? iterators_ : lines_)[{name, trace_.stack(at).line}].add(here);
    }
  }

  // The kernel's samples of the thread, also those that are of no stack.
  void seeNative(double operators, double others) {
    operators_ += operators;
    others_ += others;
  }

  // Little of the time is the model's where data take nearly all of it.
  [[nodiscard]] bool knowsModel() const {
    return whole_.model >= kSomeModel * whole_.all ||
           (whole_.model > 0 && whole_.model + whole_.update >= 2 * kMinPhaseSamples) ||
           !calls_.empty();
  }

  [[nodiscard]] bool evaluates(StackId frame) const {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end()) return false;
    return runsModelRarely(found->second) ||
           (isBelowSteps(frame) && !found->second.plays && runsModelRarely(lineOf(frame)));
  }

  // A line at which the thread stands still now and then, whatever for.
  [[nodiscard]] bool pauses(StackId frame) const {
    const OwnSamples line = lineOf(frame);
    return rare(line) && line.awaits >= kIdleLine * line.all && line.update == 0 && !line.plays &&
           ofModel(line) <= kNoModel * line.all;
  }

  // `what`: its samples of writing, or of logging.
  [[nodiscard]] bool doesMuch(double OwnSamples::*what, StackId frame) const {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end()) return false;
    const OwnSamples& f = found->second;
    return f.*what >= kMinPhaseSamples && f.*what >= kMuchWriting * f.all && f.update == 0 &&
           f.data <= kMuchOfFunction * f.all;
  }

  [[nodiscard]] bool makesData(StackId frame) const {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end()) return false;
    if (!knowsModel()) return trace_.stack(frame).iterates && yieldsToOperators(frame);
    const OwnSamples& f = found->second;
    const bool data = reads(f) || (noModel(f) && fromSources(f)) || cutsArrays(f) ||
                      (fetched_ && preparesData(f)) || isNamedForBatches(frame, f);
    // What calls the steps reads at lines of its own, however little of its time the steps are.
    const bool steps = calls_.count(found->first) > 0;
    if (!steps && f.model <= kNoModel * f.all && (data || feedsModel(frame, f))) return true;
    if (trace_.stack(frame).iterates) return yieldsBatches(frame);
    const OwnSamples line = lineOf(frame);
    const bool above = trace_.stack(frame).line < firstOfModel(found->first) && noModel(line);
    // A step that is one call begins its turn, and results are awaited in it: what is made above
    // the call for the next one comes after those.
    const bool placed = steps || line.before >= line.after || farApart(line);
    const bool sleeps = !fetched_ && line.asleep >= kIdleLine * line.all && inTurn(line);
    return cutsArrays(line) || (noModel(line) && fromSources(line)) ||
           (above && ((placed && operatorsBelow(kHalf, line)) || sleeps));
  }

  [[nodiscard]] bool isEnvironment(StackId frame) const {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end() || !knowsModel()) return false;
    const OwnSamples& f = found->second;
    const bool alone = f.all >= kMinPhaseSamples && f.update == 0 && noModel(f);
    return f.model <= kNoModel * f.all &&
           stepsEnvironment(trace_.text(trace_.stack(frame).function), alone);
  }

  [[nodiscard]] bool followsUpdate(StackId frame) const {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end()) return false;
    return (found->second.optimizer > 0 && isBelowUpdate(frame)) ||
           (found->second.update == 0 && endsSteps(trace_.text(trace_.stack(frame).function)));
  }

  // Below the backward pass, in the function that runs it: gradients are exchanged there.
  [[nodiscard]] bool followsBackward(StackId frame) const {
    const std::uint32_t last = lastOf(nameOf(frame), &OwnSamples::backward);
    return last > 0 && trace_.stack(frame).line > last;
  }

 private:
  // In a few steps alone, each far longer than the others.
  static bool rare(const OwnSamples& f) {
    return f.all >= kMinPhaseSamples && f.inLong >= kInLongSteps * f.all &&
           f.firstLong < f.lastLong && f.data <= kNoModel * f.all;
  }
  [[nodiscard]] bool runsModelRarely(const OwnSamples& f) const {
    return rare(f) && ofModel(f) >= kRunsModel * f.all && f.update == 0 && !f.plays &&
           (stepsAwaitResults() || f.results <= kHalf * ofModel(f));
  }
  // Where steps are only dispatched, a result that is asked for now and then waits for them all.
  [[nodiscard]] bool stepsAwaitResults() const {
    return whole_.usualResults > kMuchOfFunction * whole_.usualModel;
  }
  static double ofModel(const OwnSamples& f) { return f.model + f.framework - f.programs; }
  static bool reads(const OwnSamples& f) {
    return f.data >= kMinPhaseSamples && f.data >= kMuchOfFunction * f.all;
  }
  // By the kernel's samples; what writes may compress as well.
  static bool fromSources(const OwnSamples& f) {
    return f.sources >= kMinPhaseSamples && f.writes + f.stores == 0 &&
           f.sources >= kMuchOfFunction * (f.operators + f.others + f.sources);
  }
  static bool noModel(const OwnSamples& f) { return f.model + f.framework <= kNoModel * f.all; }
  // After an optimizer's step and before the model is met, without either.
  static bool inTurn(const OwnSamples& f) {
    return noModel(f) && f.before >= kMinPhaseSamples &&
           f.after <= kOutOfTurn * (f.before + f.after);
  }
  // The first line of a function that trains at which the model runs; 0: it does not train.
  [[nodiscard]] std::uint32_t firstOfModel(const Name& name) const {
    if (const auto call = calls_.find(name); call != calls_.end()) return call->second.first;
    const double updates = functions_.at(name).update;
    if (updates == 0) return 0;
    for (auto at = lines_.lower_bound({name, 0}); at != lines_.end() && at->first.first == name;
         ++at)
      if (at->second.model + at->second.framework + at->second.update >
              kSomeModel * at->second.all ||
          2 * at->second.update >= updates)
        return at->first.second;
    return 0;
  }
  // The iterator of a `for` statement around the training, whatever it does, unless it trains
  // itself or asks the model.
  [[nodiscard]] bool yieldsBatches(StackId frame) const {
    const std::uint32_t line = trace_.stack(frame).line;
    const auto inside = iterators_.find({nameOf(frame), line});
    return inside != iterators_.end() && line < firstOfModel(nameOf(frame)) &&
           ofModel(inside->second) + inside->second.update <= kOutOfTurn * inside->second.all;
  }
  // Where no rule knows a model, as of arrays alone. The kernel's samples show operators, and no
  // more of them than the loop's body can hold: the iterator is not what computes.
  [[nodiscard]] bool yieldsToOperators(StackId frame) const {
    const auto inside = iterators_.find({nameOf(frame), trace_.stack(frame).line});
    if (inside == iterators_.end() || operators_ < kMinPhaseSamples) return false;
    const double yields = inside->second.all;
    const double body = functions_.at(nameOf(frame)).all - yields;
    return yields >= kMinPhaseSamples && body >= kMinPhaseSamples &&
           ofModel(inside->second) + inside->second.update == 0 &&
           operators_ * whole_.all <= body * (operators_ + others_);
  }
  // Called at the first line of the model, and before the model: for what that is given.
  [[nodiscard]] bool feedsModel(StackId frame, const OwnSamples& f) const {
    const StackId at = trace_.stack(frame).caller;
    const auto caller = functions_.find(nameOf(at));
    return caller != functions_.end() && trace_.stack(at).line == firstOfModel(caller->first) &&
           inTurn(f) && operatorsBelow(kHalf, f);
  }
  // The last line of a function at which some of the time is `what`'s; 0: none.
  [[nodiscard]] std::uint32_t lastOf(const Name& name, double OwnSamples::*what) const {
    std::uint32_t last = 0;
    for (auto at = lines_.lower_bound({name, 0}); at != lines_.end() && at->first.first == name;
         ++at)
      if (at->second.*what > kSomeModel * at->second.all) last = at->first.second;
    return last;
  }
  [[nodiscard]] bool isBelowUpdate(StackId frame) const {
    const std::uint32_t last = lastOf(nameOf(frame), &OwnSamples::update);
    return last > 0 && trace_.stack(frame).line > last;
  }
  // Likewise, or below the last call of steps that have no frame of their own.
  [[nodiscard]] bool isBelowSteps(StackId frame) const {
    const auto call = calls_.find(nameOf(frame));
    return isBelowUpdate(frame) ||
           (call != calls_.end() && trace_.stack(frame).line > call->second.last);
  }
  // So few samples lie in a turn with the model that the others may be anywhere in theirs.
  static bool farApart(const OwnSamples& f) { return f.before + f.after < kFewPlaced * f.all; }
  // Between a batch or a step and the model, by the kernel's samples too: none of it is the
  // model's.
  static bool preparesData(const OwnSamples& f) {
    return operatorsBelow(kFewOperators, f) && inTurn(f);
  }
  // Without the kernel's samples: a framework's operators let the interpreter's lock go for most of
  // their time, however small.
  static bool operatorsBelow(double part, const OwnSamples& f) {
    if (const double native = f.operators + f.others; native >= kMinPhaseSamples)
      return f.operators <= part * native;
    const double running = f.unlocked + f.locked;
    return running >= kMinPhaseSamples && f.unlocked <= kFewUnlocked * running;
  }
  static bool cutsArrays(const OwnSamples& f) {
    const double known = f.data + f.arrays;
    return known >= kMinPhaseSamples && known >= kSomeArrays * f.all && inTurn(f);
  }

  // "get_batch", wherever it lies: the next batch may be made before backward. "augment", between a
  // step and the model. Whatever they call to make tensors of their data.
  [[nodiscard]] bool isNamedForBatches(StackId frame, const OwnSamples& f) const {
    if (f.update > 0 || f.framework > kHalf * f.all || f.all < kMinPhaseSamples) return false;
    const std::string_view function = trace_.text(trace_.stack(frame).function);
    const bool ahead = f.before >= kMinPhaseSamples && f.after <= kSomeAfter * (f.before + f.after);
    return fetchesBatches(function) || (ahead && namesBatches(function));
  }

  [[nodiscard]] Name nameOf(StackId frame) const {
    return {trace_.stack(frame).function, trace_.stack(frame).file};
  }
  // Nothing of a line whose function was only met further in.
  [[nodiscard]] OwnSamples lineOf(StackId frame) const {
    const auto found = lines_.find({nameOf(frame), trace_.stack(frame).line});
    return found == lines_.end() ? OwnSamples{} : found->second;
  }
  bool users(StackId frame) {
    const StackSeen& seen = trace_.stack(frame);
    if (seen.kind != FrameKind::kPython) return false;
    const auto [at, isNew] = users_.try_emplace(seen.file, false);
    if (isNew) at->second = modulePathOf(trace_.text(seen.file)).users;
    return at->second;
  }

  bool startsPrograms(StackId frame) {
    const StringId file = trace_.stack(frame).file;
    const auto [at, isNew] = starts_.try_emplace(file, false);
    if (isNew) at->second = modulePathOf(trace_.text(file)).path == "subprocess.py";
    return at->second;
  }

  bool plays(StringId function) {
    const auto [at, isNew] = plays_.try_emplace(function, false);
    if (isNew) at->second = namesPlay(trace_.text(function));
    return at->second;
  }

  const Trace& trace_;
  const StackLabels& labels_;
  const bool fetched_;
  const std::map<Name, CallLines> calls_;
  OwnSamples whole_;
  double operators_ = 0, others_ = 0;
  std::map<Name, OwnSamples> functions_;
  // Inside the iterator of a `for` statement at the line; all else of it.
  std::map<std::pair<Name, std::uint32_t>, OwnSamples> iterators_, lines_;
  std::map<StringId, bool> users_, starts_, plays_;  // by a frame's file, and its function
};

}  // namespace

OwnPhases::OwnPhases(const Trace& trace, const StackLabels& labels, const ThreadLife& thread,
                     Nanos begin, Nanos end) {
  std::vector<OwnSamples> samples(trace.stacks.size());  // millions of samples, thousands of stacks
  const auto of = [&](StackId stack) -> OwnSamples& { return samples[stack.value - 1]; };
  Turns turns(trace, thread.id, [&](StackId seen, Turns::At at) {
    ++(at == Turns::At::kBefore ? of(seen).before : of(seen).after);
  });
  LongSteps longSteps(trace, thread.id, begin, end);
  eachSample(trace, thread, begin, end, [&](const Sample& sample) {
    const StackId stack = sample.stack->stack;
    if (stack.none() || stack.value > samples.size()) return;
    OwnSamples& seen = of(stack);
    seen.see(sample);
    if (const auto step = longSteps.at(sample.at)) {
      ++seen.inLong;
      seen.firstLong = std::min(seen.firstLong, *step);
      seen.lastLong = std::max(seen.lastLong, *step);
    }
    turns.sample(sample.at, stack, labels.of(stack, Side::kTrainer).rule);
  });
  turns.end();
  fetched_ = turns.fetched();
  PhaseFinder finder(trace, labels, thread.id, fetched_);
  NativeClasses classes(trace);
  eachNative(thread, {begin, end}, [&](const NativeSlice& native) {
    OwnSamples alone;
    alone.see(trace, native, classes.of(native));
    finder.seeNative(alone.operators, alone.others);
    if (native.stack.none() || native.stack.value > samples.size()) return;
    of(native.stack).add(alone);
  });
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (samples[i].all > 0) finder.see(StackId{static_cast<std::uint32_t>(i + 1)}, samples[i]);
  inside_.reserve(trace.stacks.size());
  // A caller's id is smaller than its callee's, so it is there already.
  for (std::size_t i = 0; i < trace.stacks.size(); ++i) {
    const StackSeen& seen = trace.stacks[i].data;
    const StackId frame{static_cast<std::uint32_t>(i + 1)};
    const bool outermost = seen.caller.none() || seen.caller.value > i;
    const Is caller = outermost ? Is::kNeither : inside_[seen.caller.value - 1];
    const bool follows = caller == Is::kAfterUpdate || finder.followsUpdate(frame);
    const bool exchanges = fetched_ && (caller == Is::kExchange || finder.followsBackward(frame));
    const bool claimed =
        caller != Is::kNeither && caller != Is::kAfterUpdate && caller != Is::kExchange;
    inside_.push_back(claimed                                        ? caller
                      : finder.evaluates(frame)                      ? Is::kEvaluation
                      : finder.doesMuch(&OwnSamples::writes, frame)  ? Is::kWriting
                      : finder.doesMuch(&OwnSamples::logs, frame)    ? Is::kLogging
                      : finder.isEnvironment(frame)                  ? Is::kPlays
                      : follows && fetched_ && !finder.pauses(frame) ? Is::kAfterUpdate
                      : finder.makesData(frame)                      ? Is::kData
                      : finder.pauses(frame)                         ? Is::kPause
                      : follows                                      ? Is::kAfterUpdate
                      : exchanges                                    ? Is::kExchange
                                                                     : Is::kNeither);
    yieldsToOperators_ |= inside_.back() == Is::kData && !finder.knowsModel();
  }
}

std::optional<SampleLabel> OwnPhases::claim(StackId stack, const StackLabel& label,
                                            const SampleLabel& sample) const {
  if (stack.none() || stack.value > inside_.size()) return std::nullopt;
  const Is is = inside_[stack.value - 1];
  const bool regular = sample.overhead == OverheadKind::kNone;
  if (is == Is::kEvaluation && regular)
    return SampleLabel{Phase::kPeriodic, OverheadKind::kEvaluation, kOwnEvaluation};
  if (is == Is::kWriting && regular)
    return SampleLabel{Phase::kPeriodic, OverheadKind::kCheckpoint, kOwnWriting};
  const bool vague = sample.phase == Phase::kCompute && (!label.rule || label.rule->work);
  if (is == Is::kLogging && vague)
    return SampleLabel{Phase::kPeriodic, OverheadKind::kLogging, kOwnWriting};
  if (is == Is::kData && (vague || sample.rule == kAsleep))
    return SampleLabel{Phase::kTransform, OverheadKind::kNone, kOwnData};
  const bool nobodys = sample.phase == Phase::kUnknown || sample.phase == Phase::kOther || vague ||
                       sample.rule == kAwaitsNetwork ||
                       (label.rule && label.rule->id == kOwnProgram);
  if (is == Is::kPause && nobodys && regular)
    return SampleLabel{Phase::kPeriodic, OverheadKind::kPause, kOwnPause};
  if (is == Is::kPlays && vague)
    return SampleLabel{Phase::kTransform, OverheadKind::kNone, kEnvironment};
  const bool after = is == Is::kAfterUpdate && label.update.none();
  // TrainerTimeline::afterUpdate knows it by time; a sample right behind the update may be early.
  if (after && fetched_ && sample.phase == Phase::kExtract)
    return SampleLabel{Phase::kOther, OverheadKind::kAfterUpdate, kUnknownLine};
  // What a library encodes there is no batch, which the loader makes.
  if (after && fetched_ && sample.phase == Phase::kTransform)
    return SampleLabel{Phase::kCompute, OverheadKind::kAfterUpdate, sample.rule};
  if (is == Is::kExchange && sample.phase == Phase::kExtract)
    return SampleLabel{Phase::kOther, OverheadKind::kNone, kUnknownLine};
  if (after && sample.phase == Phase::kCompute && regular)
    return SampleLabel{Phase::kCompute, OverheadKind::kAfterUpdate, kOwnAfterUpdate};
  return std::nullopt;
}

}  // namespace stallprof
