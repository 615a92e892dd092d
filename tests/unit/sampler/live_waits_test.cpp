// SPDX-License-Identifier: MIT
// Threads that really wait, on this host: what they wait for must come out.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/unit/sampler/live_job.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

int listeningSocket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) ::_exit(1);
  ::listen(fd, 1);
  return fd;
}

int receivingSocket() {
  const int server = listeningSocket();
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(server, reinterpret_cast<sockaddr*>(&address), &size);
  const int client = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(client, reinterpret_cast<sockaddr*>(&address), size) != 0) ::_exit(1);
  return client;
}

void forget(long) {}

void awaitOneOf(std::initializer_list<int> descriptors) {
  const int poll = ::epoll_create1(0);
  epoll_event event{EPOLLIN, {}};
  for (const int fd : descriptors) ::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
  ::epoll_wait(poll, &event, 1, -1);
}

// Every thread waits in its own way until the job is killed.
void waitInEveryWay(const std::string& cached) {
  static std::mutex held;
  static int pipeEnds[2], unixEnds[2], epollPipe[2];
  forget(::pipe(pipeEnds) + ::pipe(epollPipe) + ::socketpair(AF_UNIX, SOCK_STREAM, 0, unixEnds));
  held.lock();
  std::vector<std::thread> threads;
  const auto start = [&](const char* name, auto body) {
    threads.emplace_back([name, body] {
      ::prctl(PR_SET_NAME, name);
      body();
    });
  };
  static char byte;
  start("futex", [] { held.lock(); });
  start("pipe", [] { forget(::read(pipeEnds[0], &byte, 1)); });
  start("unix", [] { forget(::recv(unixEnds[0], &byte, 1, 0)); });
  start("socket", [] { forget(::recv(receivingSocket(), &byte, 1, 0)); });
  start("accept", [] { ::accept(listeningSocket(), nullptr, nullptr); });
  start("sleep", [] { nap(60'000); });
  start("epoll", [] { awaitOneOf({epollPipe[0]}); });
  start("loop", [] { awaitOneOf({unixEnds[1], receivingSocket()}); });
  start("timers", [] { awaitOneOf({epollPipe[0], ::timerfd_create(CLOCK_MONOTONIC, 0)}); });
  start("cached", [cached] {
    const int fd = ::open(cached.c_str(), O_RDONLY);
    std::vector<char> buffer(1 << 16);
    for (;;) forget(::pread(fd, buffer.data(), buffer.size(), 0));
  });
  if (::fork() == 0) {
    nap(60'000);
    ::_exit(0);
  }
  forget(::waitpid(-1, nullptr, 0));
  nap(60'000);
}

struct Times {
  std::map<Wait, Nanos> blocked;
  Nanos duration{}, run{}, queued{};
  std::map<std::string, Nanos> what;
  [[nodiscard]] double share(Wait wait) const {
    const auto found = blocked.find(wait);
    return found == blocked.end() ? 0 : seconds(found->second) / seconds(duration);
  }
};

// By the latest name of each thread; the main thread of the command is "main".
std::map<std::string, Times> timesByThread(const LiveJob& job) {
  std::map<ThreadId, std::string> names;
  for (const ThreadSeen& seen : job.list.all<ThreadSeen>())
    names[seen.thread] =
        static_cast<pid_t>(seen.tid) == job.pid() ? "main" : job.list.text(seen.name);
  std::map<std::string, Times> times;
  for (const ThreadSlice& slice : job.list.all<ThreadSlice>()) {
    Times& time = times[names[slice.thread]];
    time.duration += slice.duration;
    time.run += slice.run;
    time.queued += slice.queued;
    time.blocked[slice.wait] += slice.duration - slice.run - slice.queued;
    time.what[job.list.text(slice.what)] += slice.duration;
  }
  return times;
}

}  // namespace

namespace {

// A job with a thread for each way to wait, watched for so long.
struct CachedFile {
  CachedFile() { files.file("cached.bin", std::string(1 << 16, 'x')); }
  Machine files;
};
struct Waiting : CachedFile, LiveJob {
  explicit Waiting(Nanos time) : LiveJob([this] { waitInEveryWay(files.root() + "/cached.bin"); }) {
    watch(time);
  }
};

}  // namespace

TEST_CASE("what threads of a live job wait for is seen, as this user") {
  Machine files;  // a place for one file
  files.file("cached.bin", std::string(1 << 16, 'x'));
  LiveJob job([&] { waitInEveryWay(files.root() + "/cached.bin"); });
  job.watch(ms(1200));
  job.finish();
  if (job.list.source("thread_syscall").first != Coverage::kFull) {
    testing::skipTest("/proc/PID/syscall may not be read here");
    return;
  }
  auto times = timesByThread(job);
  const auto mostly = [&](const char* thread, Wait wait) {
    INFO(thread);
    CHECK(times[thread].share(wait) > 0.8);
  };
  mostly("futex", Wait::kFutex);
  mostly("pipe", Wait::kPipe);
  mostly("unix", Wait::kPipe);
  mostly("socket", Wait::kSocket);
  mostly("accept", Wait::kSocket);
  mostly("sleep", Wait::kSleep);
  mostly("epoll", Wait::kPipe);
  mostly("loop", Wait::kEventLoop);
  mostly("timers", Wait::kPoll);
  mostly("main", Wait::kChild);
}

TEST_CASE("reads from the page cache never show as blocked in the file") {
  Waiting job(ms(1200));
  job.finish();
  auto times = timesByThread(job);
  CHECK(times["cached"].share(Wait::kFileRead) < 0.02);
  CHECK(times["cached"].run + times["cached"].queued > times["cached"].duration / 2);
  std::int64_t asked = 0, fromDisk = 0;
  for (const ProcessUsage& usage : job.list.all<ProcessUsage>()) {
    asked = std::max(asked, usage.readChars);
    fromDisk = std::max(fromDisk, usage.readBytes);
  }
  if (job.list.source("io").first == Coverage::kFull) {
    CHECK(asked > 100'000'000);
    CHECK(fromDisk == 0);
  }
}

TEST_CASE("run and queue time of a live thread are what schedstat says, and all sums to the wall") {
  Waiting job(ms(1500));
  job.finish();
  std::map<ThreadId, std::pair<Nanos, Nanos>> extent;  // begin, end so far
  for (const Event& event : job.list.events) {
    const auto* slice = std::get_if<ThreadSlice>(&event.payload);
    if (slice == nullptr) continue;
    const auto [found, fresh] = extent.try_emplace(slice->thread, event.at, event.at);
    CHECK(found->second.second == event.at);  // end to end, nothing left out
    found->second.second = event.at + slice->duration;
  }
  CHECK(extent.size() >= 10);
  for (const auto& [thread, range] : extent) CHECK(range.second >= job.end);
  const Times spin = timesByThread(job)["cached"];
  CHECK(spin.run + spin.queued <= spin.duration);
}

TEST_CASE("reads that go to the disk are seen as reads of that file") {
  const std::string path = "/var/tmp/stallprof-direct-" + std::to_string(::getpid());
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_DIRECT, 0600);
  std::vector<char> bytes(4 << 20);
  const int plain = ::open(path.c_str(), O_WRONLY);
  if (plain >= 0) forget(::write(plain, bytes.data(), bytes.size()) + ::fsync(plain));
  ::close(plain);
  if (fd < 0) {
    ::unlink(path.c_str());
    testing::skipTest("no O_DIRECT on /var/tmp");
    return;
  }
  LiveJob job([&] {
    void* buffer = nullptr;
    if (::posix_memalign(&buffer, 4096, 1 << 20) != 0) ::_exit(1);
    for (long i = 0;; ++i) forget(::pread(fd, buffer, 1 << 20, (i % 4) << 20));
  });
  job.watch(ms(1000));
  job.finish();
  ::close(fd);
  ::unlink(path.c_str());
  const Times times = timesByThread(job)["main"];
  const double off = 1 - seconds(times.run + times.queued) / seconds(times.duration);
  if (off < 0.3 || job.list.source("thread_syscall").first != Coverage::kFull) {
    testing::skipTest("this disk answers too fast to be waited for");
    return;
  }
  CHECK(times.share(Wait::kFileRead) > 0.25 * off);  // a busy host leaves samples out
  CHECK(times.what.count(path) == 1);
  const auto files = job.list.all<FileSeen>();
  REQUIRE_FALSE(files.empty());
  CHECK(job.list.text(files[0].path) == path);
  CHECK(files[0].size == 4 << 20);
  CHECK_FALSE(job.list.text(files[0].fsType).empty());
}

TEST_CASE("a stopped job is stopped, not blocked in its last call") {
  LiveJob job([] { nap(60'000); });
  job.watch(ms(100));
  ::kill(job.pid(), SIGSTOP);
  job.watch(ms(800));
  ::kill(job.pid(), SIGCONT);
  job.finish();
  CHECK(timesByThread(job)["main"].share(Wait::kStopped) > 0.5);
}
