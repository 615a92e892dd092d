// SPDX-License-Identifier: MIT
#include "sampler/perf/get_next_watch.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"
#include "sampler/wait_reader.h"
#include "tests/catch.h"
#include "tests/fakes/tensorflow/fake_tensorflow.h"
#include "tests/unit/sampler/event_list.h"

using namespace stallprof;

namespace {

const GetNextCode kCode{{1000, 1100}, {{2000, 2100}, {3000, 3100}}, {4000, 4100}};

GetNextCode::Found scan(std::vector<std::uint64_t> words) { return kCode.scan(words); }

// A child with the fake library: a worker, and threads that sleep on a lock for good.
class Child {
 public:
  Child() {
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ::abort();
    shared_ = new (memory) Shared;
    for (sem_t* s :
         {&shared_->get.work, &shared_->get.element, &shared_->get.done, &shared_->never})
      ::sem_init(s, 1, 0);
    pid_ = ::fork();
    if (pid_ == 0) run();
  }
  Child(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(shared_, sizeof(Shared));
  }

  [[nodiscard]] FakeGetNext& get() { return shared_->get; }
  [[nodiscard]] sem_t& never() { return shared_->never; }
  [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

  // Lets the worker run on at `place`, and waits until it does.
  void blockFor(FakeGetNext::Place place) {
    get().blockFor = place;
    for (int i = 0; i < 2000 && get().weight != place; ++i) ::usleep(10'000);  // 20 s
    if (get().weight != place) FAIL("the worker did not go there");
  }

  // The thread that sleeps on `lock`, with its stack; waits for there to be one.
  struct Sleeper {
    std::uint32_t tid = 0;
    std::uint64_t stack = 0;
  };
  [[nodiscard]] std::vector<Sleeper> sleepersOn(const sem_t& lock, std::size_t count) const {
    for (int i = 0; i < 2000; ++i) {  // 20 s
      std::vector<Sleeper> found;
      forEachNumber(processPath("/", pid(), "task"), [&](std::uint32_t tid) {
        const auto line = parseSyscall(contentOf(threadPath("/", pid(), tid, "syscall"), 256));
        if (line && line->kind == SyscallLine::Kind::kCall && line->number == SYS_futex &&
            line->args[0] == reinterpret_cast<std::uint64_t>(&lock))
          found.push_back({tid, line->stack});
      });
      if (found.size() >= count) return found;
      ::usleep(10'000);
    }
    FAIL("nobody came to sleep there");
    return {};
  }

 private:
  struct Shared {
    FakeGetNext get;
    sem_t never;
  };
  [[noreturn]] void run() {
    void* library = ::dlopen(STALLPROF_FAKE_TENSORFLOW, RTLD_NOW);
    const auto worker = reinterpret_cast<FakeWorker>(::dlsym(library, "fakeWorker"));
    if (worker == nullptr) ::_exit(1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([this] { ::sem_wait(&shared_->never); });
    threads.emplace_back([&] { worker(&shared_->get); });
    for (;;) ::pause();
  }

  Shared* shared_ = nullptr;
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE("a get-next is recognized by its own frame and, outside of it, its operation's") {
  CHECK(scan({7, 1050, 9, 2050, 9, 4050}).inside);
  CHECK(scan({1050, 3000}).inside);
  CHECK(scan({1050, 2050, 4099}).dedicated);
  CHECK_FALSE(scan({1050, 3000}).dedicated);
}

TEST_CASE("words that calls left behind, out of order, say nothing") {
  CHECK_FALSE(scan({2050, 1050, 4050}).inside);
  CHECK_FALSE(scan({1050, 9, 4050}).inside);
  CHECK_FALSE(scan({1100, 2050}).inside);
  CHECK_FALSE(scan({1050, 4050, 2050}).inside);  // outside of the thread's own loop
  CHECK_FALSE(scan({}).inside);
}

TEST_CASE("a thread of a living process is inside a get-next while it waits for the element") {
  Child child;
  GetNextWatch watch("/");
  const ProcessId process{1};
  Nanos at = std::chrono::seconds(1);
  const auto inside = [&](const Child::Sleeper& s) {
    return watch.blockedInside(process, child.pid(), s.tid, s.stack, at);
  };
  const auto idle = child.sleepersOn(child.get().work, 1).front();
  for (const auto& other : child.sleepersOn(child.never(), 4)) CHECK_FALSE(inside(other));
  CHECK_FALSE(inside(idle));
  for (int i = 0; i < 3; ++i) {
    at += std::chrono::seconds(10);
    ::sem_post(&child.get().work);
    const auto waiting = child.sleepersOn(child.get().element, 1).front();
    CHECK(waiting.tid == idle.tid);
    CHECK(inside(waiting));
    CHECK(watch.runsInside(process, idle.tid));
    child.get().blockFor = FakeGetNext::kFetching;
    ::sem_post(&child.get().element);
    child.blockFor(FakeGetNext::kFetching);
    CHECK(watch.runsInside(process, idle.tid));
    child.blockFor(FakeGetNext::kComputing);
    CHECK_FALSE(watch.runsInside(process, idle.tid));
    child.blockFor(FakeGetNext::kNowhere);
    const auto after = child.sleepersOn(child.get().work, 1).front();
    CHECK_FALSE(inside(after));
  }
  for (const auto& other : child.sleepersOn(child.never(), 4)) {
    CHECK_FALSE(inside(other));
    CHECK_FALSE(watch.runsInside(process, other.tid));
  }
  EventList list;
  watch.report(at, list);
  watch.report(at, list);
  CHECK(list.all<SourceState>().size() == 1);
  CHECK(list.source("tfdata_get_next").first == Coverage::kFull);
}

TEST_CASE("a descriptor is kept of a process that shows its get-nexts, until it has ended") {
  const auto descriptors = [] {
    std::size_t count = 0;
    forEachNumber("/proc/self/fd", [&](std::uint32_t) { ++count; });
    return count;
  };
  Child child;
  GetNextWatch watch("/");
  const Nanos at = std::chrono::seconds(1);
  const auto own = static_cast<std::uint32_t>(::getpid());
  auto sleepers = child.sleepersOn(child.never(), 4);
  sleepers.push_back(child.sleepersOn(child.get().work, 1).front());
  const std::size_t before = descriptors();
  for (std::uint32_t id = 2; id < 50; ++id)
    CHECK_FALSE(watch.blockedInside(ProcessId{id}, own, own, 4096, at));
  CHECK(descriptors() == before);
  LiveProcess alive;
  alive.id = ProcessId{1};
  for (const auto& sleeper : sleepers)
    CHECK_FALSE(watch.blockedInside(alive.id, child.pid(), sleeper.tid, sleeper.stack, at));
  CHECK(descriptors() == before + 1);
  watch.keep({alive});
  CHECK(descriptors() == before + 1);
  watch.keep({});
  CHECK(descriptors() == before);
}

TEST_CASE("a process counts once, however many others are watched") {
  Child child;
  GetNextWatch watch("/");
  const Nanos at = std::chrono::seconds(1);
  const auto own = static_cast<std::uint32_t>(::getpid());
  EventList list;
  for (std::uint32_t first : {2u, 2000u}) {
    for (const auto& sleeper : child.sleepersOn(child.never(), 4))
      (void)watch.blockedInside(ProcessId{1}, child.pid(), sleeper.tid, sleeper.stack, at);
    watch.report(at, list);
    for (std::uint32_t id = first; id < first + 1100; ++id)
      CHECK_FALSE(watch.blockedInside(ProcessId{id}, own, own, 4096, at));
  }
  CHECK(list.all<SourceState>().size() == 1);
}

TEST_CASE("a thread that was seen inside a get-next is known for it from then on") {
  Child child;
  FdBudget fds(0);
  WaitReader reader("/", fds);
  EventList list;
  const auto threadOf = [&](std::uint32_t tid) {
    WaitReader::Thread thread;
    thread.pid = child.pid();
    thread.tid = tid;
    thread.process = ProcessId{1};
    return thread;
  };
  auto worker = threadOf(child.sleepersOn(child.get().work, 1).front().tid);
  const Nanos at = std::chrono::seconds(1);
  std::vector<WaitReader::Thread> others;  // few threads are no TensorFlow's
  for (const auto& other : child.sleepersOn(child.never(), 4)) {
    others.push_back(threadOf(other.tid));
    (void)reader.read(others.back(), at, list);
  }
  (void)reader.read(worker, at, list);
  CHECK_FALSE(worker.getsNext);
  ::sem_post(&child.get().work);
  (void)child.sleepersOn(child.get().element, 1);
  (void)reader.read(worker, 2 * at, list);
  CHECK(worker.getsNext);
  ::sem_post(&child.get().element);
  (void)child.sleepersOn(child.get().work, 1);
  (void)reader.read(worker, 3 * at, list);
  CHECK(worker.getsNext);
  for (auto& other : others) {
    (void)reader.read(other, 3 * at, list);
    CHECK_FALSE(other.getsNext);
  }
}

TEST_CASE("a worker that runs is inside while nothing out to its loop has changed") {
  // Four words from 4096 * 8 on: the get-next's, the operation's, data, the loop's.
  constexpr std::uint64_t kStack = 32768;
  const GetNextCode::Range library[] = {{1000, 5000}};
  const std::vector<std::uint64_t> getting{1050, 2050, 77, 2900, 4050};
  GetNextWorker worker;
  worker.learn(scan(getting), getting, kStack, library);
  CHECK(worker.loop == kStack + 32);
  CHECK(worker.begin() == kStack + 8);
  const auto inside = [&](std::vector<std::uint64_t> words) { return worker.inside(kCode, words); };
  CHECK(inside({2050, 78, 2900, 4050}));
  CHECK_FALSE(inside({2050, 78, 2910, 4050}));  // its closure has gone on
  CHECK_FALSE(inside({2060, 78, 2900, 4050}));
  CHECK_FALSE(inside({2050, 78, 2900}));
  CHECK_FALSE(inside({2050, 78, 2900, 4060}));
  const std::vector<std::uint64_t> idle{9, 4060};
  worker.learn(scan(idle), idle, kStack + 24, library);
  CHECK(inside({2050, 78, 2910, 4060}));  // woken, and waiting for a CPU
  // What resembles code and differs from one get-next to the next is none.
  const std::vector<std::uint64_t> other{1050, 2050, 77, 2920, 4050};
  worker.learn(scan(other), other, kStack, library);
  CHECK(inside({2050, 78, 2930, 4050}));
}

TEST_CASE("a worker that was never seen asleep in a get-next is recognized by the words alone") {
  GetNextWorker worker;
  const std::vector<std::uint64_t> idle{9, 4060};
  worker.learn(scan(idle), idle, 32768, {});
  std::vector<std::uint64_t> words((worker.loop - worker.begin()) / 8 + 1, 9);
  words.back() = 4050;
  CHECK_FALSE(worker.inside(kCode, words));
  words[5] = 1050;
  words[8] = 2050;
  CHECK(worker.inside(kCode, words));
}

TEST_CASE("a process without TensorFlow has no get-nexts") {
  std::vector<GetNextCode::Range> library{{1, 2}};
  CHECK_FALSE(getNextCodeOf("/", static_cast<std::uint32_t>(::getpid()), library).known());
  CHECK(library.empty());
}
