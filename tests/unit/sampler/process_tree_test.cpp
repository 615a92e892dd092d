// SPDX-License-Identifier: MIT
#include "sampler/processes/process_tree.h"

#include <algorithm>
#include <set>

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/machine.h"
#include "tests/unit/sampler/no_descriptors.h"

using namespace stallprof;

namespace {

// A tree over a machine, its time going on by hand.
struct Watcher {
  explicit Watcher(Machine& machine, int root = 100) : tree(machine.root(), root) {}
  void sample(Nanos later = ms(250)) { tree.sample(clock += later, list); }
  void report(TaskEvent::Kind kind, std::uint32_t pid, std::uint32_t tid, std::uint32_t parent = 0,
              std::string comm = {}) {
    tree.take({kind, pid, tid, parent, clock, std::move(comm)});
  }
  [[nodiscard]] std::vector<std::uint32_t> pids() const {
    std::vector<std::uint32_t> found;
    for (const LiveProcess& process : tree.processes()) found.push_back(process.pid);
    std::sort(found.begin(), found.end());
    return found;
  }
  [[nodiscard]] ProcessSeen last(std::uint32_t pid) const {
    ProcessSeen found;
    for (const ProcessSeen& seen : list.all<ProcessSeen>())
      if (seen.pid == pid) found = seen;
    return found;
  }
  ProcessTree tree;
  EventList list;
  Nanos clock = ms(1000);
};

// Of a machine with these processes, 100 the job's first, once they were seen.
struct Job : Machine, Watcher {
  explicit Job(std::initializer_list<Task> tasks) : Watcher(static_cast<Machine&>(*this)) {
    for (const Task& task : tasks) process(task);
    sample();
  }
};

// Of one process with threads beside its first, once it was seen.
struct Threaded : Machine, Watcher {
  Threaded(const char* comm, std::initializer_list<int> tids)
      : Watcher(static_cast<Machine&>(*this)), task{100, 1, comm} {
    process(task);
    for (const int tid : tids) thread(task, tid);
    sample();
  }
  Task task;
};

using Pids = std::vector<std::uint32_t>;
using TaskKind = TaskEvent::Kind;

}  // namespace

TEST_CASE("without task events children are found in /proc when a task was born") {
  Job watch({{100, 1, "sh"}, {50, 1, "stranger"}});
  CHECK(watch.pids() == Pids{100});
  watch.process({101, 100, "python3", 1001});
  watch.process({102, 101, "worker", 1002});
  watch.sample();
  CHECK(watch.pids() == Pids{100, 101, 102});
  CHECK(watch.last(102).parent == watch.last(101).process);
  CHECK(watch.last(100).parent.none());
  CHECK(watch.list.source("process_tree").first == Coverage::kPartial);
  CHECK(watch.list.source("task_events").first == Coverage::kAbsent);
}

TEST_CASE("a daemon stays of the job when its parents die") {
  Job watch({{100, 1, "sh"}, {101, 100, "sh", 1001}, {102, 101, "daemon", 1002}});
  watch.end(101);
  watch.process({102, 1, "daemon", 1002});  // now a child of init
  watch.sample(ms(1100));
  CHECK(watch.pids() == Pids{100, 102});
  watch.process({103, 102, "child", 1500});
  watch.sample();
  CHECK(watch.pids() == Pids{100, 102, 103});
}

TEST_CASE("a pid given to another process is another life") {
  Job watch({{100, 1, "sh"}, {101, 100, "first", 1001}});
  const ProcessId first = watch.tree.processOf(101, 1001);
  watch.end(101);
  watch.process({101, 100, "second", 2002});
  watch.sample(ms(1100));
  watch.sample();
  const ProcessId second = watch.tree.processOf(101, 2002);
  CHECK(first != second);
  CHECK(watch.tree.processOf(101, 1001) == first);  // its late records still find it
  CHECK(watch.last(101).process == second);
  CHECK(watch.tree.gone(101, 1001));
  CHECK_FALSE(watch.tree.gone(101, 2002));
}

TEST_CASE("a pid taken over by a stranger is no longer of the job") {
  Job watch({{100, 1, "sh"}, {101, 100, "ours", 1001}});
  watch.end(101);
  watch.process({101, 1, "stranger", 2002});
  watch.sample(ms(1100));
  CHECK(watch.pids() == Pids{100});
}

