// SPDX-License-Identifier: MIT
#include "sampler/wait_reader.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/fd.h"
#include "base/time.h"
#include "tests/catch.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

// A machine of text with one process, and a reader of its one thread.
struct WaitBench {
  Machine machine;
  Machine::Task task{100, 1, "python3"};
  EventList list;
  FdBudget fds{16};
  WaitReader reader{machine.root(), fds};
  WaitReader::Thread thread{100, 100, ProcessId{1}, {}, 0, false};

  WaitBench() { machine.process(task); }
  Seen read(const std::string& line) {
    machine.syscall(100, 100, line);
    thread.call.close(fds);  // what a kept descriptor has is not re-read from a new file
    return reader.read(thread, std::chrono::seconds(1), list);
  }
};

}  // namespace

TEST_CASE("a thread's futex is kept while it sleeps on it, and no longer") {
  WaitBench bench;
  const Seen seen = bench.read(call(SYS_futex, "0xabc0"));
  CHECK(seen.wait == Wait::kFutex);
  CHECK(bench.thread.futex == 0xabc0);
  CHECK(bench.read("running\n").wait == Wait::kRunning);
  CHECK(bench.thread.futex == 0);
  CHECK(bench.reader.seesCalls());
}

TEST_CASE("a read is compared with the one that its thread was seen in before, by its offset") {
  WaitBench bench;
  Machine& machine = bench.machine;
  const auto open = [&](int fd, const std::string& name) {
    machine.file(name, std::string(100, 'x'));
    machine.link("proc/100/fd/" + std::to_string(fd), machine.root() + "/" + name);
  };
  open(3, "train.tar");
  open(4, "index");
  Nanos at = std::chrono::seconds(5);
  const auto read = [&](const std::string& line, Nanos after = std::chrono::milliseconds(10)) {
    machine.syscall(100, 100, line);
    bench.thread.call.close(bench.fds);
    CHECK(bench.reader.read(bench.thread, at += after, bench.list).wait == Wait::kFileRead);
  };
  const auto readAt = [&](int place) {
    machine.file("proc/100/fdinfo/3", "pos:\t" + std::to_string(place) + "\nflags:\t0100000\n");
    read(call(SYS_read, "0x3"));
  };
  for (const int place : {0, 4096, 4096, 90'000}) readAt(place);  // onward: three pairs
  read("17 0x3 0x7ff0 0x1000 0x2000 0x0 0x0 0x7ffe 0x7f11\n");    // pread64 at 8192: back
  machine.file("proc/100/fdinfo/4", "pos:\t10\nflags:\t0100000\n");
  read(call(SYS_read, "0x4"));  // another file
  readAt(0);                    // no pair with what another file came after
  readAt(50);
  read(call(SYS_read, "0x3"), std::chrono::seconds(2));  // too late for a pair
  const auto seen = bench.list.all<FileSeen>();
  std::uint32_t onward = 0, scattered = 0;
  for (const FileSeen& file : seen) {
    onward += file.onward;
    scattered += file.scattered;
  }
  CHECK(onward == 4);
  CHECK(scattered == 1);
}

TEST_CASE("a page fault is named by the file that the process has mapped") {
  WaitBench bench;
  bench.task.state = 'D';
  bench.machine.process(bench.task);
  Seen seen = bench.read("-1 0x7ffe 0x7f11\n");
  CHECK(seen.wait == Wait::kPageFault);
  CHECK(seen.what.none());
  WaitBench mapped;
  mapped.task.state = 'D';
  mapped.machine.process(mapped.task);
  mapped.machine.file("proc/100/maps",
                      "7f3000000000-7f3040000000 r--s 00000000 fe:00 21 /data/train.npy\n");
  seen = mapped.read("-1 0x7ffe 0x7f11\n");
  CHECK(seen.wait == Wait::kPageFault);
  CHECK(mapped.list.text(seen.what) == "/data/train.npy");
  const auto files = mapped.list.all<FileSeen>();
  REQUIRE(files.size() == 1);
  CHECK(files[0].waits == 1);
  CHECK(files[0].size == 0x40000000);
}

TEST_CASE("the syscall file is kept open from the second reading on") {
  WaitBench bench;
  bench.machine.syscall(100, 100, call(SYS_wait4, "0x0"));
  (void)bench.reader.read(bench.thread, std::chrono::seconds(1), bench.list);
  CHECK_FALSE(bench.thread.call.kept());
  (void)bench.reader.read(bench.thread, std::chrono::seconds(2), bench.list);
  CHECK(bench.thread.call.kept());
  bench.thread.call.close(bench.fds);
}

TEST_CASE("what may not be read is reported, and the wait channel takes its place") {
  WaitBench bench;
  bench.machine.remove("proc/100/task/100/syscall");
  bench.machine.file("proc/100/task/100/wchan", "futex_wait_queue");
  bench.reader.probe(100, 100, std::chrono::seconds(1), bench.list);
  CHECK(bench.list.source("thread_state").first == Coverage::kFull);
  CHECK(bench.list.source("thread_syscall").first == Coverage::kAbsent);
  CHECK(bench.list.source("thread_wchan").first == Coverage::kFull);
  CHECK_FALSE(bench.reader.seesCalls());
  const Seen seen = bench.reader.read(bench.thread, std::chrono::seconds(2), bench.list);
  CHECK(seen.wait == Wait::kFutex);
  CHECK(bench.list.text(seen.what) == "futex_wait_queue");
}

TEST_CASE("the state letter of a thread that is gone is a question mark") {
  WaitBench bench;
  CHECK(bench.reader.stateOf(bench.thread) == 'S');
  bench.machine.end(100);
  CHECK(bench.reader.stateOf(bench.thread) == '?');
}

TEST_CASE("a poll of one socket waits for what the socket is") {
  const Fd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof place;
  REQUIRE(::bind(listening.get(), reinterpret_cast<sockaddr*>(&place), length) == 0);
  REQUIRE(::listen(listening.get(), 1) == 0);
  REQUIRE(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&place), &length) == 0);
  REQUIRE(::connect(client.get(), reinterpret_cast<sockaddr*>(&place), length) == 0);

  std::atomic<pid_t> tid{0};
  std::thread waits([&] {
    tid = ::gettid();
    pollfd one{client.get(), POLLIN, 0};
    ::poll(&one, 1, 60'000);
  });
  const auto pid = static_cast<std::uint32_t>(::getpid());
  FdBudget fds{16};
  WaitReader reader("/", fds);
  EventList list;
  Seen seen;
  for (int i = 0; i < 2000 && seen.wait != Wait::kSocket; ++i) {  // 20 s
    ::usleep(10'000);
    WaitReader::Thread thread{pid,  static_cast<std::uint32_t>(tid.load()), ProcessId{1}, {}, 0,
                              false};
    if (tid != 0) seen = reader.read(thread, now(), list);
    thread.call.close(fds);
  }
  ::shutdown(client.get(), SHUT_RDWR);
  waits.join();
  CHECK(seen.wait == Wait::kSocket);
}
