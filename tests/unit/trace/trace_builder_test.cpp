// SPDX-License-Identifier: MIT
#include "trace/trace_builder.h"

#include "tests/catch.h"

using namespace stallprof;
using namespace std::chrono_literals;

namespace {

ThreadSlice slice(std::uint32_t thread, Nanos duration, Nanos run) {
  ThreadSlice s;
  s.thread = ThreadId{thread};
  s.duration = duration;
  s.run = run;
  return s;
}

}  // namespace

TEST_CASE("events out of order are sorted by time within their table") {
  TraceBuilder builder;
  builder.take({30ns, Gap{5ns, {}}});
  builder.take({10ns, Gap{1ns, {}}});
  const Trace trace = builder.seal();
  REQUIRE(trace.gaps.size() == 2);
  CHECK(trace.gaps[0].at == 10ns);
  CHECK(trace.begin == 10ns);
  CHECK(trace.end == 35ns);
}

TEST_CASE("overlapping slices keep every instant once, and the times of what is left") {
  TraceBuilder builder;
  builder.take({100ns, slice(1, 100ns, 100ns)});
  builder.take({150ns, slice(1, 100ns, 40ns)});  // half of it is there already
  builder.take({160ns, slice(1, 10ns, 10ns)});   // all of it is
  const Trace trace = builder.seal();
  const Table<ThreadSlice>& slices = trace.thread(ThreadId{1}).slices;
  REQUIRE(slices.size() == 2);
  CHECK(slices[1].at == 200ns);
  CHECK(slices[1].data.duration == 50ns);
  CHECK(slices[1].data.run == 20ns);
}

TEST_CASE("what is left of an overlapping slice has its share of the samples") {
  TraceBuilder builder;
  ThreadSlice late = slice(1, 100ns, 0ns);
  late.samples = 10;
  builder.take({100ns, slice(1, 100ns, 0ns)});
  builder.take({170ns, late});
  const Trace trace = builder.seal();
  REQUIRE(trace.thread(ThreadId{1}).slices.size() == 2);
  CHECK(trace.thread(ThreadId{1}).slices[1].data.samples == 7);
}

TEST_CASE("a life is there for every id, announced or not, and none for a forged one") {
  TraceBuilder builder;
  builder.take({5ns, slice(3, 10ns, 0ns)});
  builder.take({6ns, slice(0xffffffff, 10ns, 0ns)});
  builder.take({7ns, ThreadSeen{ThreadId{2}, ProcessId{0xfffffff0}, 4, {}}});
  const Trace trace = builder.seal();
  REQUIRE(trace.threads.size() == 3);
  CHECK(trace.threads[0].id == ThreadId{1});
  CHECK(trace.thread(ThreadId{9}).slices.empty());
  CHECK(trace.process(ProcessId{}).pid == 0);
}

TEST_CASE(
    "row 61: what is of lives beyond those that a trace holds is counted as that, not as damage") {
  TraceBuilder builder;
  const ThreadId beyond{TraceBuilder::kMaxLives + 1};
  builder.take({5ns, slice(3, 10ns, 0ns)});
  builder.take({6ns, slice(beyond.value, 10ns, 0ns)});
  builder.take({7ns, ThreadGone{beyond}});
  SECTION("alone") {}
  SECTION("beside what is no life at all") { builder.take({8ns, ThreadGone{}}); }
  const Trace trace = builder.seal();
  CHECK(trace.threads.size() == 3);
  REQUIRE(!trace.losses.empty());
  CHECK(trace.losses[0].data.kind == LossKind::kLivesFull);
  CHECK(trace.losses[0].data.count == 2);
}

