// SPDX-License-Identifier: MIT
#include "analysis/steps/own_phases.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/facts/native_samples.h"
#include "analysis/steps/turns.h"
#include "base/add_members.h"
#include "classify/frames.h"
#include "classify/native_work.h"
#include "classify/own_rules.h"

namespace stallprof {
namespace {

constexpr double kMinSamples = 5;      // that read or transform: fewer may be one odd call
constexpr double kMuchData = 0.20;     // of a function's samples
constexpr double kNoModel = 0.02;      // of a function's samples: a module's constant, a type check
constexpr double kSomeModel = 0.05;    // of the trainer's samples: rules know this program's model
constexpr double kSomeArrays = 0.10;   // of its samples, or reads: more is C that it calls itself
constexpr double kOutOfTurn = 0.10;    // of a function's samples in a step: samples are not exact
constexpr double kMuchWriting = 0.20;  // of a function's samples; of logging likewise
// Of the kernel's samples: a tensor made of an array, and samples that were paired with the stack
// of a call just before or after.
constexpr double kFewOperators = 0.25;
constexpr double kHalf = 0.5;          // likewise, of a line above the model's: lists made tensors
constexpr double kFewPlaced = 0.20;    // of a line's samples: they say nothing of its turn
constexpr double kInLongSteps = 0.95;  // of a function's samples
constexpr double kRunsModel = 0.30;    // of a function's samples: a checkpoint, a table do not

// Of a function, a line or a stack: samples in the trainer's thread, and how many of them are so.
struct Samples {
  double all = 0, data = 0, model = 0, arrays = 0;
  double framework = 0;              // operators of a framework's, or called by its model
  double update = 0;                 // backward, an optimizer
  double optimizer = 0;              // of these
  double writes = 0;                 // blocked writing a file
  double logs = 0;                   // in a logger, a tracker, a progress bar
  double before = 0, after = 0;      // the model was met, in this turn
  double operators = 0, others = 0;  // the kernel's samples: a framework's code or BLAS; any other
  double sources = 0;                // of these, and of the kernel's own: reads, decodes, fetches
  double stores = 0;                 // of the kernel's own: writes
  double inLong = 0;                 // in steps far longer than the others,
  std::size_t firstLong = SIZE_MAX, lastLong = 0;  // of these
  bool plays = false;                              // an environment, by the words of a name
};

// "Env.step", "collect_rollouts", "play_episode".
bool namesPlay(std::string_view function) {
  constexpr std::string_view kWords[] = {"env",      "envs",    "environment", "rollout",
                                         "rollouts", "collect", "episode",     "episodes",
                                         "explore",  "play",    "trajectory",  "trajectories"};
  const std::vector<std::string> words = splitName(function);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
  });
}

// Whether code of a Python program is a framework's, or BLAS, which frameworks and arrays share:
// what calls it may be the model. nullopt: libc, the kernel: whoever called them.
std::optional<bool> operatorsCode(NativeClass is, std::string_view file) {
  switch (is) {
    case NativeClass::kRuntime:
    case NativeClass::kKernel:
      return std::nullopt;
    case NativeClass::kTensor:
    case NativeClass::kParallel:
    case NativeClass::kSpin:
    case NativeClass::kDevice:
    case NativeClass::kJit:
      return true;
    case NativeClass::kMath:
      return file.find("-packages/") == std::string_view::npos ||
             file.find(".libs/") != std::string_view::npos;
    default:
      return false;
  }
}

// Code of libraries that store, decode, decompress or fetch data, and the kernel's that reads
// files; and what of the kernel's writes them.
void countSources(NativeClass is, std::string_view function, double samples, Samples& to) {
  const NativeWork work = is == NativeClass::kKernel ? kernelWork(function) : NativeWork{};
  const bool source = work.phase == Phase::kExtract || is == NativeClass::kDecode ||
                      is == NativeClass::kCompression || is == NativeClass::kNetwork ||
                      is == NativeClass::kStorage;
  if (source) to.sources += samples;
  if (work.phase == Phase::kOther) to.stores += samples;
}

