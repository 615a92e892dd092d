// SPDX-License-Identifier: MIT
#include "analysis/steps/own_phases.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/steps/loops.h"
#include "classify/frames.h"

namespace stallprof {
namespace {

constexpr double kMinSamples = 5;     // that read or transform: fewer may be one odd call
constexpr double kMuchData = 0.20;    // of a function's samples
constexpr double kNoModel = 0.02;     // of a function's samples: a module's constant, a type check
constexpr double kSomeModel = 0.05;   // of the trainer's samples: rules know this program's model
constexpr double kSomeArrays = 0.10;  // of its samples, or reads: more is C that it calls itself
constexpr double kOutOfTurn = 0.10;   // of a function's samples in a step: samples are not exact

struct Samples {
  double all = 0, data = 0, model = 0, arrays = 0;
  double framework = 0;          // operators of a framework's, or called by its model
  double before = 0, after = 0;  // the model was met, since the optimizer's last step
};

// Where samples lie between the steps of a thread's optimizers; nowhere where a loader is known.
class Turns {
 public:
  enum class At { kBefore, kAfter };

  Turns(const Trace& trace, ThreadId thread) {
    const auto its = [&](const auto& row) { return row.data.thread == thread; };
    if (std::none_of(trace.fetches.begin(), trace.fetches.end(), its))
      for (const auto& row : trace.optimizerSteps)
        if (its(row)) steps_.push_back({row.at, row.end()});
    next_ = steps_.begin();
  }

  // Samples come in order of time. The turn of one before the model is known only once it is met.
  template <class Report>
  void sample(Nanos at, StackId stack, const PhaseRule* rule, Report&& report) {
    while (next_ != steps_.end() && next_->end <= at) {
      begin_ = next_->end;
      ++next_;
      seen_ = false;
      begun_ = true;
      lone_.insert(lone_.end(), before_.begin(), before_.end());
      before_.clear();
    }
    if (!begun_) return;
    const bool model = (next_ != steps_.end() && next_->begin <= at) ||
                       (rule && (namesModel(*rule) || namesFramework(*rule)));
    if (model) models_.push_back(at - begin_);
    seen_ = seen_ || model;
    if (!seen_) return before_.push_back({stack, at - begin_});
    for (const Early& early : before_) report(early.stack, At::kBefore);
    before_.clear();
    report(stack, At::kAfter);
  }

  // Where samples are as far apart as steps, most are alone in their turn. Each is placed by its
  // time since the last step: before the model where it is earlier than 95 % of the model's
  // samples, after it where it is later than half of them; between those it is not counted.
  template <class Report>
  void end(Report&& report) {
    if (models_.size() < kMinModels) return;
    std::sort(models_.begin(), models_.end());
    const Nanos first = models_[models_.size() / 20], middle = models_[models_.size() / 2];
    for (const Early& early : lone_)
      if (early.since < first || early.since > middle)
        report(early.stack, early.since < first ? At::kBefore : At::kAfter);
  }

 private:
  static constexpr std::size_t kMinModels = 40;  // of which a twentieth is two
  struct Early {
    StackId stack;
    Nanos since{};  // the optimizer's last step
  };
  std::vector<Interval> steps_;
  std::vector<Interval>::const_iterator next_;
  Nanos begin_{};
  std::vector<Early> before_, lone_;
  std::vector<Nanos> models_;  // since the optimizer's last step
  bool begun_ = false, seen_ = false;
};

class Finder {
 public:
  Finder(const Trace& trace, const StackLabels& labels) : trace_(trace), labels_(labels) {}