TEST_CASE("an exec announces the process again with its new image, found by its new stack") {
  Job watch({{100, 1, "python3"}});
  const ProcessSeen before = watch.last(100);
  Machine::Task same{100, 1, "python3"};
  same.stack = 777;
  watch.process(same);
  watch.file("proc/100/cmdline", std::string("python3\0other.py\0", 17));
  watch.sample(ms(1100));
  const ProcessSeen after = watch.last(100);
  CHECK(after.process == before.process);
  CHECK(watch.list.text(after.command) == "python3 other.py");
}

TEST_CASE("secrets in a command line are masked before the first event") {
  Machine machine;
  machine.process({100, 1, "python3"});
  machine.file("proc/100/cmdline", std::string("train\0--api-key\0hunter22\0a b\0", 29));
  Watcher watch(machine);
  watch.sample();
  const std::string command = watch.list.text(watch.last(100).command);
  CHECK(command.find("hunter22") == std::string::npos);
  CHECK(command.find("***") != std::string::npos);
  CHECK(command.find("'a b'") != std::string::npos);
}

TEST_CASE("a zombie is gone, a stopped process is not") {
  Job watch({{100, 1, "sh"}, {101, 100, "ended", 1001}, {102, 100, "stopped", 1002}});
  Machine::Task zombie{101, 100, "ended", 1001, 'Z'}, stopped{102, 100, "stopped", 1002, 'T'};
  watch.process(zombie);
  watch.process(stopped);
  watch.sample(ms(1100));
  CHECK(watch.pids() == Pids{100, 102});
  CHECK(watch.tree.gone(101, 1001));
}

TEST_CASE("what cannot be read for want of a descriptor has not ended") {
  Job watch({{100, 1, "sh"}, {101, 100, "child", 1001}});
  watch.process({300, 1, "python3", 5000});
  watch.thread({101, 100, "child", 1001}, 111);
  {
    const NoDescriptors none;
    watch.tree.suspect(101);
    watch.sample(ms(1100));
    CHECK(watch.pids() == Pids{100, 101});
    CHECK_FALSE(watch.tree.gone(300, 5000));
    CHECK(watch.tree.processOf(300, 5000).none());
  }
  watch.sample(ms(1100));
  CHECK(watch.pids() == Pids{100, 101});
  CHECK(watch.list.all<ThreadSeen>().back().tid == 111);
  const ProcessId found = watch.tree.processOf(300, 5000);
  CHECK(watch.pids() == Pids{100, 101, 300});
  CHECK(watch.last(300).process == found);
  watch.end(101);
  watch.sample(ms(1100));
  CHECK(watch.pids() == Pids{100, 300});
}

TEST_CASE("threads come and go with their task directories") {
  Threaded watch("python3", {105});
  CHECK(watch.tree.processes()[0].threads.size() == 2);
  watch.thread(watch.task, 106);
  watch.remove("proc/100/task/105");
  watch.sample(ms(1100));
  watch.tree.suspect(100);
  watch.sample();
  const auto& threads = watch.tree.processes()[0].threads;
  REQUIRE(threads.size() == 2);
  CHECK(threads[0].tid == 100);
  CHECK(threads[1].tid == 106);
  CHECK(watch.list.all<ThreadGone>().size() == 1);
}

TEST_CASE("task events: fork, exec and exit in order") {
  Job watch({{100, 1, "sh"}});
  watch.report(TaskKind::kFork, 201, 201, 100);
  watch.report(TaskKind::kExec, 201, 201, 0, "ls");
  watch.report(TaskKind::kExit, 201, 201, 100);
  CHECK(watch.pids() == Pids{100});
  CHECK(watch.list.text(watch.last(201).comm) == "ls");
  CHECK(watch.last(201).parent == watch.last(100).process);
  CHECK(watch.list.all<ProcessGone>().size() == 1);
}

TEST_CASE("task events: exit before fork is a life all the same") {
  Job watch({{100, 1, "sh"}});
  watch.report(TaskKind::kExit, 201, 201, 100);
  watch.report(TaskKind::kFork, 201, 201, 100);
  CHECK(watch.pids() == Pids{100});
  CHECK(watch.last(201).pid == 201);
  CHECK(watch.list.all<ProcessGone>().size() == 1);
}