// "CartPoleEnv.step", "Environment.reset"; without the class (Python up to 3.10) nothing is known.
// `noModel`: nothing of a model is in it. Then "Cart.step" of a program that trains is one, too,
// unless it updates weights by hand.
bool stepsEnvironment(std::string_view function, bool noModel) {
  constexpr std::string_view kOfClass[] = {"env", "environment"};
  constexpr std::string_view kOptimizers[] = {"optim", "optimizer", "sgd",       "adam",    "adamw",
                                              "lion",  "momentum",  "scheduler", "adagrad", "lr"};
  const bool step = function.ends_with(".step");
  if (!step && !function.ends_with(".reset")) return false;
  const std::vector<std::string> words = splitName(function);
  const auto any = [&](std::span<const std::string_view> of) {
    return std::find_first_of(words.begin(), words.end(), of.begin(), of.end()) != words.end();
  };
  return any(kOfClass) || (step && noModel && !any(kOptimizers));
}

class Finder {
 public:
  // `fetched`: the hook times the loader's batches.
  Finder(const Trace& trace, const StackLabels& labels, bool fetched)
      : trace_(trace), labels_(labels), fetched_(fetched) {}

  // `seen`: how often the stack was, and when.
  void see(StackId stack, Samples seen) {
    const StackLabel& label = labels_.of(stack, Side::kTrainer);
    if (!label.update.none()) seen.update = seen.optimizer = seen.all;
    if (const PhaseRule* rule = label.rule) {
      if (rule->id == "torch.backward") seen.update = seen.all;
      seen.logs = (rule->overhead == OverheadKind::kLogging) * seen.all;
      seen.data = namesData(*rule) * seen.all;
      seen.model = namesModel(*rule) * seen.all;
      seen.arrays = rule->arrays * seen.all;
      seen.framework = namesOperators(*rule) * seen.all;
    }
    add(whole_, seen);
    std::set<Name> met;  // once each, though it may call itself
    for (StackId at = stack; !at.none(); at = trace_.stack(at).caller) {
      const Name name = nameOf(at);
      if (!users(at)) continue;
      seen.plays = seen.plays || plays(trace_.stack(at).function);
      if (!met.insert(name).second) continue;
      Samples here = seen;
      const PhaseRule* caller = labels_.of(trace_.stack(at).caller, Side::kTrainer).rule;
      if (caller && (namesModel(*caller) || namesOperators(*caller))) here.framework = seen.all;
      add(functions_[name], here);
      add(lines_[{name, trace_.stack(at).line}], here);
    }
  }

