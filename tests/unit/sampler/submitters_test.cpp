// SPDX-License-Identifier: MIT
#include "sampler/perf/submitters.h"

#include <map>

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"

using namespace stallprof;

namespace {

constexpr std::uint32_t kProcess = 100, kMain = 100, kLoader = 110, kPool = 120;
constexpr StringId kTorch{1}, kJpeg{2};
constexpr StackId kForward{7}, kFetch{8}, kEarlier{9};

PerfRecord birth(std::uint32_t tid, std::uint32_t maker, std::uint32_t parent = kProcess) {
  PerfRecord record;
  record.kind = PerfRecord::Kind::kFork;
  record.pid = kProcess;
  record.tid = tid;
  record.parentPid = parent;
  record.parentTid = maker;
  return record;
}

PerfRecord runningAt(std::uint32_t tid, Nanos at) {
  PerfRecord record;
  record.pid = kProcess;
  record.tid = tid;
  record.at = at;
  return record;
}

// Two threads that run Python, the trainer in forward, the loader in fetch, seen at 100 ms.
struct SubmitterBench {
  SubmitterBench() {
    samples[kMain].stack = samples[kMain].before = kForward;
    samples[kLoader].stack = samples[kLoader].before = kFetch;
    for (auto& [tid, sample] : samples) {
      sample.at = ms(100);
      sample.beforeAt = sample.sameSince = ms(90);
      sample.delegates = sample.blocked = true;
    }
  }
  [[nodiscard]] StackId stackOf(std::uint32_t tid, Nanos at, StringId file = kTorch) const {
    return submitters.stackOf(runningAt(tid, at), file);
  }

  std::map<std::uint32_t, PythonSampler::LastSample> samples;
  Submitters submitters{[this](std::uint32_t pid, std::uint32_t tid) {
    const auto found = samples.find(tid);
    return pid != kProcess || found == samples.end() ? PythonSampler::LastSample{} : found->second;
  }};
};

struct PoolOfTrainer : SubmitterBench {
  PoolOfTrainer() { submitters.take(birth(kPool, kMain)); }
};

}  // namespace

TEST_CASE("a pool's thread works for the thread that made it, which sleeps until it is done") {
  SubmitterBench b;
  b.submitters.take(birth(kPool, kLoader));
  CHECK(b.stackOf(kPool, ms(95)) == kFetch);
  b.submitters.take(birth(kPool + 1, kMain));
  CHECK(b.stackOf(kPool + 1, ms(95)) == kForward);
}

TEST_CASE("a pool that a pool made works for who made the first") {
  SubmitterBench b;
  b.submitters.take(birth(kPool, kLoader));
  b.submitters.take(birth(kPool + 1, kPool));
  CHECK(b.stackOf(kPool + 1, ms(95)) == kFetch);
}

TEST_CASE("whose maker is not known, or is gone, works for the first thread") {
  SubmitterBench b;
  CHECK(b.stackOf(kPool, ms(95)) == kForward);
  b.submitters.take(birth(kPool, kLoader));
  b.samples.erase(kLoader);
  CHECK(b.stackOf(kPool, ms(95)) == kForward);
  b.samples.erase(kMain);
  CHECK(b.stackOf(kPool, ms(95)).none());
}

TEST_CASE("a process's first thread has no submitter, nor has one of a fresh process") {
  SubmitterBench b;
  b.samples.erase(kMain);
  b.submitters.take(birth(kMain, 42, 42));
  CHECK(b.stackOf(kMain, ms(95)).none());
}

TEST_CASE("who waits elsewhere, or for the interpreter's lock, has submitted nothing") {
  PoolOfTrainer b;
  b.samples[kMain].delegates = false;
  CHECK(b.stackOf(kPool, ms(95)).none());
}

TEST_CASE("of a thread that runs meanwhile is what runs in the same file") {
  PoolOfTrainer b;
  b.samples[kMain].blocked = false;
  CHECK(b.stackOf(kPool, ms(95)).none());
  b.submitters.ran(kMain, kTorch, ms(93));
  CHECK(b.stackOf(kPool, ms(95)) == kForward);
  CHECK(b.stackOf(kPool, ms(95), kJpeg).none());
  for (std::uint32_t other = 3; other < 6; ++other)
    b.submitters.ran(kMain, StringId{other}, ms(94));
  CHECK(b.stackOf(kPool, ms(95)) == kForward);
  b.submitters.ran(kMain, StringId{6}, ms(94));  // the fifth file takes the oldest's place
  CHECK(b.stackOf(kPool, ms(95)).none());
}

TEST_CASE("long ago it ran in that file: that says nothing of now") {
  PoolOfTrainer b;
  auto& trainer = b.samples[kMain];
  trainer.blocked = false;
  trainer.sameSince = ms(90);
  trainer.at = ms(1000);
  b.submitters.ran(kMain, kTorch, ms(93));
  CHECK(b.stackOf(kPool, ms(999)).none());
}

TEST_CASE("between samples that saw different stacks only what is near to one has it") {
  PoolOfTrainer b;
  b.samples[kMain].before = kEarlier;
  b.samples[kMain].sameSince = ms(100);
  CHECK(b.stackOf(kPool, ms(91)) == kEarlier);
  CHECK(b.stackOf(kPool, ms(99)) == kForward);
  CHECK(b.stackOf(kPool, ms(95)).none());
}

TEST_CASE("a thread ran under what a sample near by found it running in, not blocked in") {
  PythonSampler::LastSample samples;  // it takes turns, at a read it sleeps in and at its own work
  samples.at = ms(100);
  samples.stack = kFetch;
  samples.blocked = true;
  samples.beforeAt = ms(90);
  samples.before = kForward;
  samples.ran = {ms(90), kForward};
  samples.ranBefore = {ms(70), kEarlier};
  CHECK(stackRun(samples, ms(99)).none());
  CHECK(stackRun(samples, ms(91)) == kForward);
  CHECK(stackRun(samples, ms(71)) == kEarlier);
  CHECK(stackRun(samples, ms(80)).none());
}
