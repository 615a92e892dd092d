// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include "analysis/describe/resources.h"
#include "analysis/facts/observed.h"
#include "analysis/facts/usage.h"

namespace stallprof {
namespace {

// The job's CPU and the host's are sampled once a second, at other instants: over less than two
// seconds the difference comes from when the samples were, not from who used the CPU.
constexpr Nanos kMinForCpu = std::chrono::seconds(2);
constexpr double kChanged = 0.1;  // of the most cores: what is less is no other limit

// The counter of the last row until `at`, as it was read then; 0: none.
double readUntil(const Table<ProcessUsage>& rows, Nanos at) {
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), at,
                       [](Nanos t, const Timed<ProcessUsage>& row) { return t < row.at; });
  for (auto row = after; row != rows.begin();)
    if ((--row)->data.cpu >= Nanos{}) return static_cast<double>(row->data.cpu.count());
  return 0;
}

// The same of a process, and what `used` takes it to have used from then until its end.
double countedUntil(const ProcessLife& process, Nanos at) {
  const double read = readUntil(process.usage, at);
  if (process.gone > at) return read;
  return std::max(read, usedInLife(process, &ProcessUsage::cpu).value_or(0));
}

// CPU of processes that came and went between two samples: the host row's sum has it, by their
// parents' counters, and no process's own row. A row's sum is of the samples before it. A run's
// start may have none of it, and its epochs all.
double unseenCpu(const Trace& trace, const Interval& within) {
  const auto unseenAt = [&](const Timed<HostUsage>& row, Nanos at) {
    auto unseen = static_cast<double>(row.data.jobCpu.count());
    for (const ProcessLife& process : trace.processes) unseen -= countedUntil(process, at);
    return unseen;
  };
  const Timed<HostUsage>*first = nullptr, *last = nullptr, *final = nullptr;
  for (const auto& row : trace.host) {
    if (row.data.jobCpu < Nanos{}) continue;
    if (first == nullptr || row.at <= within.begin) first = &row;
    if (last == nullptr || row.at <= within.end) last = &row;
    final = &row;
  }
  if (first == last) return 0;
  // No more than of the whole run: rows that were thinned out are not of the same samples.
  const double all = std::max(0.0, unseenAt(*final, Nanos::max()));
  const double unseen = unseenAt(*last, last->at) - unseenAt(*first, first->at);
  return std::clamp(unseen, 0.0, all) * seconds(within.length()) / seconds(last->at - first->at);
}

// The host row's sum is as old as the last sample of each process, up to two seconds: a window is
// measured at the processes' own rows.
Maybe<double> jobCpu(const Trace& trace, const Interval& within) {
  Maybe<double> seen;
  for (const ProcessLife& process : trace.processes)
    if (const auto one = used(process, &ProcessUsage::cpu, within)) seen = seen.value_or(0) + *one;
  if (!seen) return growth(trace.host, &HostUsage::jobCpu, within);
  return *seen + unseenCpu(trace, within);
}

// Of the making of batches, as far as it lies in the interval.
double makingCpu(const TrainerFacts& trainer, const Interval& within) {
  auto sum = static_cast<double>(trainer.joined.makingCpu.count());
  for (const BatchWork& w : trainer.works) {
    const Nanos inside = overlap({w.begin, w.end}, within);
    if (inside > Nanos{} && w.worker >= 0)
      sum += static_cast<double>(w.cpu.count()) * (seconds(inside) / seconds(w.end - w.begin));
  }
  return sum;
}

// Of workers until they ask for their first task: the model has it as time of an epoch's start.
double startingCpu(const Trace& trace, const TrainerFacts& trainer, const Interval& within) {
  std::set<ProcessId> ours;
  for (const WorkerFacts& worker : trainer.workers) ours.insert(worker.process);
  double sum = 0;
  for (const auto& row : trace.workers) {
    const ProcessLife& process = trace.process(trace.thread(row.data.thread).process);
    const Interval start = {within.begin, std::min(within.end, row.at)};
    if (start.begin < start.end && ours.count(process.id) != 0)
      sum += used(process, &ProcessUsage::cpu, start).value_or(0);
  }
  return sum;
}