TEST_CASE("task events: exec or exit of a process nobody heard of changes nothing") {
  Job watch({{100, 1, "sh"}});
  const std::size_t before = watch.list.events.size();
  watch.report(TaskKind::kExec, 999, 999, 0, "x");
  watch.report(TaskKind::kName, 999, 999, 0, "x");
  watch.report(TaskKind::kExit, 999, 999, 1);
  CHECK(watch.pids() == Pids{100});
  CHECK(watch.list.events.size() == before);
}

TEST_CASE("task events: a fork reported twice is one process") {
  Job watch({{100, 1, "sh"}, {201, 100, "child", 1001}});
  watch.report(TaskKind::kFork, 201, 201, 100);
  CHECK(watch.pids() == Pids{100, 201});
  CHECK(watch.list.all<ProcessSeen>().size() == 2);
}

TEST_CASE("task events: a process that /proc still shows after its exit is not born again") {
  Job watch({{100, 1, "sh"}, {201, 100, "child", 1001}});
  watch.report(TaskKind::kExit, 201, 201, 100);  // the kernel reports before the entry goes
  watch.process({202, 100, "other", 1002});
  watch.sample(ms(1100));  // a birth: children are searched for
  CHECK(watch.pids() == Pids{100, 202});
  CHECK(watch.list.all<ProcessSeen>().size() == 3);
  CHECK(watch.list.all<ProcessGone>().size() == 1);

  SECTION("but another life of its number is") {
    watch.process({201, 100, "later", 2002});
    watch.lastPid(203);
    watch.sample(ms(1100));
    CHECK(watch.pids() == Pids{100, 201, 202});
  }
}

TEST_CASE("row 78: a program that takes other rights is not taken for one that has ended") {
  Job watch({{100, 1, "sh"}, {201, 100, "sudo", 1001}});
  watch.report(TaskKind::kExec, 201, 201, 0, "sudo");
  watch.report(TaskKind::kExit, 201, 201, 100);
  CHECK(watch.pids() == Pids{100, 201});
  watch.process({202, 201, "python3", 1002});
  watch.lastPid(203);
  watch.sample(ms(1100));
  CHECK(watch.pids() == Pids{100, 201, 202});
  CHECK(watch.list.source("task_events").first == Coverage::kPartial);
  watch.report(TaskKind::kExec, 202, 202, 0, "python3");
  watch.end(202);
  watch.report(TaskKind::kExit, 202, 202, 201);
  CHECK(watch.pids() == Pids{100, 201});
}

TEST_CASE(
    "row 20: an exit read after /proc has shown it says nothing of the number's next process") {
  Job watch({{100, 1, "sh"}, {201, 100, "first", 1001}});
  watch.end(201);
  watch.sample(ms(1100));
  watch.report(TaskKind::kExit, 201, 201, 100);
  watch.clock += ms(20);
  watch.report(TaskKind::kFork, 201, 201, 100);
  CHECK(watch.pids() == Pids{100, 201});
}

TEST_CASE("row 62: 100,000 threads of one process come and go") {
  constexpr std::uint32_t kManyThreads = 100'000;
  Job watch({{100, 1, "python3"}});
  for (std::uint32_t tid = 1001; tid <= 1000 + kManyThreads; ++tid)
    watch.report(TaskKind::kFork, 100, tid, 100);
  REQUIRE(watch.tree.processes().size() == 1);
  CHECK(watch.tree.processes()[0].threads.size() == kManyThreads + 1);
  for (std::uint32_t tid = 1001; tid <= 1000 + kManyThreads; ++tid)  // the oldest first
    watch.report(TaskKind::kExit, 100, tid, 100);
  CHECK(watch.tree.processes()[0].threads.size() == 1);
  CHECK(watch.list.all<ThreadSeen>().size() == kManyThreads + 1);
  CHECK(watch.list.all<ThreadGone>().size() == kManyThreads);
}

