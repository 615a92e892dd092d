// SPDX-License-Identifier: MIT
#include "analysis/steps/loops/inferred_steps.h"

#include <algorithm>

#include "analysis/facts/source_lines.h"
#include "analysis/steps/loops/exact_loops.h"
#include "analysis/steps/loops/recurrence.h"
#include "analysis/steps/training_thread.h"

namespace stallprof {
namespace {

constexpr std::size_t kUpdatesOfStep = 2;  // of a model in one step: a GAN has two
constexpr double kFewIterations = 0.20;    // of all: those that samples cut or joined
constexpr double kSameCount = 0.10;        // one loop, seen from two functions
constexpr double kFaster =
    3;  // lines that come back so often in an iteration are a loop of their own
constexpr double kRival = 0.25, kBeside = 0.50;  // of a loop's time
constexpr std::size_t kManyIterations = 100;     // as many as high confidence asks of steps
constexpr double kVeryEven = 0.95;

struct Candidate {
  const Recurrence* in = nullptr;
  const Loop* loop = nullptr;
  [[nodiscard]] double count() const { return static_cast<double>(loop->iterations.size()); }
  [[nodiscard]] double time() const { return seconds(loop->time); }
  [[nodiscard]] Nanos begin() const { return loop->iterations.front().begin; }
  [[nodiscard]] Nanos end() const { return loop->iterations.back().end; }
};

bool sameCount(const Candidate& a, const Candidate& b) {
  return std::min(a.count(), b.count()) >= (1 - kSameCount) * std::max(a.count(), b.count());
}

class Chooser {
 public:
  Chooser(const Trace& trace, const StackLabels& labels, const Recurrences& all)
      : trace_(trace), labels_(labels), all_(all) {
    for (const Recurrence& in : all.functions)
      for (const Loop& loop : in.loops) loops_.push_back({&in, &loop});
  }

  // The loop of the steps, or the reason that none is.
  Candidate choose(std::string& why) const {
    return all_.updates.size() >= kMinIterations ? aroundUpdates(why) : onlyOne(why);
  }

 private:
  [[nodiscard]] bool fits(const Candidate& c) const {
    return c.loop->iterations.size() >= kMinInferred && c.time() >= kMinTime * all_.seconds;
  }

  // Few iterations have more than kUpdatesOfStep updates, and not few have at least one: a short
  // update falls between samples.
  [[nodiscard]] bool updatesOnce(const Candidate& c) const {
    if (!c.in->updates) return false;
    double some = 0, many = 0;
    for (const Interval& iteration : c.loop->iterations) {
      const auto first =
          std::lower_bound(all_.updates.begin(), all_.updates.end(), iteration.begin);
      const auto last = std::lower_bound(first, all_.updates.end(), iteration.end);
      some += last != first;
      many += static_cast<std::size_t>(last - first) > kUpdatesOfStep;
    }
    return some >= kFewIterations * c.count() && many <= kFewIterations * c.count();
  }

  Candidate aroundUpdates(std::string& why) const {
    Candidate best;
    for (const Candidate& c : loops_)
      if (fits(c) && updatesOnce(c) &&
          (!best.loop || (c.count() > best.count() && !sameCount(c, best))))
        best = c;
    if (best.loop && std::none_of(all_.functions.begin(), all_.functions.end(), [&](auto& f) {
          return f.updates && static_cast<double>(f.returns) > kFaster * best.count();
        }))
      return best;
    why =
        "the calls that update a model are too fast or too uneven for stack samples to count; a "
        "higher sampling rate (--hz) may help";
    return {};
  }

  Candidate onlyOne(std::string& why) const {
    Candidate best;
    for (const Candidate& c : loops_)
      if (fits(c) && (!best.loop || c.time() > best.time())) best = c;
    if (!best.loop) {
      why =
          "no line of the main thread recurs evenly, often and slowly enough to be detected in "
          "stack samples";
      return {};
    }
    // The same loop may be seen from a wrapper's frames too.
    for (const Candidate& c : loops_)
      if (fits(c) && overlap(c, best) && sameCount(c, best) && c.in->depth < best.in->depth)
        best = c;
    for (const Candidate& c : loops_)
      if (rivals(c, best)) return ambiguous(best, c.loop->anchor, why);
    for (const Recurrence& f : all_.functions)
      if (loopsFaster(f, best)) return ambiguous(best, f.place, why);
    return best;
  }

  static bool overlap(const Candidate& a, const Candidate& b) {
    return a.begin() < b.end() && b.begin() < a.end();
  }

  static bool rivals(const Candidate& c, const Candidate& best) {
    if (c.loop == best.loop) return false;
    if (!overlap(c, best)) return c.time() >= kBeside * best.time();
    return !sameCount(c, best) && c.time() >= kRival * best.time();
  }

  // Its lines come back faster than the loop's, be it too fast to be counted. What rules know to
  // make data, or to be arrays' own, is inside a step.
  [[nodiscard]] bool loopsFaster(const Recurrence& f, const Candidate& best) const {
    if (static_cast<double>(f.returns) <= kFaster * best.count()) return false;
    const PhaseRule* rule = labels_.of(f.place, Side::kTrainer).rule;
    return f.seconds >= kRival * best.time() &&
           (!rule || (!rule->work && rule->phase == Phase::kCompute));
  }

  Candidate ambiguous(const Candidate& best, StackId other, std::string& why) const {
    why = "more than one loop may be the training loop: at " +
          nameOf(lineOf(trace_, best.loop->anchor)) + " and at " + nameOf(lineOf(trace_, other)) +
          "; a rule with `update = true` for the function that updates the model (--rules) shows "
          "which";
    return {};
  }

  const Trace& trace_;
  const StackLabels& labels_;
  const Recurrences& all_;
  std::vector<Candidate> loops_;
};

}  // namespace

InferredSteps inferSteps(const Trace& trace, const StackLabels& labels, const Roles& roles) {
  InferredSteps steps;
  steps.who.thread = trainingThread(trace, labels);
  steps.who.process = trace.thread(steps.who.thread).process;
  if (steps.who.thread.none() || roles.of(steps.who.process) == Role::kWorker) return steps;
  const Recurrences all = findRecurrences(trace, trace.thread(steps.who.thread), labels);
  if (InferredSteps exact = stepsOfTurns(trace, labels, steps.who, all);
      !exact.iterations.empty() || !exact.why.empty())
    return exact;
  const Candidate best = Chooser(trace, labels, all).choose(steps.why);
  if (!best.loop) return steps;
  steps.iterations = best.loop->iterations;
  steps.line = best.loop->anchor;
  steps.sure = !all.updates.empty() && best.loop->even >= kVeryEven &&
               best.loop->iterations.size() >= kManyIterations;
  steps.why = "inferred from the main thread's stacks: one is an iteration of the loop at " +
              nameOf(lineOf(trace, steps.line));
  return steps;
}

}  // namespace stallprof
