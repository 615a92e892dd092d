// SPDX-License-Identifier: MIT
#include "analysis/steps/loops/exact_loops.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/facts/source_lines.h"
#include "analysis/facts/stack_samples.h"

namespace stallprof {
namespace {

constexpr double kMuchWork = 0.5;     // of the thread's
constexpr double kNearly = 0.90;      // of a loop's turns, and of its time
constexpr double kLittleMore = 0.10;  // outside of a loop, of what is in one around it
constexpr double kSomeMarks = 0.03;   // seconds of samples: fewer may be one odd call
constexpr double kAsLong = 0.50;      // of the time of a loop beside it
constexpr std::size_t kManyTurns = 100;
// Turns that the hook has summed are taken as equal, up to as many altogether.
constexpr std::size_t kMaxTurns = 1u << 22;

struct ExactLoop {
  StringId file;
  std::uint32_t line = 0, last = 0;
  std::vector<const Timed<LoopTurns>*> rows;
  std::size_t turns = 0;
  StackId place;             // a frame of its function, at the first of its lines that was seen
  std::vector<bool> inside;  // of each stack, index = StackId - 1
  double seconds = 0, work = 0, data = 0, updates = 0;  // in it; of that by what rules know
  std::map<const ExactLoop*, double> shared;            // seconds in both

  [[nodiscard]] bool holds(StackId stack) const {
    return !stack.none() && stack.value <= inside.size() && inside[stack.value - 1];
  }
  [[nodiscard]] Nanos begin() const { return rows.front()->at; }
  [[nodiscard]] Nanos end() const { return rows.back()->end(); }
};

std::vector<ExactLoop> loopsOf(const Trace& trace, ThreadId thread) {
  std::map<std::tuple<StringId, std::uint32_t, std::uint32_t>, ExactLoop> known;
  for (const Timed<LoopTurns>& row : trace.turns) {
    const LoopTurns& t = row.data;
    if (t.thread != thread || t.turns == 0 || t.duration <= Nanos{}) continue;
    ExactLoop& loop = known[{t.file, t.line, t.last}];
    loop.file = t.file;
    loop.line = t.line;
    loop.last = t.last;
    loop.turns += t.turns;
    loop.rows.push_back(&row);
  }
  std::vector<ExactLoop> loops;
  for (auto& [key, loop] : known)
    if (loop.turns >= kMinInferred) loops.push_back(std::move(loop));
  return loops;
}

// A caller's id is smaller than its callee's, so that it is marked already.
void markStacks(const Trace& trace, ExactLoop& loop) {
  loop.inside.resize(trace.stacks.size());
  std::uint32_t top = 0;
  for (std::size_t i = 0; i < loop.inside.size(); ++i) {
    const StackSeen& seen = trace.stacks[i].data;
    const bool own = seen.file == loop.file && seen.line >= loop.line && seen.line <= loop.last;
    loop.inside[i] = own || (!seen.caller.none() && seen.caller.value <= i &&
                             loop.inside[seen.caller.value - 1]);
    if (!own || (!loop.place.none() && seen.line >= top)) continue;
    loop.place = seen.stack;
    top = seen.line;
  }
}

// What a framework does, in seconds, and of that what updates a model.
struct Work {
  double all = 0, updates = 0;
};

// Fills in what each holds while the model works; returns what all of the thread does.
Work weighLoops(const Trace& trace, const StackLabels& labels, const ThreadLife& thread,
                const Interval& work, std::vector<ExactLoop>& loops) {
  const Interval when = intersect({trace.begin, trace.end}, work);
  Work sum;
  eachSample(trace, thread, when.begin, when.end, [&](const Sample& sample) {
    const StackId stack = sample.stack->stack;
    const double weight = seconds(sample.weight);
    const StackLabel& label = labels.of(stack, Side::kTrainer);
    const bool works = label.rule && namesWork(*label.rule);
    const bool makes =
        label.rule && !label.rule->work &&
        (label.rule->phase == Phase::kExtract || label.rule->phase == Phase::kTransform);
    const bool updates = !label.update.none();
    if (works) sum.all += weight;
    if (updates) sum.updates += weight;
    for (ExactLoop& loop : loops) {
      if (!loop.holds(stack)) continue;
      loop.seconds += weight;
      if (works) loop.work += weight;
      if (makes) loop.data += weight;
      if (updates) loop.updates += weight;
      for (const ExactLoop& other : loops)
        if (other.holds(stack)) loop.shared[&other] += weight;
    }
  });
  return sum;
}

// Those among which the step's loop is, by time. `seconds`: of all samples.
std::vector<const ExactLoop*> candidatesOf(const std::vector<ExactLoop>& loops, const Work& work,
                                           double seconds) {
  std::vector<const ExactLoop*> fit;
  for (const ExactLoop& loop : loops)
    if (loop.seconds >= kMinTime * seconds && !loop.place.none() &&
        (work.updates > 0 ? loop.updates > 0 : loop.work >= kMuchWork * work.all))
      fit.push_back(&loop);
  std::stable_sort(fit.begin(), fit.end(),
                   [](const auto* a, const auto* b) { return a->seconds > b->seconds; });
  return fit;
}

double sharedBy(const ExactLoop& a, const ExactLoop& b) {
  const auto both = a.shared.find(&b);
  return both == a.shared.end() ? 0 : both->second;
}

// A generator's loop turns once for each turn of the loop that it feeds, and inside it: of the two
// that one is the step's. `fit` begins with the longest.
std::vector<const ExactLoop*> withoutFeeders(const std::vector<const ExactLoop*>& fit) {
  const auto feeds = [](const ExactLoop& inner, const ExactLoop& outer) {
    const auto [fewer, more] = std::minmax(inner.turns, outer.turns);
    return static_cast<double>(fewer) >= kNearly * static_cast<double>(more) &&
           sharedBy(inner, outer) >= kNearly * inner.seconds;
  };
  std::vector<const ExactLoop*> kept;
  for (const ExactLoop* loop : fit)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const ExactLoop* outer) { return feeds(*loop, *outer); }))
      kept.push_back(loop);
  return kept;
}

