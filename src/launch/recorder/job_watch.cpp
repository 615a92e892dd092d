// SPDX-License-Identifier: MIT
#include "launch/recorder/job_watch.h"

#include "base/proc_numbers.h"
#include "launch/setup/capability.h"
#include "sampler/host/cgroup_sampler.h"
#include "sampler/host/host.h"
#include "sampler/nvml/nvml_sampler.h"
#include "sampler/perf/counter_sampler.h"
#include "sampler/perf/native_sampler.h"
#include "sampler/perf_rings/task_events.h"
#include "sampler/proc/syscall_count.h"
#include "sampler/processes/hook_reach.h"
#include "sampler/processes/process_sampler.h"
#include "sampler/processes/process_tree.h"
#include "sampler/python/python_sampler.h"
#include "sampler/thread_sampler.h"

namespace stallprof {
namespace {

const std::string kRoot = "/";

// 'Z' and 'X': nothing of it runs any more, its parent has just not asked yet.
bool runs(std::uint32_t pid) {
  const std::string stat = contentOf(processPath(kRoot, pid, "stat"), 4096);
  const std::size_t comm = stat.rfind(')');
  return comm != std::string::npos && comm + 2 < stat.size() && stat[comm + 2] != 'Z' &&
         stat[comm + 2] != 'X';
}

}  // namespace

struct JobWatch::Parts {
  Parts(pid_t job, const LaunchOptions& options)
      : command(job),
        tree(kRoot, job),
        threads(kRoot, tree),
        stacks(kRoot, tree),
        processes(kRoot, tree),
        hook(kRoot, tree),
        host(kRoot, &tree),
        siblings(tree, host.allowedCpus()),
        cgroup(kRoot, job, &tree),
        calls(kRoot),
        gpus(kRoot, &tree),
        natives(kRoot, tree, options.python ? &stacks : nullptr),
        loop(
            options.hz, options.budget / 100,
            PauseSchedule(PauseSchedule::shareAsked(), static_cast<std::uint64_t>(now().count()))) {
    host.follow(siblings);
    if (!procHasOurNumbers()) {
      loop.add(host);
      loop.add(counters);
      return;
    }
    // The tree first: the others follow what it found.
    for (Sampler* sampler :
         std::initializer_list<Sampler*>{&tree, &threads, &natives, &processes, &hook, &siblings,
                                         &host, &cgroup, &calls, &counters, &gpus})
      loop.add(*sampler);
    loop.setJobCpu([this] { return tree.jobCpu(); });
    if (options.python) threads.deliverSamples(stacks);
  }

  pid_t command;
  TaskEvents events;
  ProcessTree tree;
  ThreadSampler threads;
  PythonSampler stacks;
  ProcessSampler processes;
  HookReach hook;
  HostSampler host;
  SiblingRecorders siblings;
  CgroupSampler cgroup;
  SyscallCounter calls;
  NvmlSampler gpus;
  NativeSampler natives;
  CounterSampler counters;
  SamplerLoop loop;
};

JobWatch::JobWatch(pid_t command, const LaunchOptions& options, Nanos attachedAt)
    : parts_(std::make_unique<Parts>(command, options)),
      options_(options),
      attachedAt_(attachedAt) {}
JobWatch::~JobWatch() = default;

void JobWatch::open() {
  parts_->events.open(parts_->command);  // without them the tree says why, and reads /proc
  parts_->tree.follow(parts_->events);
  if (options_.native) parts_->natives.open(parts_->command);
  if (!options_.counters) return;
  parts_->calls.open(parts_->command);
  parts_->counters.open(parts_->command, counterCodes());
}

// What is inherited reaches only what is born later. Native samples open one event a thread that
// there is; task events would take as many again, so the tree reads /proc instead.
void JobWatch::openRunning() {
  parts_->tree.noneBefore(attachedAt_);
  if (options_.native) parts_->natives.open(parts_->command);
}

// What /proc shows by a number of ours is somebody else's: nothing is read there by number.
void JobWatch::armWithoutProc(EventOut& out) {
  if (options_.counters) parts_->counters.open(parts_->command, counterCodes());
  for (const char* name :
       {"process_tree", "task_events", "thread_state", "python_stacks", "native_samples", "cgroup"})
    emitSource(out, now(), name, Coverage::kAbsent, kForeignProc);
  emitSource(out, now(), "tier", Coverage::kFull, hostTier(probeHost(parts_->command)));
  loop().step(now(), out);
}

void JobWatch::arm(EventOut& out) {
  if (!procHasOurNumbers()) return armWithoutProc(out);
  if (!options_.native) parts_->natives.leaveOut("switched off with --no-native");
  attachedAt_ == Nanos(0) ? open() : openRunning();
  const Probe probe = probeHost(parts_->command);
  for (const SourceReport& source : describe(probe))
    emitSource(out, now(), source.name, source.state, source.why);
  if (!options_.python)
    emitSource(out, now(), "python_stacks", Coverage::kAbsent, "switched off with --no-python");
  emitSource(out, now(), "tier", Coverage::kFull, hostTier(probe));
  loop().step(now(), out);
}

void JobWatch::expectHook(const std::string& events, const std::string& directory) {
  parts_->hook.expect(events, directory);
}

SamplerLoop& JobWatch::loop() { return parts_->loop; }

void JobWatch::nameNative(Nanos t, EventOut& out) const { parts_->natives.namePlaces(t, out); }

EventMemory::Identities JobWatch::identities() {
  ProcessTree& tree = parts_->tree;
  return {[&tree](std::uint32_t pid, std::uint64_t start) { return tree.processOf(pid, start); },
          [&tree](ProcessId process, std::uint32_t tid) { return tree.threadOf(process, tid); },
          [&tree](std::uint32_t pid, std::uint64_t start) { return tree.gone(pid, start); }};
}

std::int64_t JobWatch::outlived() const {
  std::int64_t count = 0;
  for (const LiveProcess& process : parts_->tree.processes())
    if (process.pid != static_cast<std::uint32_t>(parts_->command) && runs(process.pid)) ++count;
  return count;
}

}  // namespace stallprof
