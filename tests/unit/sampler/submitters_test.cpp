// SPDX-License-Identifier: MIT
#include "sampler/submitters.h"

#include <map>

#include "tests/catch.h"

using namespace stallprof;

namespace {

constexpr std::uint32_t kProcess = 100, kTrainer = 100, kLoader = 110, kPool = 120;
constexpr StringId kTorch{1}, kJpeg{2};
constexpr StackId kForward{7}, kFetch{8}, kEarlier{9};

constexpr Nanos ms(int n) { return Nanos(n * 1'000'000); }

PerfRecord birth(std::uint32_t tid, std::uint32_t maker, std::uint32_t parent = kProcess) {
  PerfRecord record;
  record.kind = PerfRecord::Kind::kFork;
  record.pid = kProcess, record.tid = tid, record.parentPid = parent, record.parentTid = maker;
  return record;
}

PerfRecord sampleOf(std::uint32_t tid, Nanos at) {
  PerfRecord record;
  record.pid = kProcess, record.tid = tid, record.at = at;
  return record;
}

// Two threads that run Python, the trainer in forward, the loader in fetch, seen at 100 ms.
struct Bench {
  Bench() {
    looks[kTrainer].stack = looks[kTrainer].before = kForward;
    looks[kLoader].stack = looks[kLoader].before = kFetch;
    for (auto& [tid, look] : looks) {
      look.at = ms(100), look.beforeAt = look.sameSince = ms(90);
      look.delegates = look.blocked = true;
    }
  }
  [[nodiscard]] StackId stackOf(std::uint32_t tid, Nanos at, StringId file = kTorch) const {
    return submitters.stackOf(sampleOf(tid, at), file);
  }

  std::map<std::uint32_t, PythonSampler::LastLook> looks;
  Submitters submitters{[this](std::uint32_t pid, std::uint32_t tid) {
    const auto found = looks.find(tid);
    return pid != kProcess || found == looks.end() ? PythonSampler::LastLook{} : found->second;
  }};
};

}  // namespace

TEST_CASE("a pool's thread works for the thread that made it, which sleeps until it is done") {
  Bench b;
  b.submitters.take(birth(kPool, kLoader));
  CHECK(b.stackOf(kPool, ms(95)) == kFetch);
  b.submitters.take(birth(kPool + 1, kTrainer));
  CHECK(b.stackOf(kPool + 1, ms(95)) == kForward);
}

TEST_CASE("a pool that a pool made works for who made the first") {
  Bench b;
  b.submitters.take(birth(kPool, kLoader));
  b.submitters.take(birth(kPool + 1, kPool));
  CHECK(b.stackOf(kPool + 1, ms(95)) == kFetch);
}

TEST_CASE("whose maker is not known, or is gone, works for the first thread") {
  Bench b;
  CHECK(b.stackOf(kPool, ms(95)) == kForward);
  b.submitters.take(birth(kPool, kLoader));
  b.looks.erase(kLoader);
  CHECK(b.stackOf(kPool, ms(95)) == kForward);
  b.looks.erase(kTrainer);
  CHECK(b.stackOf(kPool, ms(95)).none());
}

TEST_CASE("a process's first thread has no submitter, nor has one of a fresh process") {
  Bench b;
  b.looks.erase(kTrainer);
  b.submitters.take(birth(kTrainer, 42, 42));
  CHECK(b.stackOf(kTrainer, ms(95)).none());
}

TEST_CASE("who waits elsewhere, or for the interpreter's lock, has submitted nothing") {
  Bench b;
  b.submitters.take(birth(kPool, kTrainer));
  b.looks[kTrainer].delegates = false;
  CHECK(b.stackOf(kPool, ms(95)).none());
}

TEST_CASE("of a thread that runs meanwhile is what runs in the same file") {
  Bench b;
  b.submitters.take(birth(kPool, kTrainer));
  b.looks[kTrainer].blocked = false;
  CHECK(b.stackOf(kPool, ms(95)).none());
  b.submitters.ran(kTrainer, kTorch, ms(93));
  CHECK(b.stackOf(kPool, ms(95)) == kForward);
  CHECK(b.stackOf(kPool, ms(95), kJpeg).none());
  for (std::uint32_t other = 3; other < 6; ++other)
    b.submitters.ran(kTrainer, StringId{other}, ms(94));
  CHECK(b.stackOf(kPool, ms(95)) == kForward);
  b.submitters.ran(kTrainer, StringId{6}, ms(94));  // the fifth file takes the oldest's place
  CHECK(b.stackOf(kPool, ms(95)).none());
}

TEST_CASE("long ago it ran in that file: that says nothing of now") {
  Bench b;
  b.submitters.take(birth(kPool, kTrainer));
  b.looks[kTrainer].blocked = false;
  b.looks[kTrainer].sameSince = ms(90);
  b.looks[kTrainer].at = ms(1000);
  b.submitters.ran(kTrainer, kTorch, ms(93));
  CHECK(b.stackOf(kPool, ms(999)).none());
}

TEST_CASE("between looks that saw different stacks only what is near to one has it") {
  Bench b;
  b.submitters.take(birth(kPool, kTrainer));
  b.looks[kTrainer].before = kEarlier;
  b.looks[kTrainer].sameSince = ms(100);
  CHECK(b.stackOf(kPool, ms(91)) == kEarlier);
  CHECK(b.stackOf(kPool, ms(99)) == kForward);
  CHECK(b.stackOf(kPool, ms(95)).none());
}

TEST_CASE("a thread ran under what a look near by found it running in, not blocked in") {
  PythonSampler::LastLook looks;  // it takes turns, at a read it sleeps in and at its own work
  looks.at = ms(100), looks.stack = kFetch, looks.blocked = true;
  looks.beforeAt = ms(90), looks.before = kForward;
  looks.ran = {ms(90), kForward}, looks.ranBefore = {ms(70), kEarlier};
  CHECK(stackRun(looks, ms(99)).none());
  CHECK(stackRun(looks, ms(91)) == kForward);
  CHECK(stackRun(looks, ms(71)) == kEarlier);
  CHECK(stackRun(looks, ms(80)).none());
}