  [[nodiscard]] bool evaluates(StackId frame) const {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end()) return false;
    const Samples& f = found->second;
    return f.all >= kMinSamples && f.inLong >= kInLongSteps * f.all && f.firstLong < f.lastLong &&
           f.model + f.framework >= kRunsModel * f.all && f.data <= kNoModel * f.all &&
           f.update == 0 && !f.plays;
  }

  // `what`: its samples of writing, or of logging.
  [[nodiscard]] bool doesMuch(double Samples::*what, StackId frame) const {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end()) return false;
    const Samples& f = found->second;
    return f.*what >= kMinSamples && f.*what >= kMuchWriting * f.all && f.update == 0 &&
           f.data <= kMuchData * f.all;
  }

  [[nodiscard]] bool makesData(StackId frame) {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end() || whole_.model < kSomeModel * whole_.all) return false;
    const Samples& f = found->second;
    const bool data = reads(f) || (noModel(f) && fromSources(f)) || cutsArrays(f) ||
                      (fetched_ && preparesData(f));
    if (f.model <= kNoModel * f.all && data) return true;
    const std::uint32_t number = trace_.stack(frame).line;
    const Samples& line = lines_[{found->first, number}];
    const bool above =
        number < firstOfModel(found->first) && noModel(line) && operatorsBelow(kHalf, line);
    return cutsArrays(line) || (noModel(line) && fromSources(line)) ||
           (above && line.before >= line.after) || (above && farApart(line));
  }

  [[nodiscard]] bool isEnvironment(StackId frame) const {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end() || whole_.model < kSomeModel * whole_.all) return false;
    const Samples& f = found->second;
    const bool alone = f.all >= kMinSamples && f.update == 0 && noModel(f);
    return f.model <= kNoModel * f.all &&
           stepsEnvironment(trace_.text(trace_.stack(frame).function), alone);
  }

  [[nodiscard]] bool followsUpdate(StackId frame) const {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end() || found->second.optimizer == 0) return false;
    const std::uint32_t last = lastOfUpdate(found->first);
    return last > 0 && trace_.stack(frame).line > last;
  }

 private:
  using Name = std::tuple<StringId, StringId>;

  static bool reads(const Samples& f) {
    return f.data >= kMinSamples && f.data >= kMuchData * f.all;
  }
  // By the kernel's samples; what writes may compress as well.
  static bool fromSources(const Samples& f) {
    return f.sources >= kMinSamples && f.writes + f.stores == 0 &&
           f.sources >= kMuchData * (f.operators + f.others + f.sources);
  }
  static bool noModel(const Samples& f) { return f.model + f.framework <= kNoModel * f.all; }
  // After an optimizer's step and before the model is met, without either.
  static bool inTurn(const Samples& f) {
    return noModel(f) && f.before >= kMinSamples && f.after <= kOutOfTurn * (f.before + f.after);
  }
  // The first line of a function that trains at which the model runs; 0: it does not train.
  [[nodiscard]] std::uint32_t firstOfModel(const Name& name) const {
    if (functions_.at(name).update == 0) return 0;
    for (auto at = lines_.lower_bound({name, 0}); at != lines_.end() && at->first.first == name;
         ++at)
      if (at->second.model + at->second.framework + at->second.update > kSomeModel * at->second.all)
        return at->first.second;
    return 0;
  }
  // The last line of a function at which most of the time is backward's or an optimizer's; 0: none.
  [[nodiscard]] std::uint32_t lastOfUpdate(const Name& name) const {
    std::uint32_t last = 0;
    for (auto at = lines_.lower_bound({name, 0}); at != lines_.end() && at->first.first == name;
         ++at)
      if (at->second.update > kSomeModel * at->second.all) last = at->first.second;
    return last;
  }
  // So few samples lie in a turn with the model that the others may be anywhere in theirs.
  static bool farApart(const Samples& f) { return f.before + f.after < kFewPlaced * f.all; }
  // Between a batch or a step and the model, by the kernel's samples too: none of it is the
  // model's.
  static bool preparesData(const Samples& f) {
    return operatorsBelow(kFewOperators, f) && inTurn(f);
  }
  static bool operatorsBelow(double part, const Samples& f) {
    const double all = f.operators + f.others;
    return all >= kMinSamples && f.operators <= part * all;
  }
  static bool cutsArrays(const Samples& f) {
    const double known = f.data + f.arrays;
    return known >= kMinSamples && known >= kSomeArrays * f.all && inTurn(f);
  }

  static void add(Samples& to, const Samples& more) {
    addMembers<&Samples::all, &Samples::data, &Samples::model, &Samples::arrays,
               &Samples::framework, &Samples::update, &Samples::optimizer, &Samples::writes,
               &Samples::logs, &Samples::before, &Samples::after, &Samples::operators,
               &Samples::others, &Samples::sources, &Samples::stores, &Samples::inLong>(to, more);
    to.firstLong = std::min(to.firstLong, more.firstLong);
    to.lastLong = std::max(to.lastLong, more.lastLong);
    to.plays = to.plays || more.plays;
  }
  [[nodiscard]] Name nameOf(StackId frame) const {
    return {trace_.stack(frame).function, trace_.stack(frame).file};
  }
  bool users(StackId frame) {
    const StackSeen& seen = trace_.stack(frame);
    if (seen.kind != FrameKind::kPython) return false;
    const auto [at, isNew] = users_.try_emplace(seen.file, false);
    if (isNew) at->second = modulePathOf(trace_.text(seen.file)).users;
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
  Samples whole_;
  std::map<Name, Samples> functions_;
  std::map<std::pair<Name, std::uint32_t>, Samples> lines_;
  std::map<StringId, bool> users_, plays_;  // by a frame's file, and its function
};

}  // namespace