TEST_CASE("a life whose number nothing before it leads to costs no memory: it is damage") {
  TraceBuilder builder;
  builder.take({5ns, slice(3, 10ns, 0ns)});
  builder.take({6ns, slice(TraceBuilder::kMaxLives, 10ns, 0ns)});
  builder.take({7ns, ProcessGone{ProcessId{TraceBuilder::kMaxLives}}});
  const Trace trace = builder.seal();
  CHECK(trace.threads.size() == 3);
  CHECK(trace.processes.empty());
  REQUIRE(trace.losses.size() == 1);
  CHECK(trace.losses[0].data.kind == LossKind::kFrameDamaged);
  CHECK(trace.losses[0].data.count == 2);
}

TEST_CASE("times that cannot be are dropped and counted") {
  TraceBuilder builder;
  builder.take({-1ns, Gap{1ns, {}}});
  builder.take({1ns, Gap{-1ns, {}}});
  builder.take({Nanos::max(), Gap{1ns, {}}});
  builder.take({1ns, Gap{std::chrono::hours(24 * 120), {}}});  // sums of such would overflow
  const Trace trace = builder.seal();
  CHECK(trace.gaps.empty());
  REQUIRE(trace.losses.size() == 1);
  CHECK(trace.losses[0].data.count == 4);
}

TEST_CASE("a slice's CPU time that cannot be is cut, so that sums fit") {
  TraceBuilder builder;
  builder.take({0s, slice(1, 1s, Nanos::max())});
  builder.take({1s, slice(1, 1s, Nanos::min())});
  builder.take({2s, slice(1, 1s, 1005ms)});  // read a little later
  const Trace trace = builder.seal();
  const Table<ThreadSlice>& slices = trace.thread(ThreadId{1}).slices;
  REQUIRE(slices.size() == 3);
  CHECK(slices[0].data.run == 2s);
  CHECK(slices[1].data.run == 0s);
  CHECK(slices[2].data.run == 1005ms);
}

TEST_CASE("a task whose offsets decrease is pulled straight") {
  TraceBuilder builder;
  WorkerTask task;
  task.fetchBegin = 50ns;
  task.fetchEnd = 20ns;
  task.putEnd = 30ns;
  builder.take({1ns, task});
  const Trace trace = builder.seal();
  REQUIRE(trace.tasks.size() == 1);
  CHECK(trace.tasks[0].data.fetchEnd == 50ns);
  CHECK(trace.tasks[0].data.putEnd == 50ns);
}

TEST_CASE("an identity recorded again keeps its first instant and its last name") {
  TraceBuilder builder;
  const StringId a = builder.strings().intern("sh"), b = builder.strings().intern("python3");
  builder.take({10ns, ProcessSeen{ProcessId{1}, {}, 9, 0, a, {}, {}}});
  builder.take({20ns, ProcessSeen{ProcessId{1}, {}, 9, 0, b, {}, {}}});
  const Trace trace = builder.seal();
  CHECK(trace.process(ProcessId{1}).seen == 10ns);
  CHECK(trace.text(trace.process(ProcessId{1}).comm) == "python3");
}

TEST_CASE("a stack is found by its id, and the way to its callers ends, however forged") {
  TraceBuilder builder;
  StackSeen outer{StackId{1}, {}, builder.strings().intern("main"), {}, 3};
  StackSeen inner{StackId{4}, StackId{1}, builder.strings().intern("read"), {}, 7};
  StackSeen circle{StackId{2}, StackId{3}, {}, {}, 1}, itself{StackId{3}, StackId{3}, {}, {}, 1};
  StackSeen forged{StackId{TraceBuilder::kMaxStacks + 1}, {}, {}, {}, 1};
  for (const StackSeen& s : {inner, outer, circle, itself, forged}) builder.take({5ns, s});
  builder.take({2ns, inner});  // the same one, as an earlier segment has it
  const Trace trace = builder.seal();
  REQUIRE(trace.stacks.size() == 4);
  CHECK(trace.stack(StackId{4}).line == 7);
  CHECK(trace.stacks[3].at == 2ns);
  CHECK(trace.text(trace.stack(trace.stack(StackId{4}).caller).function) == "main");
  CHECK(trace.stack(StackId{2}).stack.none());
  CHECK(trace.stack(StackId{99}).stack.none());
  REQUIRE(trace.losses.size() == 1);
  CHECK(trace.losses[0].data.count == 3);
}

