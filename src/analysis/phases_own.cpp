// SPDX-License-Identifier: MIT
#include "analysis/phases_own.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/laps.h"
#include "classify/frames.h"

namespace stallprof {
namespace {

constexpr double kFewestLooks = 5;    // that read or transform: fewer may be one odd call
constexpr double kMuchData = 0.20;    // of a function's looks
constexpr double kNoModel = 0.02;     // of a function's looks: a module's constant, a type check
constexpr double kSomeModel = 0.05;   // of the trainer's looks: rules know this program's model
constexpr double kSomeArrays = 0.10;  // of its looks, or reads: more is C that it calls itself
constexpr double kOutOfTurn = 0.10;   // of a function's looks in a step: looks are not exact

struct Looks {
  double all = 0, data = 0, model = 0, arrays = 0;
  double framework = 0;          // operators of a framework's, or called by its model
  double before = 0, after = 0;  // the model was met, since the optimizer's last step
};

bool saysData(const PhaseRule& rule) {
  return !rule.work && (rule.phase == Phase::kExtract || rule.phase == Phase::kTransform);
}
bool saysModel(const PhaseRule& rule) { return !rule.work && rule.phase == Phase::kCompute; }
bool saysFramework(const PhaseRule& rule) { return rule.work && !rule.arrays; }

// When looks come, by the steps of a thread's optimizers; nowhere where a loader is known.
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

  // Looks come in order of time. One before the model is met tells its turn only once it is.
  template <class Tell>
  void look(Nanos at, StackId stack, const PhaseRule* rule, Tell&& tell) {
    while (next_ != steps_.end() && next_->end <= at) {
      begin_ = next_->end;
      ++next_, met_ = false, begun_ = true;
      lone_.insert(lone_.end(), before_.begin(), before_.end());
      before_.clear();
    }
    if (!begun_) return;
    const bool model = (next_ != steps_.end() && next_->begin <= at) ||
                       (rule && (saysModel(*rule) || saysFramework(*rule)));
    if (model) models_.push_back(at - begin_);
    met_ = met_ || model;
    if (!met_) return before_.push_back({stack, at - begin_});
    for (const Early& early : before_) tell(early.stack, At::kBefore);
    before_.clear();
    tell(stack, At::kAfter);
  }

  // Where looks are as far apart as steps, most are alone in their turn: they are told by what they
  // are since the last step next to where looks at the model are, and not where that is not plain.
  template <class Tell>
  void end(Tell&& tell) {
    if (models_.size() < kFewestModels) return;
    std::sort(models_.begin(), models_.end());
    const Nanos first = models_[models_.size() / 20], middle = models_[models_.size() / 2];
    for (const Early& early : lone_)
      if (early.since < first || early.since > middle)
        tell(early.stack, early.since < first ? At::kBefore : At::kAfter);
  }

 private:
  static constexpr std::size_t kFewestModels = 40;  // of which a twentieth is two
  struct Early {
    StackId stack;
    Nanos since{};  // the optimizer's last step
  };
  std::vector<Lap> steps_;
  std::vector<Lap>::const_iterator next_;
  Nanos begin_{};
  std::vector<Early> before_, lone_;
  std::vector<Nanos> models_;  // since the optimizer's last step
  bool begun_ = false, met_ = false;
};

class Finder {
 public:
  Finder(const Trace& trace, const StackLabels& labels) : trace_(trace), labels_(labels) {}

  // `seen`: how often the stack was, and when.
  void see(StackId stack, Looks seen) {
    if (const PhaseRule* rule = labels_.of(stack, Side::kTrainer).rule) {
      seen.data = saysData(*rule) * seen.all, seen.model = saysModel(*rule) * seen.all;
      seen.arrays = rule->arrays * seen.all, seen.framework = saysFramework(*rule) * seen.all;
    }
    add(whole_, seen);
    std::set<Name> met;  // once each, though it may call itself
    for (StackId at = stack; !at.none(); at = trace_.stack(at).caller) {
      const Name name = nameOf(at);
      if (!users(at) || !met.insert(name).second) continue;
      Looks here = seen;
      const PhaseRule* caller = labels_.of(trace_.stack(at).caller, Side::kTrainer).rule;
      if (caller && (saysModel(*caller) || saysFramework(*caller))) here.framework = seen.all;
      add(functions_[name], here);
      add(lines_[{name, trace_.stack(at).line}], here);
    }
  }

  [[nodiscard]] bool makesData(StackId frame) {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end() || whole_.model < kSomeModel * whole_.all) return false;
    const Looks& f = found->second;
    if (f.model <= kNoModel * f.all && (reads(f) || cutsArrays(f))) return true;
    const Looks& line = lines_[{found->first, trace_.stack(frame).line}];
    return cutsArrays(line);
  }

 private:
  using Name = std::tuple<StringId, StringId>;

  static bool reads(const Looks& f) {
    return f.data >= kFewestLooks && f.data >= kMuchData * f.all;
  }
  // After an optimizer's step and before the model is met, without either.
  static bool inTurn(const Looks& f) {
    return f.model + f.framework <= kNoModel * f.all && f.before >= kFewestLooks &&
           f.after <= kOutOfTurn * (f.before + f.after);
  }
  static bool cutsArrays(const Looks& f) {
    const double known = f.data + f.arrays;
    return known >= kFewestLooks && known >= kSomeArrays * f.all && inTurn(f);
  }

  static void add(Looks& to, const Looks& more) {
    to.all += more.all, to.data += more.data, to.model += more.model;
    to.arrays += more.arrays, to.framework += more.framework;
    to.before += more.before, to.after += more.after;
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
  Looks whole_;
  std::map<Name, Looks> functions_;
  std::map<std::pair<Name, std::uint32_t>, Looks> lines_;
  std::map<StringId, bool> users_;
};

}  // namespace

DataFunctions::DataFunctions(const Trace& trace, const StackLabels& labels,
                             const ThreadLife& thread, Nanos begin, Nanos end) {
  std::vector<Looks> looks(trace.stacks.size());  // millions of looks, thousands of stacks
  const auto of = [&](StackId stack) -> Looks& { return looks[stack.value - 1]; };
  Turns turns(trace, thread.id);
  const auto tell = [&](StackId seen, Turns::At at) {
    ++(at == Turns::At::kBefore ? of(seen).before : of(seen).after);
  };
  eachLook(thread, begin, end, [&](const Look& look) {
    const StackId stack = look.stack->stack;
    if (stack.none() || stack.value > looks.size()) return;
    ++of(stack).all;
    turns.look(look.at, stack, labels.of(stack, Side::kTrainer).rule, tell);
  });
  turns.end(tell);
  Finder finder(trace, labels);
  for (std::size_t i = 0; i < looks.size(); ++i)
    if (looks[i].all > 0) finder.see(StackId{static_cast<std::uint32_t>(i + 1)}, looks[i]);
  inside_.reserve(trace.stacks.size());
  // A caller's id is smaller than its callee's, so it is there already.
  for (std::size_t i = 0; i < trace.stacks.size(); ++i) {
    const StackSeen& seen = trace.stacks[i].data;
    const bool outside = seen.caller.none() || seen.caller.value > i;
    inside_.push_back((!outside && inside_[seen.caller.value - 1]) ||
                      finder.makesData(StackId{static_cast<std::uint32_t>(i + 1)}));
  }
}

bool DataFunctions::claim(StackId stack, const StackLabel& label, const LookLabel& look) const {
  if (stack.none() || stack.value > inside_.size() || !inside_[stack.value - 1]) return false;
  return look.phase == Phase::kCompute && (!label.rule || label.rule->work);
}

}  // namespace stallprof