OwnPhases::OwnPhases(const Trace& trace, const StackLabels& labels, const ThreadLife& thread,
                     Nanos begin, Nanos end) {
  std::vector<Samples> samples(trace.stacks.size());  // millions of samples, thousands of stacks
  const auto of = [&](StackId stack) -> Samples& { return samples[stack.value - 1]; };
  Turns turns(trace, thread.id, [&](StackId seen, Turns::At at) {
    ++(at == Turns::At::kBefore ? of(seen).before : of(seen).after);
  });
  LongSteps longSteps(trace, thread.id, begin, end);
  eachSample(trace, thread, begin, end, [&](const Sample& sample) {
    const StackId stack = sample.stack->stack;
    if (stack.none() || stack.value > samples.size()) return;
    Samples& seen = of(stack);
    ++seen.all;
    seen.writes += sample.wait == Wait::kFileWrite;
    if (const auto step = longSteps.at(sample.at)) {
      ++seen.inLong;
      seen.firstLong = std::min(seen.firstLong, *step);
      seen.lastLong = std::max(seen.lastLong, *step);
    }
    turns.sample(sample.at, stack, labels.of(stack, Side::kTrainer).rule);
  });
  turns.end();
  NativeClasses classes(trace);
  eachNative(thread, {begin, end}, [&](const NativeSlice& native) {
    if (native.stack.none() || native.stack.value > samples.size()) return;
    const NativeClass is = classes.of(native);
    countSources(is, trace.text(native.function), native.samples, of(native.stack));
    const auto operators = operatorsCode(is, trace.text(native.file));
    if (operators)
      (*operators ? of(native.stack).operators : of(native.stack).others) += native.samples;
  });
  Finder finder(trace, labels, turns.fetched());
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
    const bool claimed = caller != Is::kNeither && caller != Is::kAfterUpdate;
    inside_.push_back(claimed                                    ? caller
                      : finder.evaluates(frame)                  ? Is::kEvaluation
                      : finder.doesMuch(&Samples::writes, frame) ? Is::kWriting
                      : finder.doesMuch(&Samples::logs, frame)   ? Is::kLogging
                      : finder.isEnvironment(frame)              ? Is::kPlays
                      : finder.makesData(frame)                  ? Is::kData
                      : follows                                  ? Is::kAfterUpdate
                                                                 : Is::kNeither);
  }
}

std::optional<SampleLabel> OwnPhases::claim(StackId stack, const StackLabel& label,
                                            const SampleLabel& sample) const {
  if (stack.none() || stack.value > inside_.size()) return std::nullopt;
  const Is is = inside_[stack.value - 1];
  if (is == Is::kEvaluation && sample.overhead == OverheadKind::kNone)
    return SampleLabel{Phase::kPeriodic, OverheadKind::kEvaluation, kOwnEvaluation};
  if (is == Is::kWriting && sample.overhead == OverheadKind::kNone)
    return SampleLabel{Phase::kPeriodic, OverheadKind::kCheckpoint, kOwnWriting};
  const bool vague = sample.phase == Phase::kCompute && (!label.rule || label.rule->work);
  if (is == Is::kLogging && vague)
    return SampleLabel{Phase::kPeriodic, OverheadKind::kLogging, kOwnWriting};
  if (is == Is::kData && vague)
    return SampleLabel{Phase::kTransform, OverheadKind::kNone, kOwnData};
  if (is == Is::kPlays && vague)
    return SampleLabel{Phase::kTransform, OverheadKind::kNone, kEnvironment};
  const bool extra = sample.phase == Phase::kCompute && sample.overhead == OverheadKind::kNone;
  if (is == Is::kAfterUpdate && extra && label.update.none())
    return SampleLabel{Phase::kCompute, OverheadKind::kAfterUpdate, kOwnAfterUpdate};
  return std::nullopt;
}

}  // namespace stallprof