TEST_CASE("children of a process with very many threads are found among all processes") {
  Machine machine;
  const Machine::Task task{100, 1, "python3"};
  machine.process(task);
  machine.file("proc/100/task/100/children", "");  // the kernel keeps lists, one a thread
  for (int tid = 1001; tid <= 1600; ++tid) machine.thread(task, tid);
  Watcher watch(machine);
  watch.sample();
  machine.process({5000, 100, "child", 1001});  // in none of the 601 lists: they are not read
  for (int i = 0; i < 8; ++i) watch.sample();
  CHECK(watch.pids() == Pids{100, 5000});
}

TEST_CASE("children of first threads are found at once beside very many threads and strangers") {
  Machine machine;
  const Machine::Task task{100, 1, "python3"};
  machine.process(task);
  machine.file("proc/100/task/100/children", "");
  for (int tid = 1001; tid <= 1600; ++tid) machine.thread(task, tid);
  for (int pid = 6000; pid < 8000; ++pid) machine.process({pid, 1, "stranger", pid});
  Watcher watch(machine);
  for (int i = 0; i < 8; ++i) watch.sample();
  machine.process({5000, 100, "child", 9001});
  machine.file("proc/100/task/100/children", "5000 ");
  machine.lastPid(5000);
  for (int i = 0; i < 4; ++i) watch.sample(ms(50));
  CHECK(watch.pids() == Pids{100, 5000});
}

TEST_CASE("threads that came and went are reported once, in order, to the one who asked") {
  Machine machine;
  const Machine::Task task{100, 1, "python3"};
  machine.process(task);
  Watcher watch(machine);
  watch.tree.keepChanges();
  watch.sample();
  watch.report(TaskKind::kFork, 100, 105, 100);
  watch.report(TaskKind::kFork, 100, 106, 100);
  watch.report(TaskKind::kExit, 100, 105, 100);
  const auto changes = watch.tree.takeChanges();
  REQUIRE(changes.size() == 4);
  CHECK(changes[0].born);
  CHECK(changes[1].thread.tid == 105);
  CHECK(changes[2].thread.tid == 106);
  CHECK_FALSE(changes[3].born);
  CHECK(changes[3].thread.id == changes[1].thread.id);
  CHECK(changes[3].pid == 100);
  CHECK(watch.tree.takeChanges().empty());
}

TEST_CASE("task events: the main thread may end before the others") {
  Threaded watch("sh", {110});
  watch.report(TaskKind::kExit, 100, 100, 1);
  CHECK(watch.pids() == Pids{100});
  watch.report(TaskKind::kExit, 100, 110, 1);
  CHECK(watch.pids().empty());
}

TEST_CASE("task events: an exec ends all threads but the main one") {
  Threaded watch("sh", {110, 111});
  watch.report(TaskKind::kExit, 100, 110, 1);
  watch.report(TaskKind::kExit, 100, 100, 1);  // the exec came from 111, which takes the main tid
  watch.report(TaskKind::kExec, 100, 100, 0, "fresh");
  REQUIRE(watch.pids() == Pids{100});
  const auto& threads = watch.tree.processes()[0].threads;
  REQUIRE(threads.size() == 1);
  CHECK(threads[0].tid == 100);
  CHECK(watch.list.text(watch.last(100).comm) == "fresh");
}

TEST_CASE("task events: a thread's new name is reported") {
  Threaded watch("python3", {110});
  watch.report(TaskKind::kName, 100, 110, 0, "pt_data_pin");
  const auto seen = watch.list.all<ThreadSeen>();
  CHECK(seen.back().tid == 110);
  CHECK(watch.list.text(seen.back().name) == "pt_data_pin");
}

TEST_CASE("records from inside name processes and threads that were not seen yet") {
  Job watch({{100, 1, "sh"}});
  watch.process({300, 1, "python3", 5000});
  const ProcessId id = watch.tree.processOf(300, 5000);
  CHECK(watch.last(300).process == id);
  CHECK(watch.tree.processOf(300, 5000) == id);
  CHECK(watch.tree.processOf(300, 0) == id);
  const ThreadId thread = watch.tree.threadOf(id, 301);
  CHECK(watch.tree.threadOf(id, 301) == thread);
  CHECK(watch.list.all<ThreadSeen>().back().tid == 301);
}