// The innermost that holds what a step holds; null: it is not known which.
const ExactLoop* chooseFrom(const std::vector<const ExactLoop*>& fit) {
  const ExactLoop& outer = *fit.front();
  if (fit.size() == 1) return &outer;
  const bool updated = outer.updates > 0;
  const auto marks = [&](const ExactLoop& loop) { return updated ? loop.updates : loop.data; };
  if (marks(outer) < kSomeMarks) return nullptr;
  const ExactLoop* best = nullptr;
  for (const ExactLoop* loop : fit) {
    const double both = loop == &outer ? outer.seconds : sharedBy(outer, *loop);
    if (both <= 0 && loop->seconds >= kAsLong * outer.seconds) return nullptr;
    const bool whole = updated || both >= (1 - kLittleMore) * outer.seconds;
    if (whole && both > 0 && marks(*loop) >= (1 - kLittleMore) * marks(outer) &&
        (!best || loop->turns > best->turns))
      best = loop;
  }
  return best;
}

std::vector<Interval> iterationsOf(const ExactLoop& loop) {
  std::vector<Interval> iterations;
  Nanos from = Nanos::min();
  for (const Timed<LoopTurns>* row : loop.rows) {
    const Nanos begin = std::max(row->at, from);
    const std::size_t room = kMaxTurns - std::min(kMaxTurns, iterations.size());
    const auto parts = static_cast<Nanos::rep>(room > row->data.turns ? row->data.turns : 1);
    for (Nanos::rep i = 0; i < parts; ++i)
      if (const Interval turn{begin + (row->end() - begin) * i / parts,
                              begin + (row->end() - begin) * (i + 1) / parts};
          turn.end > turn.begin)
        iterations.push_back(turn);
    from = std::max(from, row->end());
  }
  return iterations;
}

}  // namespace

InferredSteps stepsOfTurns(const Trace& trace, const StackLabels& labels, TrainerIdentity who,
                           const Recurrences& all) {
  InferredSteps steps;
  steps.who = who;
  std::vector<ExactLoop> loops = loopsOf(trace, who.thread);
  for (ExactLoop& loop : loops) markStacks(trace, loop);
  const Work work = weighLoops(trace, labels, trace.thread(who.thread), all.work, loops);
  const std::vector<const ExactLoop*> fit = withoutFeeders(candidatesOf(loops, work, all.seconds));
  if (fit.empty()) return steps;
  const ExactLoop* const chosen = chooseFrom(fit);
  // Its first line, which samples need not have seen: it alone distinguishes nested loops.
  const auto name = [&](const ExactLoop& loop) {
    SourceLine line = lineOf(trace, loop.place);
    line.line = loop.line;
    return nameOf(line);
  };
  if (!chosen) {
    steps.why = "more than one loop may be the training loop: at " + name(*fit[0]) + " and at " +
                name(*fit[1]) +
                "; a rule with `update = true` for the function that updates the model (--rules) "
                "shows which";
    return steps;
  }
  const ExactLoop& best = *chosen;
  steps.iterations = iterationsOf(best);
  steps.line = best.place;
  steps.sure = (best.updates > 0 || best.work > 0) && best.turns >= kManyTurns;
  steps.why =
      "one is an iteration of the loop at " + name(best) + ", each timed by the interpreter";
  return steps;
}

}  // namespace stallprof
