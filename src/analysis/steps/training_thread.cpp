// SPDX-License-Identifier: MIT
#include "analysis/steps/training_thread.h"

#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/facts/stack_samples.h"
#include "classify/own_rules.h"

namespace stallprof {
namespace {

constexpr double kMinUpdating = 0.10;  // of a thread's samples: less may be one odd call
constexpr double kMinOfMain = 0.01;    // likewise, of a main thread
constexpr double kMostlyJoins = 0.50;
constexpr std::string_view kWorkerLoop = "_worker_loop";  // torch/utils/data/_utils/worker.py

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

// Which stacks lie in the loop of a loader's worker. A caller's id is smaller than its callee's.
std::vector<bool> workerLoops(const Trace& trace) {
  std::vector<bool> inLoop;
  inLoop.reserve(trace.stacks.size());
  for (const auto& row : trace.stacks) {
    const StackId caller = row.data.caller;
    const bool below = !caller.none() && caller.value <= inLoop.size() && inLoop[caller.value - 1];
    inLoop.push_back(below || trace.text(row.data.function) == kWorkerLoop);
  }
  return inLoop;
}

// Of the main threads that update a model, or else run one, or else of all, the one with most
// samples. A launcher of ranks has as many as they, and a loader's worker may have more.
ThreadId busiestMainThread(const Trace& trace, const StackLabels& labels) {
  const std::vector<bool> inLoop = workerLoops(trace);
  ThreadId best;
  std::tuple<bool, bool, double> maximum{false, false, 0};
  for (const ThreadLife& thread : trace.threads) {
    if (thread.tid == 0 || thread.tid != trace.process(thread.process).pid) continue;
    double samples = 0, working = 0, updating = 0, model = 0;
    for (const auto& row : thread.stacks) {
      const StackId stack = row.data.stack;
      samples += row.data.samples;
      if (stack.none() || stack.value > inLoop.size()) continue;
      if (inLoop[stack.value - 1]) working += row.data.samples;
      const StackLabel& label = labels.of(stack, Side::kTrainer);
      if (!label.update.none()) updating += row.data.samples;
      if (label.rule && namesModel(*label.rule)) model += row.data.samples;
    }
    const std::tuple rank{updating > kMinOfMain * samples, model > kMinOfMain * samples, samples};
    if (working > samples / 2 || rank <= maximum) continue;
    maximum = rank;
    best = thread.id;
  }
  return best;
}

}  // namespace

ThreadId trainingThread(const Trace& trace, const StackLabels& labels) {
  const ThreadId main = busiestMainThread(trace, labels);
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