// Programs below the processes that make batches: the workers, or the trainer without any.
double childrensCpu(const Trace& trace, const TrainerFacts& trainer, const Interval& within) {
  std::set<ProcessId> makers, workers;
  for (const auto& row : trace.workers) workers.insert(trace.thread(row.data.thread).process);
  for (const WorkerFacts& worker : trainer.workers) makers.insert(worker.process);
  if (makers.empty()) makers.insert(trainer.process);
  // What workers of other loaders started is theirs.
  const auto known = [&](ProcessId id) { return makers.count(id) != 0 || workers.count(id) != 0; };
  const auto below = [&](ProcessId id) {
    return workers.count(id) == 0 && makers.count(firstAbove(trace, id, known)) != 0;
  };
  bool any = false;
  double sum = 0;
  for (const ProcessLife& process : trace.processes) {
    if (makers.count(process.id) != 0 || !below(process.id)) continue;
    any = true;
    sum += used(process, &ProcessUsage::cpu, within).value_or(0);
  }
  return any ? sum + unseenCpu(trace, within) : 0;
}

// The quota by the last row until `at`, or the first, in cores; null: none then.
Maybe<double> quotaAt(const Trace& trace, Nanos at) {
  auto row = std::upper_bound(
      trace.cgroups.begin(), trace.cgroups.end(), at,
      [](Nanos t, const Timed<CgroupUsage>& candidate) { return t < candidate.at; });
  if (row != trace.cgroups.begin()) --row;
  if (row == trace.cgroups.end() || row->data.cpuQuotaMilli <= 0) return std::nullopt;
  return static_cast<double>(row->data.cpuQuotaMilli) / 1000;
}

// Two hardware threads of a core do so many times what one does: up to 1.3 in Intel's own
// measurements of server programs (Intel Technology Journal 6(1), 2002, page 11).
constexpr double kTwoThreads = 1.25;
constexpr double kMaxCores = 65536;  // more than any host has; a damaged recording may claim more

// Of all threads of the job; null where the kernel does not count it.
Maybe<double> queuedIn(const Trace& trace, const Interval& within) {
  const bool counted =
      std::any_of(trace.sources.begin(), trace.sources.end(), [&](const auto& row) {
        return trace.text(row.data.source) == "thread_state" && row.data.state == Coverage::kFull;
      });
  if (!counted) return std::nullopt;
  double queued = 0;
  for (const ThreadLife& thread : trace.threads)
    queued += static_cast<double>(observe(thread, within).queued.count());
  return queued;
}

struct Cores {
  double usable = 0, allowed = 0;   // means of the window
  double minimum = 0, maximum = 0;  // usable
};

// Null: an older recording has only what the manifest says of its start.
Maybe<Cores> coresIn(const Trace& trace, const Interval& within) {
  Cores cores;
  double rows = 0;
  const auto add = [&](const Timed<HostUsage>& row) {
    const auto allowed = static_cast<double>(row.data.allowedCpus);
    const double usable = std::min(allowed, quotaAt(trace, row.at).value_or(allowed));
    cores.minimum = rows == 0 ? usable : std::min(cores.minimum, usable);
    cores.maximum = std::max(cores.maximum, usable);
    cores.usable += usable;
    cores.allowed += allowed;
    ++rows;
  };
  const Timed<HostUsage>* before = nullptr;
  for (const auto& row : trace.host) {
    if (row.data.allowedCpus <= 0) continue;
    if (row.at >= within.begin && row.at <= within.end) add(row);
    if (row.at < within.begin || before == nullptr) before = &row;
  }
  if (rows == 0 && before != nullptr) add(*before);
  if (rows == 0) return std::nullopt;
  cores.usable /= rows;
  cores.allowed /= rows;
  return cores;
}

// Who used the cores, in nanoseconds of CPU of the window. CPUs that the job may run on beyond its
// quota are nobody's loss: others take from the job only what they use of the rest.
void measureOthers(const Trace& trace, const Interval& within, const Cores& cores, double job,
                   RunFacts& run) {
  const double time = seconds(within.length()) * 1e9;
  const Maybe<double> busy = growth(trace.host, &HostUsage::allowedBusy, within);
  if (!busy) return;
  const double ours = growth(trace.recorder, &RecorderUsage::cpu, within).value_or(0);
  const double siblings = growth(trace.host, &HostUsage::siblingCpu, within).value_or(0);
  const double others = std::max(0.0, *busy - job - ours - siblings);
  const double spare = (cores.allowed - cores.usable) * time;
  run.externalCpuRatio = per(std::max(0.0, others - spare), cores.usable * time);
  for (const auto& row : trace.host)
    if (row.at >= within.begin && row.at <= within.end)
      run.siblings = std::max(run.siblings, row.data.siblings);
  if (run.siblings > 0)
    run.siblingCpuRatio =
        per(std::min(siblings, std::max(0.0, others + siblings - spare)), cores.usable * time);
  run.stealRatio = per(growth(trace.host, &HostUsage::allowedSteal, within), cores.allowed * time);
  run.besideBusyRatio =
      per(growth(trace.host, &HostUsage::besideBusy, within), cores.allowed * time);
}

