// SPDX-License-Identifier: MIT
#include "launch/setup/capability.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <type_traits>
#include <variant>

#include "base/fd.h"
#include "base/proc_numbers.h"
#include "base/text.h"
#include "event/strings.h"
#include "sampler/host/cgroup_sampler.h"
#include "sampler/host/host.h"
#include "sampler/perf_rings/task_events.h"
#include "sampler/proc/perf_event.h"
#include "sampler/proc/syscall_count.h"
#include "sampler/processes/process_sampler.h"
#include "sampler/processes/process_tree.h"
#include "sampler/thread_sampler.h"

namespace stallprof {
namespace {

// A byte of our own image: at the same address in a forked child.
const char kReadable = 'r';

int tryRead(const std::string& path) {
  const Fd file = openAt(AT_FDCWD, path.c_str(), O_RDONLY);
  if (!file.valid()) return errno;
  char byte = 0;
  return ::read(file.get(), &byte, 1) >= 0 ? 0 : errno;
}

int tryLinks(const std::string& directory) {
  char target[64];
  return ::readlink((directory + "/0").c_str(), target, sizeof target) >= 0 || errno == ENOENT
             ? 0
             : errno;
}

int tryProcessMemory(pid_t pid) {
  char byte = 0;
  iovec here{&byte, 1}, there{const_cast<char*>(&kReadable), 1};
  // EFAULT: another image is mapped there, and reading it was permitted.
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT ? 0 : errno;
}

int tryMemoryFile(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/mem";
  return openAt(AT_FDCWD, path.c_str(), O_RDONLY).valid() ? 0 : errno;
}

int tryPerf(perf_event_attr attributes, pid_t pid, int cpu) {
  attributes.disabled = 1;
  return openPerfEvent(attributes, pid, cpu).valid() ? 0 : errno;
}

perf_event_attr softwareEvent(std::uint64_t which) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = which;
  attributes.exclude_kernel = 1;
  return attributes;
}

void probePerf(pid_t pid, Probe& probe) {
  perf_event_attr tasks = softwareEvent(PERF_COUNT_SW_DUMMY);
  tasks.task = tasks.inherit = 1;
  probe.taskEvents = tryPerf(tasks, pid, 0);
  perf_event_attr samples = softwareEvent(PERF_COUNT_SW_CPU_CLOCK);
  samples.sample_period = 10'000'000;
  samples.sample_type = PERF_SAMPLE_IP;
  probe.userSamples = tryPerf(samples, pid, -1);
  samples.exclude_kernel = 0;
  probe.kernelSamples = tryPerf(samples, pid, -1);
  probe.systemWide = tryPerf(samples, -1, 0);
}

// Not part of a run's probe: closing a tracepoint waits for all CPUs, 45 ms were measured.
int tryTracepoint(pid_t pid) {
  const std::int64_t id = openatTracepoint("/");
  if (id < 0) return static_cast<int>(-id);
  perf_event_attr trace{};
  trace.type = PERF_TYPE_TRACEPOINT;
  trace.config = static_cast<std::uint64_t>(id);
  return tryPerf(trace, pid, -1);
}

int numberIn(const char* path, int absent) {
  const auto text = readFile(path, 64);
  return text.ok() ? std::atoi(text.value().c_str()) : absent;
}

bool procHidden() {
  const auto mounts = readFile("/proc/self/mounts");
  if (!mounts.ok()) return false;
  const std::size_t proc = mounts.value().find(" /proc proc ");
  if (proc == std::string::npos) return false;
  const std::string line = mounts.value().substr(proc, mounts.value().find('\n', proc) - proc);
  return line.find("hidepid=") != std::string::npos &&
         line.find("hidepid=0") == std::string::npos &&
         line.find("hidepid=off") == std::string::npos;
}

// Keeps the SourceStates and drops the rest.
class SourceList : public EventOut {
 public:
  StringId intern(std::string_view text) override { return strings_.intern(text); }
  void put(const Event& event) override {
    const auto* source = std::get_if<SourceState>(&event.payload);
    if (source == nullptr) return;
    reports.push_back({std::string(strings_.at(source->source)), source->state,
                       std::string(strings_.at(source->why))});
  }
  std::vector<SourceReport> reports;