TEST_CASE("samples of a thread's stack are its own, by time") {
  TraceBuilder builder;
  builder.take({40ns, StackSlice{ThreadId{2}, StackId{1}, 20ns, 3, Gil::kHolds, true}});
  builder.take({10ns, StackSlice{ThreadId{2}, StackId{1}, 0ns, 1, Gil::kWaits, false}});
  const Trace trace = builder.seal();
  const Table<StackSlice>& samples = trace.thread(ThreadId{2}).stacks;
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].data.gil == Gil::kWaits);
  CHECK(samples[1].end() == 60ns);
  CHECK(samples[1].data.gc);
}

TEST_CASE("a slice has no more samples than a recorder gives one") {
  TraceBuilder builder;
  const auto forged = std::numeric_limits<std::uint32_t>::max();
  builder.take({10ns, StackSlice{ThreadId{2}, StackId{1}, 60s, forged}});
  builder.take({120s, StackSlice{ThreadId{2}, StackId{1}, 60s, 60'000}});
  const Trace trace = builder.seal();
  const Table<StackSlice>& samples = trace.thread(ThreadId{2}).stacks;
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].data.samples == TraceBuilder::kMaxSamples);
  CHECK(samples[1].data.samples == 60'000);
}

TEST_CASE("a part holds what has come, and released rows are dropped") {
  TraceBounds bounds;
  bounds.program = 1000;
  int parts = 0;
  TraceBuilder builder(bounds);
  const auto readPart = [&] {
    if (!builder.full()) return;
    const Trace& trace = builder.part();
    ++parts;
    CHECK(trace.processes.size() == 1);
    CHECK(trace.process(ProcessId{1}).threads.size() == 1);
    for (std::size_t i = 1; i < trace.fetches.size(); ++i)
      REQUIRE(trace.fetches[i].at > trace.fetches[i - 1].at);
    builder.release({trace.end, {{10s, 12s}}});
  };
  builder.take({1s, ThreadSeen{ThreadId{1}, ProcessId{1}, 7, {}}});
  for (int i = 1; i <= 2000; ++i) {
    builder.take({i * 1s, Fetch{ThreadId{1}, 1, 1, 100ms, 10ms, i, 0, 0, false, {}}});
    readPart();
    PhaseSpan span{
        ThreadId{1}, 1ms, i % 2 ? Phase::kPeriodic : Phase::kCompute, SpanSource::kMark, {}, {}, 0};
    builder.take({i * 1s, span});
    readPart();
  }
  const Trace trace = builder.seal();
  CHECK(parts == 3);
  CHECK(trace.fetches.size() < 700);
  CHECK(trace.fetches[0].at == 10s);
  CHECK(trace.fetches[1].at == 11s);
  CHECK(trace.fetches[2].at > 1000s);
  CHECK(trace.fetches.back().at == 2000s);
  std::size_t checkpoints = 0;
  for (const auto& row : trace.spans) checkpoints += row.data.phase == Phase::kPeriodic;
  CHECK(checkpoints == 1000);
  CHECK(trace.begin == 1s);
}

TEST_CASE("a builder of which nothing is released is full again when it holds twice as much") {
  TraceBounds bounds;
  bounds.program = 100;
  std::vector<std::size_t> asked;
  TraceBuilder builder(bounds);
  for (int i = 1; i <= 1000; ++i) {
    builder.take({i * 1s, OptimizerStep{ThreadId{1}, 1ms, 1}});
    if (!builder.full()) continue;
    asked.push_back(builder.part().optimizerSteps.size());
    builder.release({});
  }
  CHECK(asked == std::vector<std::size_t>{101, 203, 407, 815});
  CHECK(builder.seal().optimizerSteps.size() == 1000);
}
