// SPDX-License-Identifier: MIT
#include "analysis/long_run.h"

#include <algorithm>
#include <utility>

#include "analysis/attribution.h"
#include "analysis/join_facts.h"
#include "analysis/steps.h"

namespace stallprof {
namespace {

// What a recorder is told of a step comes within some seconds after it.
constexpr Nanos kLate = std::chrono::seconds(10);
constexpr std::size_t kFewestSteps = 64;           // in a part; fewer are not worth one
constexpr std::uint64_t kFewestBlocks = 1u << 20;  // one in so many
// Steps told with every row: at the run's begin and end, of the slowest, before each of those.
constexpr std::size_t kEnds = 2048, kWorst = 8, kAround = 4;

using Whole = std::vector<std::pair<Nanos, Nanos>>;

Nanos lengthOf(const Step& step) { return step.end - step.begin; }

void addAround(const TrainerFacts& facts, std::size_t step, Whole& whole) {
  std::size_t first = step, last = step;
  while (step - first < kAround && facts.follows(first)) --first;
  if (last + 1 < facts.steps.size() && facts.follows(last + 1)) ++last;
  whole.emplace_back(facts.steps[first].begin, facts.steps[last].end);
}

// Of the window, the slowest first.
std::vector<std::size_t> slowest(const TrainerFacts& facts, bool boundary) {
  const std::vector<Step>& steps = facts.steps;
  std::vector<std::size_t> order;
  for (std::size_t i = facts.warmup; i < steps.size(); ++i)
    if (steps[i].boundary == boundary) order.push_back(i);
  const std::size_t shown = std::min(order.size(), kWorst);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return std::pair(lengthOf(steps[b]), a) < std::pair(lengthOf(steps[a]), b);
                    });
  order.resize(shown);
  return order;
}

// The stretches that stay told row by row: the first steps, those around the slowest, the longest
// that has each piece of the device's work; the last steps.
Whole toldWhole(const Trace& trace, const TrainerFacts& facts) {
  const std::vector<Step>& steps = facts.steps;
  Whole whole;
  if (steps.empty()) return whole;
  const std::size_t ends = std::min(kEnds, steps.size());
  whole.emplace_back(steps.front().begin, steps[ends - 1].end);
  for (const bool boundary : {false, true})
    for (const std::size_t step : slowest(facts, boundary)) addAround(facts, step, whole);
  const Timed<DeviceTrace>* longest = nullptr;
  for (const auto& row : trace.deviceTraces)
    if (row.data.each && row.data.kernels && row.data.process == facts.process &&
        (longest == nullptr || row.data.duration > longest->data.duration))
      longest = &row;
  if (longest != nullptr) whole.emplace_back(longest->at, longest->end());
  whole.emplace_back(steps[steps.size() - ends].begin, steps.back().end);
  return whole;
}

// Leaves of the window's steps the blocks that are drawn, and the stretches told whole; joins the
// rest.
void joinMost(TrainerFacts& facts) {
  const auto stays = [&](const Step& step) {
    return facts.joined.drawn(step.number) ||
           std::any_of(facts.joined.whole.begin(), facts.joined.whole.end(),
                       [&](const auto& s) { return step.begin < s.second && step.end > s.first; });
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
bool cutsWarmup(const TrainerTimeline& line, const StepPlan& plan, std::size_t steps) {
  if (line.before.steps > 0) return false;
  const std::vector<StepSpan> first(plan.steps.begin(),
                                    plan.steps.begin() + static_cast<std::ptrdiff_t>(steps));
  return warmupSteps(first) == steps * 3 / 10;
}

}  // namespace

// The begin of a step that is surely over, as is whatever other ranks did until then: nothing that
// was before it is told of later.
Nanos LongRun::settled(const Trace& trace) const {
  Nanos found{};
  std::size_t most = kFewestSteps;
  for (const TrainerIdentity& who : roles_.trainers) {
    TrainerTimeline line = readTimeline(trace, who);
    if (const auto known = trainers_.find(who.process); known != trainers_.end())
      line.before = known->second.before;
    const StepPlan plan = planSteps(trace, line);
    const auto after = std::partition_point(plan.steps.begin(), plan.steps.end(), [&](auto& step) {
      return step.begin <= std::max(line.before.windowEnd, until_);
    });
    const auto latest = std::partition_point(
        after, plan.steps.end(), [&](auto& step) { return step.begin < trace.end - kLate; });
    const auto steps = static_cast<std::size_t>(
        std::min(latest - after, std::max<std::ptrdiff_t>(0, plan.steps.end() - after - 2)));
    if (steps <= most || cutsWarmup(line, plan, steps)) continue;
    most = steps, found = (after + static_cast<std::ptrdiff_t>(steps) - 1)->begin;
  }
  return found;
}

ReadSoFar LongRun::take(const Trace& trace) {
  roles_ = rolesOf(trace);
  const Nanos end = settled(trace);
  if (end <= until_) return {};
  const StackLabels labels(trace, rules_);
  ReadSoFar read{end, {}};
  for (const TrainerIdentity& who : roles_.trainers) {
    addPart(trace, who, &labels, end);
    Known& known = trainers_[who.process];
    bound(trace, known);
    const Whole& whole = known.facts.joined.whole;
    read.whole.insert(read.whole.end(), whole.begin(), whole.end());
  }
  until_ = end;
  return read;
}

ReadSoFar LongRun::takeRoles(const Trace& trace) {
  roles_ = rolesOf(trace);
  until_ = trace.end;
  return {until_, {}};
}

void LongRun::addPart(const Trace& trace, TrainerIdentity who, const StackLabels* labels,
                      Nanos end) {
  Known& known = trainers_[who.process];
  TrainerFacts part = attributePart(trace, who, labels, known.before, end);
  if (known.facts.steps.empty())
    known.facts = std::move(part);
  else if (!part.steps.empty())
    join(trace, known.facts, std::move(part));
}

void LongRun::bound(const Trace& trace, Known& known) const {
  TrainerFacts& facts = known.facts;
  facts.joined.whole = toldWhole(trace, facts);
  joinMost(facts);
  for (; facts.steps.size() > most_ && facts.joined.every < kFewestBlocks; joinMost(facts))
    facts.joined.every *= 2;
}

Roles LongRun::rolesOf(const Trace& trace) const {
  Roles roles = findRoles(trace);
  const auto keep = [](std::vector<Role>& now, const std::vector<Role>& before) {
    for (std::size_t i = 0; i < std::min(now.size(), before.size()); ++i)
      if (now[i] == Role::kHelper) now[i] = before[i];
  };
  keep(roles.processes, roles_.processes), keep(roles.threads, roles_.threads);
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

TrainerFacts LongRun::factsOf(const Trace& trace, TrainerIdentity who, const StackLabels* labels) {
  addPart(trace, who, labels, Nanos::max());
  Known& known = trainers_[who.process];
  if (known.facts.steps.empty()) return {};
  bound(trace, known);
  measureAnew(trace, known.facts);
  return std::move(known.facts);
}

}  // namespace stallprof
