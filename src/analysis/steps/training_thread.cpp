// SPDX-License-Identifier: MIT
#include "analysis/steps/training_thread.h"

#include "analysis/facts/stack_samples.h"
#include "classify/own_rules.h"

namespace stallprof {
namespace {

constexpr double kMinUpdating = 0.10;  // of a thread's samples: less may be one odd call
constexpr double kMostlyJoins = 0.50;

struct Doing {
  double all = 0, running = 0, updating = 0, joining = 0;
};

Doing doingOf(const Trace& trace, const StackLabels& labels, const ThreadLife& thread) {
  Doing doing;
  eachSample(trace, thread, trace.begin, trace.end, [&](const Sample& sample) {
    const double weight = seconds(sample.weight);
    const StackLabel& label = labels.of(sample.stack->stack, Side::kTrainer);
    doing.all += weight;
    if (sample.wait == Wait::kRunning) doing.running += weight;
    if (!label.update.none()) doing.updating += weight;
    if (label.rule && label.rule->id == kJoinsThread) doing.joining += weight;
  });
  return doing;
}

ThreadId busiestMainThread(const Trace& trace) {
  ThreadId best;
  double maximum = 0;
  for (const ThreadLife& thread : trace.threads) {
    if (thread.tid == 0 || thread.tid != trace.process(thread.process).pid) continue;
    double samples = 0;
    for (const auto& row : thread.stacks) samples += row.data.samples;
    if (samples > maximum) {
      maximum = samples;
      best = thread.id;
    }
  }
  return best;
}

}  // namespace

ThreadId trainingThread(const Trace& trace, const StackLabels& labels) {
  const ThreadId main = busiestMainThread(trace);
  if (main.none()) return main;
  const Doing itself = doingOf(trace, labels, trace.thread(main));
  if (itself.updating > 0) return main;
  ThreadId updates, busiest = main;
  double maxUpdating = 0, running = itself.running;
  for (const ThreadId id : trace.process(trace.thread(main).process).threads) {
    if (id == main || trace.thread(id).stacks.empty()) continue;
    const Doing doing = doingOf(trace, labels, trace.thread(id));
    if (doing.updating > maxUpdating && doing.updating >= kMinUpdating * doing.all) {
      maxUpdating = doing.updating;
      updates = id;
    }
    if (doing.running > running) {
      running = doing.running;
      busiest = id;
    }
  }
  if (!updates.none()) return updates;
  return itself.joining > kMostlyJoins * itself.all ? busiest : main;
}

}  // namespace stallprof
