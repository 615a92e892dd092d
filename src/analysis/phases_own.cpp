// SPDX-License-Identifier: MIT
#include "analysis/phases_own.h"

#include <map>
#include <set>
#include <tuple>

#include "classify/frames.h"

namespace stallprof {
namespace {

constexpr double kFewestLooks = 5;   // that read or transform: fewer may be one odd call
constexpr double kMuchData = 0.20;   // of a function's looks
constexpr double kNoModel = 0.02;    // of a function's looks: a module's constant, a type check
constexpr double kSomeModel = 0.05;  // of the trainer's looks: rules know this program's model

struct Looks {
  double all = 0, data = 0, model = 0;
};

bool saysData(const PhaseRule& rule) {
  return !rule.work && (rule.phase == Phase::kExtract || rule.phase == Phase::kTransform);
}
bool saysModel(const PhaseRule& rule) { return !rule.work && rule.phase == Phase::kCompute; }

class Finder {
 public:
  Finder(const Trace& trace, const StackLabels& labels) : trace_(trace), labels_(labels) {}

  void see(StackId stack, double looks) {
    const PhaseRule* rule = labels_.of(stack, Side::kTrainer).rule;
    const Looks these{looks, rule && saysData(*rule) ? looks : 0,
                      rule && saysModel(*rule) ? looks : 0};
    add(whole_, these);
    std::set<Name> met;  // once each, though it may call itself
    for (StackId at = stack; !at.none(); at = trace_.stack(at).caller)
      if (const Name name = nameOf(at); users(at) && met.insert(name).second)
        add(functions_[name], these);
  }

  [[nodiscard]] bool makesData(StackId frame) {
    const auto found = functions_.find(nameOf(frame));
    if (found == functions_.end() || whole_.model < kSomeModel * whole_.all) return false;
    const Looks& f = found->second;
    return f.data >= kFewestLooks && f.data >= kMuchData * f.all && f.model <= kNoModel * f.all;
  }

 private:
  using Name = std::tuple<StringId, StringId>;

  static void add(Looks& to, const Looks& more) {
    to.all += more.all, to.data += more.data, to.model += more.model;
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
  std::map<StringId, bool> users_;
};

}  // namespace

DataFunctions::DataFunctions(const Trace& trace, const StackLabels& labels,
                             const ThreadLife& thread, Nanos begin, Nanos end) {
  std::vector<double> looks(trace.stacks.size());  // millions of looks, thousands of stacks
  eachLook(thread, begin, end, [&](const Look& look) {
    const StackId stack = look.stack->stack;
    if (!stack.none() && stack.value <= looks.size()) ++looks[stack.value - 1];
  });
  Finder finder(trace, labels);
  for (std::size_t i = 0; i < looks.size(); ++i)
    if (looks[i] > 0) finder.see(StackId{static_cast<std::uint32_t>(i + 1)}, looks[i]);
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
