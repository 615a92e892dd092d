// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/layout.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "one_sample.h"
#include "tests/catch.h"
#include "tests/fuzz/input_memory.h"

using namespace stallprof;
using namespace stallprof::python;

namespace {

python::testing::Image imageOf(const std::string& name) {
  auto image = python::testing::Image::load(std::string(STALLPROF_TESTS_DIR) +
                                            "/fixtures/python_images/" + name);
  REQUIRE_FALSE(image.ranges.empty());
  return image;
}

python::testing::Sample inspect(python::testing::Image& image) {
  const auto isThread = [&](std::uint32_t tid) {
    return std::find(image.threads.begin(), image.threads.end(), tid) != image.threads.end();
  };
  python::testing::Kept kept;
  return python::testing::sampleOnce(image.runtime, image, isThread, kept);
}

const char* const kImages[] = {"3.8",  "3.9",  "3.10",  "3.11", "3.11-debian",
                               "3.12", "3.13", "3.13t", "3.14"};

}  // namespace

TEST_CASE("a process that ended after its interpreters were found is read as nothing") {
  struct Gone : RemoteMemory {
    [[nodiscard]] std::size_t read(std::span<const RemoteSpan>) override { return 0; }
  } gone;
  python::testing::Image image = imageOf("3.12");
  auto found = Interpreters::attach(image.runtime, image);
  REQUIRE(found.ok());
  std::vector<std::uint8_t> states;
  CHECK_FALSE(found.value().list(gone, [](std::uint32_t) { return true; }));
  CHECK_FALSE(found.value().refresh(gone, {}, states, {}).has_value());
}

TEST_CASE("every CPython's memory gives the stacks the program said it had") {
  for (const char* name : kImages) {
    INFO(name);
    python::testing::Image image = imageOf(name);
    const python::testing::Sample sample = inspect(image);
    CHECK(sample.wrong.empty());
    std::vector<std::string> stacks;
    for (const python::testing::Stack& stack : sample.stacks)
      stacks.push_back(python::testing::describe(stack));
    CHECK(stacks == image.stacks);
    REQUIRE(stacks.size() == 4);
    // What target.py is made to show: a generator, a call through C, a recursion, a name and a
    // line table of their own.
    CHECK(stacks[2].find("through_generator:target.py:38 generator:target.py:31 ") !=
          std::string::npos);
    CHECK(stacks[2].ends_with("wait:target.py:24"));
    CHECK(stacks[1].find("deep:target.py:45 deep:target.py:45 deep:target.py:45 "
                         "deep:target.py:46 wait:target.py:24") != std::string::npos);
    CHECK(stacks[0].find("na\xc3\xafve:target.py:50 <module>:made up.py:301 ") !=
          std::string::npos);
  }
}

TEST_CASE("memory that lies gives no stack, or another one, but never a crash") {
  for (const char* name : kImages) {
    python::testing::Image image = imageOf(name);
    std::uint64_t random = 88172645463325252ull;
    const auto next = [&] {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      return random;
    };
    const auto good = image.ranges;
    for (int round = 0; round < 300; ++round) {
      image.ranges = good;
      for (std::uint64_t i = 0, changes = 1 + next() % 8; i < changes; ++i) {
        auto range = image.ranges.begin();
        std::advance(range, next() % image.ranges.size());
        if (range->second.empty()) continue;
        auto& byte = range->second[next() % range->second.size()];
        byte = static_cast<std::uint8_t>(next());
        if (next() % 4 == 0) range->second.resize(next() % range->second.size());
      }
      const python::testing::Sample sample = inspect(image);
      CHECK(sample.stacks.size() <= 8192);
    }
  }
}

TEST_CASE("a runtime of a version that is not known is said to be so") {
  python::testing::Image image = imageOf("3.13");
  auto& head = image.ranges[image.runtime.at];
  REQUIRE(head.size() >= kDebugOffsetsBytes);
  head[8 + 2] = 15;  // the minor version
  CHECK(inspect(image).wrong == "CPython 3.15.0 is not known yet");
  CHECK_FALSE(layoutOf(7).has_value());
  CHECK_FALSE(layoutOf(14).has_value());
}

TEST_CASE("what 3.13 reports itself is what its headers say") {
  python::testing::Image image = imageOf("3.13");
  const auto reported = layoutFromDebugOffsets(image.ranges[image.runtime.at]);
  const auto known = layoutOf(13);
  REQUIRE(reported.has_value());
  REQUIRE(known.has_value());
  CHECK(reported->interpreters == known->interpreters);
  CHECK(reported->interpreterNext == known->interpreterNext);
  CHECK(reported->threads == known->threads);
  CHECK(reported->collecting == known->collecting);
  CHECK(reported->gil == known->gil);
  CHECK(reported->gilHolder == known->gilHolder);
  CHECK(reported->gilLocked == known->gilLocked);
  CHECK(reported->frame == known->frame);
  CHECK(reported->chunk == known->chunk);
  CHECK(reported->threadNative == known->threadNative);
  CHECK(reported->back == known->back);
  CHECK(reported->instruction == known->instruction);
  CHECK(reported->owner == known->owner);
  CHECK(reported->lineTable == known->lineTable);
  CHECK(reported->codeUnits == known->codeUnits);
  CHECK(reported->asciiData == known->asciiData);
  CHECK(reported->compactData == known->compactData);
}

