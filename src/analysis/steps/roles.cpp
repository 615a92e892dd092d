// SPDX-License-Identifier: MIT
#include "analysis/steps/roles.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace stallprof {
namespace {

// Names PyTorch 2.x gives its own (torch/utils/data/_utils/worker.py, pin_memory.py).
constexpr std::string_view kWorkerName = "pt_data_worker";

bool mainThread(const Trace& trace, ThreadId id) {
  const ThreadLife& thread = trace.thread(id);
  return thread.tid != 0 && thread.tid == trace.process(thread.process).pid;
}

std::vector<bool> findWorkers(const Trace& trace) {
  std::vector<bool> worker(trace.processes.size());
  const auto mark = [&](ProcessId id) {
    if (!id.none() && id.value <= worker.size()) worker[id.value - 1] = true;
  };
  for (const auto& row : trace.workers) mark(trace.thread(row.data.thread).process);
  for (const auto& row : trace.tasks) mark(trace.thread(row.data.thread).process);
  for (const ProcessLife& process : trace.processes)
    if (trace.text(process.comm).starts_with(kWorkerName)) mark(process.id);
  for (const ThreadLife& thread : trace.threads)
    if (trace.text(thread.name).starts_with(kWorkerName) && mainThread(trace, thread.id))
      mark(thread.process);
  return worker;
}

// How often each thread did something, and of which thread of its process that is most.
class BatchProducers {
 public:
  BatchProducers(const Trace& trace, const std::vector<bool>& workers)
      : trace_(trace), workers_(workers) {}
  void count(ThreadId thread) {
    const ProcessId process = trace_.thread(thread).process;
    if (process.none() || process.value > workers_.size() || workers_[process.value - 1]) return;
    ++times_[process][thread];
  }
  [[nodiscard]] std::vector<TrainerIdentity> busiest() const {
    std::vector<TrainerIdentity> found;
    for (const auto& [process, threads] : times_) {
      // Of two as busy the main thread steps; a background thread only fetches ahead.
      const auto maximum = std::max_element(threads.begin(), threads.end(), [&](auto& a, auto& b) {
        return std::tuple(a.second, mainThread(trace_, a.first), b.first) <
               std::tuple(b.second, mainThread(trace_, b.first), a.first);
      });
      found.push_back({process, maximum->first});
    }
    return found;
  }

 private:
  const Trace& trace_;
  const std::vector<bool>& workers_;
  std::map<ProcessId, std::map<ThreadId, std::uint64_t>> times_;
};

// A process that annotates its steps is a trainer; the annotations decide on the thread, unless
// only a range's name says so where the hook knows better. With no steps at all, phases do.
void addAnnotated(const Trace& trace, const std::vector<bool>& workers,
                  std::vector<TrainerIdentity>& found) {
  BatchProducers sure(trace, workers), named(trace, workers), phases(trace, workers);
  for (const auto& row : trace.steps)
    (row.data.source == SpanSource::kMark || row.data.mapped ? sure : named).count(row.data.thread);
  const auto at = [&](ProcessId process) {
    return std::find_if(found.begin(), found.end(),
                        [&](const TrainerIdentity& t) { return t.process == process; });
  };
  for (const TrainerIdentity& t : sure.busiest())
    if (const auto known = at(t.process); known != found.end())
      known->thread = t.thread;
    else
      found.push_back(t);
  for (const TrainerIdentity& t : named.busiest())
    if (at(t.process) == found.end()) found.push_back(t);
  if (found.empty()) {
    for (const auto& row : trace.spans)
      if (row.data.source != SpanSource::kHook && row.data.phase == Phase::kCompute)
        phases.count(row.data.thread);
    found = phases.busiest();
  }
  std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.process < b.process; });
}

std::vector<TrainerIdentity> findTrainers(const Trace& trace, const std::vector<bool>& workers) {
  BatchProducers steppers(trace, workers), fetchers(trace, workers);
  for (const auto& row : trace.optimizerSteps) steppers.count(row.data.thread);
  for (const auto& row : trace.fetches)
    if (!row.data.end) fetchers.count(row.data.thread);
  std::vector<TrainerIdentity> found = steppers.busiest();
  if (found.empty()) found = fetchers.busiest();
  addAnnotated(trace, workers, found);
  return found;
}

// The queue's feeder starts at the first put, when the first batch is ready. Threads of a decoder's
// pool start within the first fetch, so of those first seen together the feeder is the youngest.
ThreadId findFeeder(const Trace& trace, const ProcessLife& worker, Nanos firstBatch) {
  const ThreadLife* best = nullptr;
  const auto distance = [&](const ThreadLife& t) {
    return t.seen < firstBatch ? firstBatch - t.seen : t.seen - firstBatch;
  };
  for (const ThreadId id : worker.threads) {
    const ThreadLife& thread = trace.thread(id);
    if (thread.tid == worker.pid) continue;
    if (!best || std::pair(distance(thread), best->tid) < std::pair(distance(*best), thread.tid))
      best = &thread;
  }
  return best ? best->id : ThreadId{};
}

}  // namespace

Roles findRoles(const Trace& trace) {
  Roles roles;
  roles.processes.assign(trace.processes.size(), Role::kHelper);
  roles.threads.assign(trace.threads.size(), Role::kHelper);
  const std::vector<bool> workers = findWorkers(trace);
  for (std::size_t i = 0; i < workers.size(); ++i)
    if (workers[i]) roles.processes[i] = Role::kWorker;
  roles.trainers = findTrainers(trace, workers);
  for (const TrainerIdentity& t : roles.trainers) {
    roles.processes[t.process.value - 1] = Role::kTrainer;
    roles.threads[t.thread.value - 1] = Role::kTrainer;
  }
  std::unordered_map<ProcessId, Nanos> firstBatch;
  for (const auto& row : trace.tasks) {
    const ThreadId thread = row.data.thread;
    if (thread.none() || thread.value > roles.threads.size()) continue;  // a damaged id
    roles.threads[thread.value - 1] = Role::kWorker;
    firstBatch.try_emplace(trace.thread(thread).process, row.at + row.data.fetchEnd);
  }
  for (const auto& [process, at] : firstBatch) {
    const ThreadId feeder = findFeeder(trace, trace.process(process), at);
    if (!feeder.none()) roles.threads[feeder.value - 1] = Role::kFeeder;
  }
  for (const ThreadLife& thread : trace.threads) {
    Role& role = roles.threads[thread.id.value - 1];
    if (role != Role::kHelper) continue;
    if (pinsBatches(trace, thread)) role = Role::kPin;
    if (roles.of(thread.process) == Role::kWorker && mainThread(trace, thread.id))
      role = Role::kWorker;
  }
  return roles;
}

bool pinsBatches(const Trace& trace, const ThreadLife& thread) {
  return trace.text(thread.name).starts_with("pt_data_pin");
}

}  // namespace stallprof
