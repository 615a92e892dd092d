// SPDX-License-Identifier: MIT
#include "classify/stack_labels.h"

#include <map>
#include <tuple>

#include "classify/frames.h"
#include "classify/own_rules.h"
#include "classify/rule_table.h"
#include "classify/waits.h"

namespace stallprof {
namespace {

// Frames are few, stacks many: each frame is asked once a side.
class Claims {
 public:
  Claims(const Trace& trace, const RuleTable& table) : trace_(trace), table_(table) {}

  const PhaseRule* of(const StackSeen& frame, Side side) {
    const auto key = std::tuple(frame.function, frame.file, frame.kind, side);
    const auto [at, isNew] = claims_.try_emplace(key, nullptr);
    if (isNew)
      at->second = claim(
          table_,
          {frame.kind == FrameKind::kNative, trace_.text(frame.function), trace_.text(frame.file)},
          side, alone_);
    return at->second;
  }

  // What a framework's model is trained beside is none of its own: a nearest neighbour's index
  // that chooses samples, a tokenizer of a whole pipeline.
  void beside(const StackSeen& frame) {
    if (!alone_) return;
    const PhaseRule* rule = of(frame, Side::kTrainer);
    if (!rule || !rule->update || rule->alone) return;
    if (trace_.text(frame.function) == kImported) return;
    alone_ = false;
    claims_.clear();
  }

  bool users(const StackSeen& frame) {
    const auto [at, isNew] = users_.try_emplace(frame.file, false);
    if (isNew) at->second = modulePathOf(trace_.text(frame.file)).users;
    return at->second;
  }

 private:
  static constexpr std::string_view kImported = "<module>";
  const Trace& trace_;
  const RuleTable& table_;
  bool alone_ = true;  // no model but that of such a rule is updated
  std::map<std::tuple<StringId, StringId, FrameKind, Side>, const PhaseRule*> claims_;
  std::map<StringId, bool> users_;
};

void enter(StackLabel& label, StackId at, const PhaseRule& rule) {
  // Arrays inside a decoder are the decoder's: "work" is what nobody nearer has a word for.
  const bool spokenFor = label.rule && !label.rule->work && label.claimed > label.user;
  if (rule.work && spokenFor) return;
  if (rule.phase) {
    label.rule = &rule;
    label.claimed = at;
    label.covered = rule.covers;
  } else {
    label.rule = nullptr;
    label.claimed = {};
  }
  if (rule.context) label.side = *rule.context;
}

StackLabel inside(StackLabel label, const StackSeen& frame, Claims& claims) {
  if (frame.kind == FrameKind::kOther) return label;
  label.hot = frame.stack;
  const bool native = frame.kind == FrameKind::kNative;
  if (!native) label.python = frame.stack;
  if (!native && claims.users(frame)) {
    label.user = frame.stack;
    if (label.covered == PhaseRule::Covers::kLibrary) label.covered = PhaseRule::Covers::kNothing;
  }
  const PhaseRule* rule = claims.of(frame, label.side);
  if (rule && rule->update && label.update.none()) label.update = frame.stack;
  if (rule && rule->fetches) label.fetches = true;
  if (rule && rule->gradient) label.gradient = true;
  if (label.covered != PhaseRule::Covers::kNothing) return label;
  // Python's word goes before the library's, where it is about what the user's line called.
  if (native && label.rule && label.claimed > label.user) return label;
  // What a queue or a pool waits with is its own wait.
  if (rule && rule->handover && label.handover && label.claimed > label.user) return label;
  if (rule) {
    enter(label, frame.stack, *rule);
    label.handover = rule->handover ? rule : nullptr;
  }
  return label;
}

StackLabel ofSide(Side side) {
  StackLabel label;
  label.side = side;
  return label;
}

Phase phaseOf(const PhaseRule& rule, Side side) {
  if (rule.work) return side == Side::kProducer ? Phase::kTransform : Phase::kCompute;
  return *rule.phase;
}

}  // namespace

StackLabels::StackLabels(const Trace& trace, const RuleTable& table) {
  Claims claims(trace, table);
  for (const auto& row : trace.stacks) claims.beside(row.data);
  for (const Side role : {Side::kTrainer, Side::kProducer}) {
    std::vector<StackLabel>& labels = role == Side::kTrainer ? trainer_ : producer_;
    labels.reserve(trace.stacks.size());
    // A caller's id is smaller than its callee's, so it is there already.
    for (const auto& row : trace.stacks)
      labels.push_back(inside(of(row.data.caller, role), row.data, claims));
  }
}

const StackLabel& StackLabels::of(StackId stack, Side role) const {
  static const StackLabel kOutside[] = {ofSide(Side::kTrainer), ofSide(Side::kProducer)};
  const std::vector<StackLabel>& labels = role == Side::kTrainer ? trainer_ : producer_;
  if (!stack.none() && stack.value <= labels.size()) return labels[stack.value - 1];
  return kOutside[role == Side::kTrainer ? 0 : 1];
}

SampleLabel StackLabels::sample(const StackLabel& label, Wait wait, bool gc) {
  const bool producer = label.side == Side::kProducer;
  const PhaseRule* rule = label.rule;
  const Phase claimed = rule ? phaseOf(*rule, label.side) : Phase::kUnknown;
  const bool data = claimed == Phase::kExtract || claimed == Phase::kTransform;
  // What is allocated to make a batch, or to import a module, has it collected: it goes with it.
  if (gc && !producer && !label.hot.none() && !data && claimed != Phase::kOther)
    return {Phase::kPeriodic, OverheadKind::kGc, kCollecting};
  // Outside any frame a trainer starts, ends, or is native code that no Python called.
  if (label.hot.none() && !producer && wait == Wait::kRunning)
    return {Phase::kOther, OverheadKind::kNone, kNoFrame};
  const SampleLabel byRule{claimed, rule ? rule->overhead : OverheadKind::kNone,
                           rule ? std::string_view(rule->id) : std::string_view()};
  if (wait == Wait::kRunning) {
    if (rule) return byRule;
    return producer ? SampleLabel{Phase::kTransform, OverheadKind::kNone, kOwnProducer}
                    : SampleLabel{Phase::kCompute, OverheadKind::kNone, kOwnTrainer};
  }
  if (rule && rule->waits) return byRule;
  // In the trainer, what no rule knows to be an event loop may be a collective's.
  if (wait == Wait::kEventLoop && !label.user.none() && (rule ? rule->id == kSelects : producer))
    return {Phase::kExtract, OverheadKind::kNone, kAwaitsNetwork};
  const WaitRule blocked = producer ? producerWait(wait) : trainerWait(wait);
  const bool reading = blocked.phase == Phase::kExtract && (!rule || data);
  if (rule && !reading) return byRule;
  const bool writes = blocked.phase == Phase::kPeriodic;
  return {blocked.phase, writes ? OverheadKind::kCheckpoint : OverheadKind::kNone, blocked.rule};
}

}  // namespace stallprof