 private:
  Strings strings_;
};

// What the samplers could see of process `pid` here, found by taking one sample and throwing it
// away. For doctor; a run records the same as SourceState events.
std::vector<SourceReport> samplerSources(const std::string& root, pid_t pid) {
  if (!procHasOurNumbers()) return {{"process_tree", Coverage::kAbsent, kForeignProc}};
  SourceList list;
  const Nanos at = now();
  TaskEvents events;
  SyscallCounter opens(root);
  if (isLive(root)) {
    events.open(pid);
    opens.open(pid);
  }
  ProcessTree tree(root, pid);
  tree.follow(events);
  ThreadSampler threads(root, tree);
  ProcessSampler processes(root, tree);
  HostSampler host(root, &tree);
  CgroupSampler cgroup(root, pid, &tree);
  SiblingRecorders siblings(tree, host.allowedCpus());
  for (Sampler* sampler : {static_cast<Sampler*>(&tree), static_cast<Sampler*>(&threads),
                           static_cast<Sampler*>(&processes), static_cast<Sampler*>(&host),
                           static_cast<Sampler*>(&cgroup), static_cast<Sampler*>(&siblings),
                           static_cast<Sampler*>(&opens)})
    sampler->sample(at, list);
  return list.reports;
}

// The answer's form on the pipe: the Probe, then the text that sourcesFrom() reads.
bool report(int pipe, pid_t watched) {
  static_assert(std::is_trivially_copyable_v<Probe>);
  Probe probe = probeHost(watched);
  probe.tracepoints = tryTracepoint(watched);
  std::string answer(reinterpret_cast<const char*>(&probe), sizeof probe);
  auto sources = samplerSources("/", watched);
  for (SourceReport& source : describe(probe)) sources.push_back(std::move(source));
  for (const SourceReport& source : sources)
    answer += source.name + '\t' + std::to_string(static_cast<int>(source.state)) + '\t' +
              escapeTerminal(source.why) + '\n';
  return writeAll(pipe, answer);
}

HostView hear(int pipe) {
  HostView view;
  std::string answer;
  char chunk[4096];
  for (ssize_t n; (n = ::read(pipe, chunk, sizeof chunk)) > 0;)
    answer.append(chunk, static_cast<std::size_t>(n));
  if (answer.size() < sizeof view.probe) return view;
  std::memcpy(&view.probe, answer.data(), sizeof view.probe);
  view.sources = sourcesFrom(answer.substr(sizeof view.probe));
  return view;
}

}  // namespace

std::vector<SourceReport> sourcesFrom(const std::string& answer) {
  std::vector<SourceReport> sources;
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos) continue;
    sources.push_back({line.substr(0, first),
                       static_cast<Coverage>(std::atoi(line.c_str() + first + 1)),
                       line.substr(second + 1)});
  }
  return sources;
}

Probe probeHost(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  Probe probe;
  if (procHasOurNumbers()) {
    probe.stat = tryRead(process + "/stat");
    probe.schedstat = tryRead(process + "/schedstat");
    probe.io = tryRead(process + "/io");
    probe.wchan = tryRead(process + "/wchan");
    probe.descriptors = tryLinks(process + "/fd");
    probe.syscall = tryRead(process + "/syscall");
    probe.memoryFile = tryMemoryFile(pid);
  } else {
    for (int* tried : {&probe.stat, &probe.schedstat, &probe.io, &probe.wchan, &probe.descriptors,
                       &probe.syscall, &probe.memoryFile})
      *tried = ESRCH;
  }
  probe.processMemory = tryProcessMemory(pid);
  probePerf(pid, probe);
  probe.pressure = tryRead("/proc/pressure/cpu");
  probe.perfParanoid = numberIn("/proc/sys/kernel/perf_event_paranoid", -2);
  probe.yamaScope = numberIn("/proc/sys/kernel/yama/ptrace_scope", -1);
  probe.hidden = procHidden();
  probe.root = ::geteuid() == 0;
  return probe;
}

HostView probeFromOutside() {
  HostView view;
  int answer[2];
  if (::pipe2(answer, O_CLOEXEC) != 0) return view;
  const Fd from(answer[0]);
  Fd to(answer[1]);
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return view;
  const Fd readyFrom(ready[0]);
  Fd readyTo(ready[1]);
  const pid_t self = ::getpid(), watched = ::fork();
  if (watched == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whatever ends us first
    if (::getppid() != self) ::_exit(1);
    to.reset();                                                  // else the answer would never end
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0ul, 0ul, 0ul);  // as a command lets its recorder
    readyTo.reset();
    for (;;) ::pause();
  }
  readyTo.reset();
  char none = 0;
  while (watched > 0 && ::read(readyFrom.get(), &none, 1) < 0 && errno == EINTR) {
  }
  const pid_t watcher = watched < 0 ? -1 : ::fork();
  if (watcher == 0) ::_exit(report(to.get(), watched) ? 0 : 1);
  to.reset();
  view = hear(from.get());
  if (watcher > 0) ::waitpid(watcher, nullptr, 0);
  if (watched > 0) {
    ::kill(watched, SIGKILL);  // our own child, not yet reaped
    ::waitpid(watched, nullptr, 0);
  }
  for (SourceReport& source : gpuSources()) view.sources.push_back(std::move(source));
  return view;
}

}  // namespace stallprof