  // `seen`: how often the stack was, and when.
  void see(StackId stack, Samples seen) {
    if (const PhaseRule* rule = labels_.of(stack, Side::kTrainer).rule) {
      seen.data = namesData(*rule) * seen.all;
      seen.model = namesModel(*rule) * seen.all;
      seen.arrays = rule->arrays * seen.all;
      seen.framework = namesFramework(*rule) * seen.all;
    }
    add(whole_, seen);
    std::set<Name> met;  // once each, though it may call itself
    for (StackId at = stack; !at.none(); at = trace_.stack(at).caller) {
      const Name name = nameOf(at);
      if (!users(at) || !met.insert(name).second) continue;
      Samples here = seen;
      const PhaseRule* caller = labels_.of(trace_.stack(at).caller, Side::kTrainer).rule;
      if (caller && (namesModel(*caller) || namesFramework(*caller))) here.framework = seen.all;
      add(functions_[name], here);
      add(lines_[{name, trace_.stack(at).line}], here);
    }
  }

  [[nodiscard]] bool makesData(StackId frame) {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end() || whole_.model < kSomeModel * whole_.all) return false;
    const Samples& f = found->second;
    if (f.model <= kNoModel * f.all && (reads(f) || cutsArrays(f))) return true;
    const Samples& line = lines_[{found->first, trace_.stack(frame).line}];
    return cutsArrays(line);
  }

 private:
  using Name = std::tuple<StringId, StringId>;

  static bool reads(const Samples& f) {
    return f.data >= kMinSamples && f.data >= kMuchData * f.all;
  }
  // After an optimizer's step and before the model is met, without either.
  static bool inTurn(const Samples& f) {
    return f.model + f.framework <= kNoModel * f.all && f.before >= kMinSamples &&
           f.after <= kOutOfTurn * (f.before + f.after);
  }
  static bool cutsArrays(const Samples& f) {
    const double known = f.data + f.arrays;
    return known >= kMinSamples && known >= kSomeArrays * f.all && inTurn(f);
  }

  static void add(Samples& to, const Samples& more) {
    to.all += more.all;
    to.data += more.data;
    to.model += more.model;
    to.arrays += more.arrays;
    to.framework += more.framework;
    to.before += more.before;
    to.after += more.after;
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

  const Trace& trace_;
  const StackLabels& labels_;
  Samples whole_;
  std::map<Name, Samples> functions_;
  std::map<std::pair<Name, std::uint32_t>, Samples> lines_;
  std::map<StringId, bool> users_;
};

}  // namespace

DataFunctions::DataFunctions(const Trace& trace, const StackLabels& labels,
                             const ThreadLife& thread, Nanos begin, Nanos end) {
  std::vector<Samples> samples(trace.stacks.size());  // millions of samples, thousands of stacks
  const auto of = [&](StackId stack) -> Samples& { return samples[stack.value - 1]; };
  Turns turns(trace, thread.id);
  const auto report = [&](StackId seen, Turns::At at) {
    ++(at == Turns::At::kBefore ? of(seen).before : of(seen).after);
  };
  eachSample(trace, thread, begin, end, [&](const Sample& sample) {
    const StackId stack = sample.stack->stack;
    if (stack.none() || stack.value > samples.size()) return;
    ++of(stack).all;
    turns.sample(sample.at, stack, labels.of(stack, Side::kTrainer).rule, report);
  });
  turns.end(report);
  Finder finder(trace, labels);
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (samples[i].all > 0) finder.see(StackId{static_cast<std::uint32_t>(i + 1)}, samples[i]);
  inside_.reserve(trace.stacks.size());
  // A caller's id is smaller than its callee's, so it is there already.
  for (std::size_t i = 0; i < trace.stacks.size(); ++i) {
    const StackSeen& seen = trace.stacks[i].data;
    const bool outside = seen.caller.none() || seen.caller.value > i;
    inside_.push_back((!outside && inside_[seen.caller.value - 1]) ||
                      finder.makesData(StackId{static_cast<std::uint32_t>(i + 1)}));
  }
}

bool DataFunctions::claim(StackId stack, const StackLabel& label, const SampleLabel& sample) const {
  if (stack.none() || stack.value > inside_.size() || !inside_[stack.value - 1]) return false;
  return sample.phase == Phase::kCompute && (!label.rule || label.rule->work);
}

}  // namespace stallprof