namespace {

// CPython's struct _gil_runtime_state, with the C library's own conditions.
struct Lock {
  unsigned long interval = 5000;
  void* holder = nullptr;
  int locked = 1;
  unsigned long switches = 0;
  pthread_cond_t taken = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t handedOver = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t handOver = PTHREAD_MUTEX_INITIALIZER;
};

// Waits as take_gil does (or as drop_gil on request), until `done`; says when it is inside.
struct Waiter {
  Lock& lock;
  bool gaveItUp;
  int inside = 0;
  bool done = false;
  std::thread thread{[this] {
    pthread_mutex_t& mutex = gaveItUp ? lock.handOver : lock.mutex;
    pthread_mutex_lock(&mutex);
    ++inside;  // seen only by who has the mutex: the wait has begun
    while (!done) pthread_cond_wait(gaveItUp ? &lock.handedOver : &lock.taken, &mutex);
    pthread_mutex_unlock(&mutex);
  }};
  void awaitInside() {
    pthread_mutex_t& mutex = gaveItUp ? lock.handOver : lock.mutex;
    for (int seen = 0; seen == 0;) {
      pthread_mutex_lock(&mutex);
      seen = inside;
      pthread_mutex_unlock(&mutex);
      std::this_thread::yield();
    }
  }
  void end() {
    pthread_mutex_t& mutex = gaveItUp ? lock.handOver : lock.mutex;
    pthread_mutex_lock(&mutex);
    done = true;
    pthread_cond_broadcast(gaveItUp ? &lock.handedOver : &lock.taken);
    pthread_mutex_unlock(&mutex);
    thread.join();
  }
};

}  // namespace

TEST_CASE("the lock shows how many wait for it, asleep or awake") {
  python::testing::Image image = imageOf("3.11");
  auto attached = Interpreters::attach(image.runtime, image);
  REQUIRE(attached.ok());
  Interpreters interpreters = std::move(attached).value();
  const auto isThread = [&](std::uint32_t tid) {
    return std::find(image.threads.begin(), image.threads.end(), tid) != image.threads.end();
  };
  REQUIRE(interpreters.list(image, isThread));
  REQUIRE(interpreters.threads().size() == 4);
  Lock lock;
  const auto waiting = [&] {
    auto& bytes = image.ranges[interpreters.interpreters()[0].gil];
    bytes.resize(sizeof lock);
    std::memcpy(bytes.data(), &lock, sizeof lock);
    return interpreters.waiting(0, image);
  };
  CHECK(waiting() == 0);
  Waiter asks{lock, false}, asksToo{lock, false}, gaveItUp{lock, true};
  asks.awaitInside();
  asksToo.awaitInside();
  CHECK(waiting() >= 2);
  gaveItUp.awaitInside();
  CHECK(waiting() == 3);
  asks.end();
  asksToo.end();
  gaveItUp.end();
  CHECK(waiting() == 0);
  // glibc 2.42: __wrefs at 28, and a sequence at 36.
  const auto newer = [&](pthread_cond_t& condition, std::uint32_t waits) {
    const std::uint32_t words[] = {waits * 8, 4097, 8193};
    std::memset(&condition, 0, sizeof condition);
    std::memcpy(reinterpret_cast<char*>(&condition) + 28, words, sizeof words);
  };
  newer(lock.taken, 2);
  newer(lock.handedOver, 1);
  CHECK(waiting() == 3);
  // Another C library's condition: more than there are threads is no count of them.
  std::memset(&lock.taken, 0xff, sizeof lock.taken);
  CHECK(waiting() == 0);
}

TEST_CASE("offsets that cannot be are refused as a whole") {
  python::testing::Image image = imageOf("3.13");
  const auto head = image.ranges[image.runtime.at];
  for (std::size_t word = 3; word < 44; ++word) {  // to the end of the code object's
    auto bad = head;
    bad[word * 8 + 5] = 1;  // 2^40 more
    const auto reported = layoutFromDebugOffsets(bad);
    if (reported)
      CHECK(reported->threadBytes == layoutOf(13)->threadBytes);  // a field we do not use
  }
  auto cut = head;
  cut.resize(100);
  CHECK_FALSE(layoutFromDebugOffsets(cut).has_value());
}

TEST_CASE("a thread that runs its own copy of the instructions is at the code's lines") {
  // Free-threaded 3.14, as tests/fuzz/python_seeds.cpp makes it: both frames run copy 1.
  std::ifstream file(std::string(STALLPROF_TESTS_DIR) + "/fuzz/corpus/python_stack/3.14t",
                     std::ios::binary);
  std::vector<std::uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
  REQUIRE(bytes.size() > 4096);
  const auto sample = [&] {
    python::testing::InputMemory memory({bytes.data() + 4, bytes.size() - 4});
    python::testing::Kept kept;
    return python::testing::sampleOnce(
        Runtime{}, memory, [](std::uint32_t tid) { return tid == 5; }, kept);
  };
  const python::testing::Sample good = sample();
  REQUIRE(good.stacks.size() == 1);
  CHECK(python::testing::describe(good.stacks[0]) == "5 work:train.py:8 work:train.py:8");
  bytes[4 + 0xf80] = 1;  // the list has no copy 1 any more: no line is better than a wrong one
  CHECK(python::testing::describe(sample().stacks[0]) == "5 work:train.py:0 work:train.py:0");
}