TEST_CASE("a record of a thread that ended does not make it alive again") {
  Threaded watch("python3", {110});
  const ProcessId id = watch.tree.processOf(100, 0);
  const ThreadId thread = watch.tree.threadOf(id, 110);
  watch.report(TaskKind::kExit, 100, 110, 0);
  REQUIRE(watch.tree.processes()[0].threads.size() == 1);
  watch.remove("proc/100/task/110");
  CHECK(watch.tree.threadOf(id, 110) == thread);
  for (std::uint32_t tid = 200; tid < 300; ++tid)  // that nobody saw
    CHECK(watch.tree.threadOf(id, tid) == watch.tree.threadOf(id, tid));
  CHECK(watch.tree.processes()[0].threads.size() == 1);
  CHECK(watch.list.all<ThreadGone>().size() == 101);
}

TEST_CASE("children with a command line each take a part of the names alone") {
  Machine machine;
  ProcessAnnouncer announcer(machine.root());
  EventList list;
  announcer.setOut(list);
  LiveProcess child;
  child.pid = 101;
  std::set<std::uint32_t> commands;
  for (int i = 0; i < 5000; ++i) {
    ProcessWatch watch;
    watch.readable = true;
    machine.file("proc/101/cmdline", std::string("ffmpeg\0-i\0", 10) + std::to_string(i) + ".mp3");
    announcer.announce(child, watch, ms(i));
  }
  for (const ProcessSeen& seen : list.all<ProcessSeen>()) commands.insert(seen.command.value);
  CHECK(commands.size() == ProcessAnnouncer::kCommands + 1);
}

TEST_CASE("records of a process that was gone before anybody read it still have a name") {
  Job watch({{100, 1, "sh"}});
  const ProcessId id = watch.tree.processOf(777, 4000);
  CHECK(watch.last(777).startTicks == 4000);
  CHECK(watch.tree.processOf(777, 4000) == id);
  CHECK(watch.tree.threadOf(id, 778) == watch.tree.threadOf(id, 778));
  CHECK(watch.tree.gone(777, 4000));
  CHECK(watch.tree.alive() == 1);
}

TEST_CASE("row 74: numbers that a job makes up name a bounded number of processes and threads") {
  constexpr std::uint32_t kForged = 11'000, kFirstForged = 1'000'000;
  Job watch({{100, 1, "sh"}});
  const ProcessId own = watch.tree.processOf(100, 0);
  for (std::uint32_t i = 0; i < kForged; ++i) {
    const ProcessId made = watch.tree.processOf(kFirstForged + i, 4000);
    (void)watch.tree.threadOf(made, kFirstForged + i);
    (void)watch.tree.threadOf(own, kFirstForged + i);
  }
  CHECK(watch.list.all<ProcessSeen>().size() < 5'000);
  CHECK(watch.list.all<ThreadSeen>().size() < 10'000);
  CHECK(watch.tree.processOf(kFirstForged + kForged, 4000).none());
  CHECK(watch.tree.threadOf(own, kFirstForged + kForged).none());
  CHECK(watch.tree.processOf(100, 0) == own);
}

TEST_CASE("events name only what was announced before") {
  Threaded watch("sh", {110});
  watch.report(TaskKind::kFork, 201, 201, 100);
  watch.report(TaskKind::kFork, 201, 202, 201);
  watch.report(TaskKind::kExit, 201, 202, 201);
  watch.report(TaskKind::kExit, 201, 201, 100);
  watch.sample();
  std::vector<std::uint32_t> processes, threads;
  const auto in = [](const auto& list, std::uint32_t id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  for (const Event& event : watch.list.events) {
    if (const auto* p = std::get_if<ProcessSeen>(&event.payload))
      processes.push_back(p->process.value);
    if (const auto* t = std::get_if<ThreadSeen>(&event.payload)) {
      CHECK(in(processes, t->process.value));
      threads.push_back(t->thread.value);
    }
    if (const auto* gone = std::get_if<ThreadGone>(&event.payload))
      CHECK(in(threads, gone->thread.value));
    if (const auto* gone = std::get_if<ProcessGone>(&event.payload))
      CHECK(in(processes, gone->process.value));
  }
  CHECK(threads.size() == 4);
}

TEST_CASE("a command that is not there is said, not feared") {
  Machine machine;
  Watcher watch(machine);
  watch.sample();
  CHECK(watch.tree.alive() == 0);
  CHECK(watch.list.source("process_tree").first == Coverage::kAbsent);
}
