// SPDX-License-Identifier: MIT
#include "analysis/blame/facts_accumulator.h"

#include <algorithm>
#include <utility>

#include "analysis/blame/attribution.h"
#include "analysis/device/device_time.h"
#include "analysis/device/device_use.h"
#include "analysis/steps/steps.h"

namespace stallprof {
namespace {

// What a recorder receives of a step comes within some seconds after it.
constexpr Nanos kLate = std::chrono::seconds(10);
constexpr std::size_t kMinPartSteps = 64;    // in a part; fewer are not worth one
constexpr std::uint64_t kRarest = 1u << 20;  // one in so many
// Steps kept with every row: at the run's begin and end, of the slowest, before each of those.
constexpr std::size_t kEnds = 2048, kWorst = 8, kAround = 4;

// The step with those just before it and the one after it.
Interval around(const TrainerFacts& facts, std::size_t step) {
  std::size_t first = step, last = step;
  while (step - first < kAround && facts.follows(first)) --first;
  if (last + 1 < facts.steps.size() && facts.follows(last + 1)) ++last;
  return {facts.steps[first].begin, facts.steps[last].end};
}

// Of the window, the slowest first.
std::vector<std::size_t> slowest(const TrainerFacts& facts, bool boundary) {
  const std::vector<Step>& steps = facts.steps;
  std::vector<std::size_t> order;
  for (std::size_t i = facts.warmup; i < steps.size(); ++i)
    if (steps[i].boundary == boundary) order.push_back(i);
  return facts.slowest(std::move(order), kWorst);
}

// The intervals whose rows stay: the first steps, those around the slowest, the longest that has
// each piece of the device's work; the last steps.
std::vector<Interval> chooseDetailed(const Trace& trace, const TrainerFacts& facts) {
  const std::vector<Step>& steps = facts.steps;
  std::vector<Interval> detailed;
  if (steps.empty()) return detailed;
  const std::size_t ends = std::min(kEnds, steps.size());
  detailed.push_back({steps.front().begin, steps[ends - 1].end});
  for (const bool boundary : {false, true})
    for (const std::size_t step : slowest(facts, boundary)) detailed.push_back(around(facts, step));
  if (const auto* longest = longestOfEach(trace, facts.process))
    detailed.push_back({longest->at, longest->end()});
  detailed.push_back({steps[steps.size() - ends].begin, steps.back().end});
  return detailed;
}

// Leaves of the window's steps the blocks that are drawn and those in a detailed interval; joins
// the rest.
void sumUndrawn(TrainerFacts& facts) {
  const auto stays = [&](const Step& step) {
    return facts.joined.drawn(step.number) ||
           overlapsAny(facts.joined.detailed, {step.begin, step.end});
  };
  std::size_t kept = facts.warmup;
  for (std::size_t i = facts.warmup; i < facts.steps.size(); ++i)
    if (const Step step = facts.steps[i]; stays(step))
      facts.steps[kept++] = step;
    else
      facts.joined.add(step);
  facts.steps.resize(kept);
  std::erase_if(facts.works, [&](const BatchWork& work) {
    const auto step = std::lower_bound(facts.steps.begin(), facts.steps.end(), work.step,
                                       [](const Step& s, std::uint32_t n) { return s.number < n; });
    if (step != facts.steps.end() && step->number == work.step) return false;
    facts.joined.add(work);
    return true;
  });
}

// So few steps would be the run's first that not all of its warm-up fits into their share of it.
bool cutsWarmup(const TrainerTimeline& timeline, const StepPlan& plan, std::size_t steps) {
  if (timeline.before.steps > 0) return false;
  const std::vector<StepSpan> first(plan.steps.begin(),
                                    plan.steps.begin() + static_cast<std::ptrdiff_t>(steps));
  return warmupSteps(first) == steps * 3 / 10;
}

// A thread or process that has a role now keeps it; one that only helps keeps the role it had.
void keepRoles(std::vector<Role>& now, const std::vector<Role>& before) {
  for (std::size_t i = 0; i < std::min(now.size(), before.size()); ++i)
    if (now[i] == Role::kHelper) now[i] = before[i];
}

}  // namespace

Result<Trace> FactsAccumulator::readBy(const EventSource& events, const TraceBounds& bounds,
                                       RowsDone (FactsAccumulator::*take)(const Trace&)) {
  TraceBuilder builder(bounds);
  for (;;) {
    const Result<bool> more = builder.fill(events);
    if (!more.ok()) return more.error();
    if (!more.value()) return builder.seal();
    builder.release((this->*take)(builder.part()));
  }
}

Result<Trace> FactsAccumulator::read(const EventSource& events, const TraceBounds& bounds) {
  return readBy(events, bounds, &FactsAccumulator::add);
}

Result<Trace> FactsAccumulator::readRoles(const EventSource& events) {
  return readBy(events, {}, &FactsAccumulator::addRoles);
}

// Where the part ends: the begin of a step that is surely over, as is whatever other ranks did
// until then. No row of an earlier time comes later. Of several trainers, the one with most new
// steps decides. 0: no trainer has enough of them.
Nanos FactsAccumulator::settled(const Trace& trace) const {
  Nanos found{};
  std::size_t maxSteps = kMinPartSteps;
  for (const TrainerIdentity& who : roles_.trainers) {
    TrainerTimeline timeline = readTimeline(trace, who);
    if (const auto known = trainers_.find(who.process); known != trainers_.end())
      timeline.before = known->second.before;
    const StepPlan plan = planSteps(trace, timeline);
    const auto after = std::partition_point(plan.steps.begin(), plan.steps.end(), [&](auto& step) {
      return step.begin <= std::max(timeline.before.windowEnd, until_);
    });
    const auto latest = std::partition_point(
        after, plan.steps.end(), [&](auto& step) { return step.begin < trace.end - kLate; });
    const auto steps = static_cast<std::size_t>(
        std::min(latest - after, std::max<std::ptrdiff_t>(0, plan.steps.end() - after - 2)));
    if (steps <= maxSteps || cutsWarmup(timeline, plan, steps)) continue;
    maxSteps = steps;
    found = (after + static_cast<std::ptrdiff_t>(steps) - 1)->begin;
  }
  return found;
}

RowsDone FactsAccumulator::add(const Trace& trace) {
  roles_ = rolesOf(trace);
  const Nanos end = settled(trace);
  if (end <= until_) return {};
  const StackLabels labels(trace, rules_);
  RowsDone done{end, {}};
  for (const TrainerIdentity& who : roles_.trainers) {
    addPart(trace, readTimeline(trace, who), &labels, end);
    TrainerFacts& facts = trainers_[who.process].facts;
    bound(trace, facts);
    const std::vector<Interval>& detailed = facts.joined.detailed;
    done.kept.insert(done.kept.end(), detailed.begin(), detailed.end());
  }
  until_ = end;
  return done;
}

RowsDone FactsAccumulator::addRoles(const Trace& trace) {
  roles_ = rolesOf(trace);
  until_ = trace.end;
  return {until_, {}};
}

void FactsAccumulator::addPart(const Trace& trace, TrainerTimeline timeline,
                               const StackLabels* labels, Nanos end) {
  Known& known = trainers_[timeline.who.process];
  TrainerFacts part = attributePart(trace, std::move(timeline), labels, known.before, end);
  if (known.facts.steps.empty())
    known.facts = std::move(part);
  else if (!part.steps.empty())
    join(trace, known.facts, std::move(part));
}

void FactsAccumulator::bound(const Trace& trace, TrainerFacts& facts) const {
  facts.joined.detailed = chooseDetailed(trace, facts);
  sumUndrawn(facts);
  for (; facts.steps.size() > max_ && facts.joined.every < kRarest; sumUndrawn(facts))
    facts.joined.every *= 2;
}

Roles FactsAccumulator::rolesOf(const Trace& trace) const {
  Roles roles = findRoles(trace);
  keepRoles(roles.processes, roles_.processes);
  keepRoles(roles.threads, roles_.threads);
  for (const TrainerIdentity& who : roles_.trainers) {
    const auto same = std::find_if(roles.trainers.begin(), roles.trainers.end(),
                                   [&](auto& t) { return t.process == who.process; });
    if (same == roles.trainers.end())
      roles.addTrainer(who);
    else
      same->thread = who.thread;
  }
  std::sort(roles.trainers.begin(), roles.trainers.end(),
            [](auto& a, auto& b) { return a.process < b.process; });
  return roles;
}

TrainerFacts FactsAccumulator::factsOf(const Trace& trace, TrainerIdentity who,
                                       const StackLabels* labels,
                                       std::vector<Interval> iterations) {
  TrainerTimeline timeline = readTimeline(trace, who);
  timeline.iterations = std::move(iterations);
  addPart(trace, std::move(timeline), labels, Nanos::max());
  TrainerFacts facts = std::move(trainers_[who.process].facts);
  trainers_.erase(who.process);
  if (severalParts()) bound(trace, facts);
  measureCounters(trace, facts);
  removeTracing(facts);
  settleGaps(facts);
  return facts;
}

TrainerFacts attribute(const Trace& trace, TrainerIdentity who, const StackLabels* labels,
                       std::vector<Interval> iterations) {
  return FactsAccumulator().factsOf(trace, who, labels, std::move(iterations));
}

}  // namespace stallprof