// Recordings that know nothing of the allowed CPUs: what others used of the whole host is what they
// used of the job's only where the job could use all of it.
void measureOthersOfHost(const Trace& trace, const Interval& within, double job, RunFacts& run) {
  if (run.cores < trace.manifest.host.coresOnline - 0.01) return;
  const double cpus = run.cores * seconds(within.length()) * 1e9;
  const Maybe<double> busy = growth(trace.host, &HostUsage::busy, within);
  const double ours = growth(trace.recorder, &RecorderUsage::cpu, within).value_or(0);
  if (busy) run.externalCpuRatio = per(std::max(0.0, *busy - job - ours), cpus);
  run.stealRatio = per(growth(trace.host, &HostUsage::steal, within), cpus);
}

// The kernel sums throttled time over the CPUs on which tasks of the group had to stop. On each of
// these it adds up with the time they ran, so the share of both together is at most 1. Of one group
// both were read at once: that needs no long window, unlike the job's own CPU.
Maybe<double> throttledRatio(const Trace& trace, const Interval& within, Maybe<double> job) {
  const Maybe<double> stopped = growth(trace.cgroups, &CgroupUsage::throttled, within);
  // The group may hold more than the job; where it was not one group with a quota throughout, the
  // job's own CPU counts.
  const bool one = std::all_of(trace.cgroups.begin(), trace.cgroups.end(), [](const auto& row) {
    return row.data.cpu >= Nanos{} && row.data.cpuQuotaMilli > 0;
  });
  const bool enough = within.length() >= kMinForCpu;
  const Maybe<double> ran = one      ? growth(trace.cgroups, &CgroupUsage::cpu, within)
                            : enough ? job
                                     : std::nullopt;
  if (!stopped || !ran) return std::nullopt;
  return *stopped > 0 ? *stopped / (*stopped + *ran) : 0;
}

// One for each process and worker, and for a worker more than each loader has.
double coresOfImport(const Trace& trace) {
  double cores = static_cast<double>(trace.processes.size());
  for (const auto& row : trace.loaders) cores += row.data.workers + 1;
  return std::max(1.0, cores);
}

}  // namespace

void measureCpu(const Trace& trace, const TrainerFacts& trainer, RunFacts& run) {
  const Interval within = trainer.windowInterval();
  const auto& host = trace.manifest.host;
  run.cores = host.coresUsable > 0 ? host.coresUsable : std::max(1, host.coresOnline);
  // Of an import nothing says how many there were: no core is shared by what it shows.
  if (host.coresOnline == 0 && trace.manifest.imported()) run.cores = coresOfImport(trace);
  const Maybe<Cores> cores = coresIn(trace, within);
  if (cores) {
    run.cores = cores->usable;
    run.coresAllowed = std::min(cores->allowed, kMaxCores);
  }
  run.cores = std::min(run.cores, kMaxCores);
  if (cores && !trace.host.empty())
    if (const auto last = static_cast<double>(trace.host.back().data.allowedCores);
        last > 0 && kTwoThreads * last < run.cores)
      run.coresAsOne = kTwoThreads * last;
  if (cores && cores->minimum < (1 - kChanged) * cores->maximum)
    run.coresRange = std::pair(cores->minimum, cores->maximum);
  const double cpus = run.cores * seconds(trainer.window()) * 1e9;
  const Maybe<double> job = jobCpu(trace, within);
  if (job && !trainer.steps.empty()) {
    const double children = childrensCpu(trace, trainer, within);
    const double ours = static_cast<double>(trainer.processCpu.count()) +
                        makingCpu(trainer, within) + startingCpu(trace, trainer, within);
    run.childCpu = children * 1e-9;
    run.besideCpuRatio = per(std::max(0.0, *job - ours - children), cpus);
  }
  run.throttledRatio = throttledRatio(trace, within, job);
  if (within.length() < kMinForCpu) return;
  run.jobCpuRatio = per(job, cpus);
  if (const auto queued = queuedIn(trace, within)) run.queuedRatio = per(queued, cpus);
  if (job && cores) measureOthers(trace, within, *cores, *job, run);
  if (job && !cores) measureOthersOfHost(trace, within, *job, run);
}

}  // namespace stallprof
