// SPDX-License-Identifier: MIT
#include "trace/live_window.h"

#include "tests/catch.h"

using namespace stallprof;
using namespace std::chrono_literals;

namespace {

Fetch fetch(std::uint32_t thread, Nanos duration) {
  return {.thread = ThreadId{thread}, .duration = duration};
}

}  // namespace

TEST_CASE("a window holds the latest interval, and who was there before it") {
  LiveWindow window(10s);
  window.take({1s, ProcessSeen{{1}, {}, 7, 9, window.strings().intern("python"), {}, {}}});
  window.take({1s, ThreadSeen{{1}, {1}, 7, window.strings().intern("main")}});
  for (int i = 2; i < 100; ++i) window.take({i * 1s, fetch(1, 500ms)});
  const Trace trace = window.trace({});
  CHECK(window.batches() == 98);
  CHECK(window.latest() == 99500ms);
  CHECK(trace.fetches.size() == 10);
  CHECK(trace.begin == 89500ms);
  REQUIRE(trace.threads.size() == 1);
  CHECK(trace.text(trace.threads[0].name) == "main");
  CHECK(trace.process(ProcessId{1}).pid == 7);
}

TEST_CASE("the last word of an identity is kept, and a life that ended long ago is not") {
  LiveWindow window(10s);
  const auto name = [&](const char* text) { return window.strings().intern(text); };
  window.take({1s, ProcessSeen{{1}, {}, 7, 9, name("sh"), {}, {}}});
  window.take({2s, ProcessSeen{{1}, {}, 7, 9, name("python"), {}, {}}});
  window.take({2s, ProcessSeen{{2}, {1}, 8, 9, name("gone"), {}, {}}});
  window.take({3s, ProcessGone{{2}}});
  window.take({4s, fetch(1, 1s)});
  CHECK(window.trace({}).processes.size() == 2);
  window.take({60s, fetch(1, 1s)});
  const Trace trace = window.trace({});
  REQUIRE(trace.processes.size() == 1);
  CHECK(trace.text(trace.processes[0].comm) == "python");
}

TEST_CASE("lives of a run that has had very many are in its window") {
  LiveWindow window(10s);
  constexpr std::uint32_t kLate = 300'000;
  for (std::uint32_t id = 1; id <= kLate; ++id) {
    const Nanos at = 1s + id * 100us;
    window.take({at, ThreadSeen{{id}, {1}, id, {}}});
    if (id < kLate) window.take({at + 50us, ThreadGone{{id}}});
  }
  window.take({40s, fetch(kLate, 500ms)});
  const Trace trace = window.trace({});
  CHECK(trace.fetches.size() == 1);
  REQUIRE(trace.threads.size() == kLate);
  CHECK(trace.threads.back().seen < 40s);
}

TEST_CASE("iterators of one thread are kept apart: a validation does not end the training's") {
  LiveWindow window(10s);
  window.take({1s, ThreadSeen{{1}, {1}, 7, window.strings().intern("main")}});
  for (const std::uint32_t loader : {1u, 2u}) {
    IteratorBegin iterator;
    iterator.thread = ThreadId{1};
    iterator.loader = iterator.epoch = loader;
    iterator.key = 10 + loader;
    window.take({loader * 1s, iterator});
  }
  for (int i = 20; i < 40; ++i) window.take({i * 1s, fetch(1, 500ms)});
  CHECK(window.trace({}).iterators.size() == 2);
  window.take({41s, ThreadGone{{1}}});
  window.take({60s, fetch(2, 1s)});
  CHECK(window.trace({}).iterators.empty());
}

TEST_CASE("the recorder's cost is that of the window") {
  LiveWindow window(10s);
  CHECK(window.recorderCpuRatio() < 0);
  for (int i = 0; i < 100; ++i) {
    RecorderUsage usage;
    usage.cpu = i < 50 ? i * 100ms : 5s + i * 10ms;  // dear at first
    window.take({i * 1s, usage});
  }
  CHECK(window.recorderCpuRatio() > 0.0099);
  CHECK(window.recorderCpuRatio() < 0.0101);
}

TEST_CASE("the end of the command is seen") {
  LiveWindow window(10s);
  CHECK_FALSE(window.commandEnded());
  window.take({1s, CommandEnd{0, -1, 0}});
  CHECK(window.commandEnded());
}
