// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_samples.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "sampler/proc/proc_file.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

constexpr std::size_t kSampledThreads = 30;
constexpr Nanos kPeriod{10'000'000};

std::size_t openDescriptors() {
  std::size_t count = 0;
  forEachNumber("/proc/self/fd", [&](std::uint32_t) { ++count; });
  return count;
}

// A child whose threads all sleep.
class ManyThreads {
 public:
  ManyThreads() : pid_(::fork()) {
    if (pid_ == 0) sleepInAll();
    for (int i = 0; i < 2000 && tids().size() < kSampledThreads; ++i) ::usleep(10'000);  // 20 s
  }
  ManyThreads(const ManyThreads&) = delete;
  ManyThreads& operator=(const ManyThreads&) = delete;
  ~ManyThreads() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::vector<pid_t> tids() const {
    std::vector<pid_t> found;
    forEachNumber(processPath("/", static_cast<std::uint32_t>(pid_), "task"),
                  [&](std::uint32_t tid) { found.push_back(static_cast<pid_t>(tid)); });
    return found;
  }

 private:
  [[noreturn]] static void sleepInAll() {
    std::vector<std::thread> threads;
    while (threads.size() + 1 < kSampledThreads)
      threads.emplace_back([] {
        for (;;) ::pause();
      });
    for (;;) ::pause();
  }
  pid_t pid_;
};

// Events that were stopped hold nothing open, and can be asked all that they could be before.
void checkStopped(PerfSamples& samples, std::size_t before) {
  samples.stop();
  CHECK(openDescriptors() == before);
  std::vector<PerfRecord> records;
  samples.drain(records, true);
  samples.enable(true);
  const pid_t own = ::getpid();
  CHECK(samples.follow({&own, 1}, records));
  CHECK(openDescriptors() == before);
}

}  // namespace

TEST_CASE("where each thread has an event, few descriptors are for few threads") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{100, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  PerfSamples samples;
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(samples.threadLimit() == 20);

  const ManyThreads child;
  REQUIRE(child.tids().size() == kSampledThreads);
  const std::size_t descriptors = openDescriptors();
  ::setenv("STALLPROF_EVENT_PER_THREAD", "1", 1);
  const bool opened = samples.open(child.pid(), kPeriod);
  ::unsetenv("STALLPROF_EVENT_PER_THREAD");
  if (!opened) {
    testing::skipTest(samples.why());
    return;
  }
  CHECK(openDescriptors() == descriptors + 20);
  std::vector<PerfRecord> records;
  CHECK_FALSE(samples.follow(child.tids(), records));
  CHECK(openDescriptors() == descriptors + 20);
  checkStopped(samples, descriptors);
}

TEST_CASE("events that are stopped are closed, so that what is born later inherits none") {
  const ManyThreads child;
  REQUIRE(child.tids().size() == kSampledThreads);
  const std::size_t descriptors = openDescriptors();
  PerfSamples samples;
  if (!samples.open(child.pid(), kPeriod)) {
    testing::skipTest(samples.why());
    return;
  }
  CHECK(openDescriptors() > descriptors);
  checkStopped(samples, descriptors);
}
