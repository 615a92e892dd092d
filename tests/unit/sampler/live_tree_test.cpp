// SPDX-License-Identifier: MIT
// Real births and deaths, with task events and without, as root and as nobody.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <set>

#include "tests/catch.h"
#include "tests/unit/sampler/live_job.h"

using namespace stallprof;

namespace {

void manyShortChildren(int count) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::vfork();  // with sanitizers a fork copies 5 ms of page tables
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
  }
}

// A daemon by the book: its parents are gone before they are seen.
void startDaemon(long milliseconds) {
  if (::fork() != 0) return;
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  ::prctl(PR_SET_NAME, "daemon");
  nap(milliseconds);
  ::_exit(0);
}

// By its own name, or by its main thread's: one that was reported before it named itself.
bool sawProcess(const EventList& list, const std::string& comm) {
  for (const ProcessSeen& seen : list.all<ProcessSeen>())
    if (list.text(seen.comm) == comm) return true;
  for (const ThreadSeen& seen : list.all<ThreadSeen>())
    if (list.text(seen.name) == comm) return true;
  return false;
}

// Runs `body` in a child of its own, with what it does to itself; true when it returned true.
bool apart(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool denyPerf(int error) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

TEST_CASE("3,000 children that live for a blink are all seen with task events") {
  LiveJob job([] { manyShortChildren(3000); });
  if (!job.events.opened()) {
    testing::skipTest(job.events.why());
    return;
  }
  job.watch(ms(60'000));
  job.finish();
  std::set<std::uint32_t> seen, gone;
  for (const ProcessSeen& process : job.list.all<ProcessSeen>()) seen.insert(process.process.value);
  for (const ProcessGone& process : job.list.all<ProcessGone>()) gone.insert(process.process.value);
  CHECK(seen.size() == 3001);
  CHECK(gone.size() == 3001);
  CHECK(job.tree->alive() == 0);
  CHECK(job.events.takeLost() == 0);
}

TEST_CASE("a daemon is followed by its birth, though its parents were gone before a sample") {
  LiveJob job([] {
    startDaemon(1500);
    nap(1500);
  });
  if (!job.events.opened()) {
    testing::skipTest(job.events.why());
    return;
  }
  job.watch(ms(600));
  CHECK(job.tree->alive() == 2);
  job.finish();
  CHECK(sawProcess(job.list, "daemon"));
}

TEST_CASE("without task events children that stay are found, and the job's CPU is whole") {
  LiveJob job(
      [] {
        if (::fork() == 0) {
          ::prctl(PR_SET_NAME, "worker");
          const Nanos until = processCpu() + ms(300);
          while (processCpu() < until) continue;
          ::_exit(0);
        }
        ::waitpid(-1, nullptr, 0);
        nap(1500);
      },
      false);
  job.watch(ms(2500));
  job.finish();
  CHECK(sawProcess(job.list, "worker"));
  CHECK(job.list.source("process_tree").first == Coverage::kPartial);
  CHECK(job.tree->jobCpu() > ms(280));
  CHECK(job.tree->jobCpu() < ms(400));
}

TEST_CASE(
    "perf_event_open denied by a filter: said with what would help, and the tree still works") {
  for (const int error : {EPERM, ENOSYS}) {
    INFO(errnoText(error));
    CHECK(apart([&] {
      if (!denyPerf(error)) return false;
      LiveJob job([] {
        if (::fork() == 0) nap(5000);
        nap(5000);
      });
      job.watch(ms(700));
      const auto source = job.list.source("task_events");
      return !job.events.opened() && source.first == Coverage::kAbsent &&
             source.second.find("seccomp") != std::string::npos && job.tree->alive() == 2;
    }));
  }
}

TEST_CASE("an ordinary user sees the same of a job of theirs") {
  if (::getuid() != 0) {
    testing::skipTest("needs root to become another user; then every other test is this one");
    return;
  }
  CHECK(apart([] {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return false;
    LiveJob job([] {
      if (::fork() == 0) nap(5000);
      nap(5000);
    });
    job.watch(ms(700));
    job.finish();
    Nanos asleep{};
    for (const ThreadSlice& slice : job.list.all<ThreadSlice>())
      if (slice.wait == Wait::kSleep) asleep += slice.duration;
    const bool callsSeen = job.list.source("thread_syscall").first == Coverage::kFull;
    return job.tree->alive() == 2 && (!callsSeen || asleep > ms(500));
  }));
}

TEST_CASE("live: when task events report nothing the tree samples less often") {
  LiveJob job([] { ::pause(); });
  if (!job.events.opened()) {
    testing::skipTest(job.events.why());
    return;
  }
  CHECK(job.tree->period() == std::chrono::milliseconds(20));
  for (const int later : {10, 20}) job.tree->sample(now() + std::chrono::seconds(later), job.list);
  CHECK(job.tree->period() == std::chrono::milliseconds(50));
}

TEST_CASE("row 20: what is read of a number's next process is not said of the one before") {
  const auto napping = [] {
    const pid_t child = ::fork();
    if (child == 0) {
      nap(60'000);
      ::_exit(0);
    }
    return static_cast<std::uint32_t>(child);
  };
  const std::uint32_t root = napping(), next = napping();
  EventList list;
  ProcessTree tree("/", static_cast<pid_t>(root));
  const Nanos born = now() - ms(1000);
  tree.sample(born - ms(1), list);
  using Kind = TaskEvent::Kind;
  tree.take({Kind::kFork, next, next, root, born, {}});
  tree.sample(born + ms(1), list);
  tree.take({Kind::kExec, next, next, 0, born + ms(2), "first"});
  tree.sample(born + ms(20), list);
  for (const ProcessSeen& seen : list.all<ProcessSeen>())
    if (seen.pid == next) CHECK((seen.startTicks == 0 && list.text(seen.command).empty()));
  tree.take({Kind::kExit, next, next, root, born + ms(21), {}});
  CHECK(tree.alive() == 1);
  tree.take({Kind::kFork, next, next, root, now(), {}});
  tree.sample(now(), list);
  CHECK(tree.alive() == 2);
  CHECK(list.all<ProcessSeen>().back().startTicks != 0);
  for (const std::uint32_t child : {root, next}) {
    ::kill(static_cast<pid_t>(child), SIGKILL);
    ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  }
}
