// SPDX-License-Identifier: MIT
#include "trace/coarsener.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "trace/trace_builder.h"

using namespace stallprof;
using namespace std::chrono_literals;

namespace {

constexpr ProcessId kProcess{1};
constexpr ThreadId kThread{1};
constexpr StackId kReads{1}, kDecodes{2};

// A thread that reads for 90 ms of each 110 ms and decodes for 20: a sample each 10 ms; samples in
// a row that saw the same are one slice, as a recorder writes them.
Trace reader(Nanos length, const TraceBounds& bounds, bool fetches = true, Nanos stray = 1s) {
  TraceBuilder builder(bounds);
  builder.take({stray, Loss{}});
  builder.take({1s, ProcessSeen{kProcess, {}, 7, 0, {}, {}, {}}});
  builder.take({1s, ThreadSeen{kThread, kProcess, 7, {}}});
  for (Nanos at = 1s; at < 1s + length; at += 110ms) {
    if (fetches) builder.take({at, Fetch{kThread, 1, 1, 100ms, 10ms, 1, 0, 0, false, {}}});
    builder.take({at, ThreadSlice{kThread, Wait::kFileRead, 90ms, 9ms, 1ms, {}, 9}});
    builder.take({at + 90ms, ThreadSlice{kThread, Wait::kRunning, 20ms, 20ms, 0ms, {}, 2}});
    builder.take({at + 10ms, StackSlice{kThread, kReads, 80ms, 9, Gil::kUnknown, false}});
    builder.take({at + 100ms, StackSlice{kThread, kDecodes, 10ms, 2, Gil::kUnknown, false}});
  }
  return builder.seal();
}

TraceBounds maxRows(std::size_t rows) { return {rows, rows, rows}; }

struct Sums {
  Nanos run{}, queued{};
  double waiting = 0, waits = 0, reading = 0, samples = 0;
};

Sums sumsOf(const Trace& trace) {
  Sums sums;
  for (const auto& row : trace.thread(kThread).slices) {
    sums.run += row.data.run;
    sums.queued += row.data.queued;
    sums.waits += seconds(row.data.duration);
    if (row.data.wait == Wait::kFileRead) sums.waiting += seconds(row.data.duration);
  }
  for (const auto& row : trace.thread(kThread).stacks) {
    sums.samples += row.data.samples;
    if (row.data.stack == kReads) sums.reading += row.data.samples;
  }
  return sums;
}

std::string sourcesOf(const Trace& trace) {
  std::string names;
  for (const auto& row : trace.sources) names += std::string(trace.text(row.data.source)) + " ";
  return names;
}

}  // namespace

TEST_CASE("a run within its bounds is kept sample by sample, and nothing is said of it") {
  const Trace trace = reader(11s, maxRows(400));
  CHECK(trace.thread(kThread).slices.size() == 200);
  CHECK(trace.thread(kThread).stacks.size() == 200);
  CHECK(sourcesOf(trace).empty());
}

TEST_CASE("a longer run has no more rows, exact sums, and the shares that it had") {
  const Sums all = sumsOf(reader(2h, TraceBounds::none()));
  for (const Nanos length : {Nanos(2h), Nanos(20h)}) {
    const Trace trace = reader(length, maxRows(40'000));
    const ThreadLife& thread = trace.thread(kThread);
    CHECK(thread.slices.size() + thread.stacks.size() <= 40'000);
    CHECK(thread.slices.size() > 4'000);
    const Sums some = sumsOf(trace);
    const auto times = static_cast<Nanos::rep>(length / 2h);
    CHECK(std::chrono::abs(some.run - times * all.run) < 300ms);  // but for the last steps
    CHECK(std::chrono::abs(some.queued - times * all.queued) < 300ms);
    CHECK(std::abs(some.waiting / some.waits - all.waiting / all.waits) < 0.03);
    CHECK(std::abs(some.reading / some.samples - all.reading / all.samples) < 0.03);
    CHECK(sourcesOf(trace) == "samples ");
    for (std::size_t i = 1; i < thread.slices.size(); ++i)
      REQUIRE(thread.slices[i].at >= thread.slices[i - 1].end());
  }
}

TEST_CASE("a time that is years off changes nothing of what is kept of the others") {
  const Trace trace = reader(2h, maxRows(4'000));
  const Trace strayed = reader(2h, maxRows(4'000), true, std::chrono::years(3));
  const auto same = [](const auto& tables, const auto& others) {
    return std::equal(tables.begin(), tables.end(), others.begin(), others.end(),
                      [](auto& a, auto& b) {
                        return a.at == b.at && a.data.duration == b.data.duration &&
                               a.data.samples == b.data.samples;
                      });
  };
  CHECK(strayed.end > trace.end);
  CHECK(trace.thread(kThread).slices.size() > 400);
  CHECK(same(trace.thread(kThread).slices, strayed.thread(kThread).slices));
  CHECK(same(trace.thread(kThread).stacks, strayed.thread(kThread).stacks));
}

TEST_CASE("what keeps step with the sampling period is met as often as it is there") {
  TraceBuilder builder(maxRows(20'000));
  builder.take({1s, ThreadSeen{kThread, kProcess, 7, {}}});
  for (Nanos at = 100s; at < 100s + 10h; at += 200ms) {
    builder.take({at, StackSlice{kThread, kReads, 90ms, 10, Gil::kUnknown, false}});
    builder.take({at + 100ms, StackSlice{kThread, kDecodes, 90ms, 10, Gil::kUnknown, false}});
  }
  builder.take({1s, OptimizerStep{kThread, 1ms, 1}});
  const Trace trace = builder.seal();
  const Sums sums = sumsOf(trace);
  CHECK(sums.samples > 4000);
  CHECK(std::abs(sums.reading / sums.samples - 0.5) < 0.02);
}

TEST_CASE("samples of a main thread without known steps are all kept: its loop is found by them") {
  const Trace trace = reader(2h, maxRows(40'000), false);
  CHECK(trace.thread(kThread).stacks.size() == 2 * 65455);
  CHECK(trace.thread(kThread).slices.size() < 40'000);
}

TEST_CASE("of counters the first and the last stay, and those between come less often") {
  TraceBuilder builder(maxRows(1000));
  for (int second = 0; second < 36'000; ++second) {
    ProcessUsage usage;
    usage.process = kProcess;
    usage.cpu = second * 1s;
    builder.take({second * 1s, usage});
  }
  const Trace trace = builder.seal();
  const auto& usage = trace.process(kProcess).usage;
  CHECK(usage.size() < 1000);
  CHECK(usage.size() > 400);
  CHECK(usage.front().data.cpu == 0s);
  CHECK(usage.back().data.cpu == 35'999s);
}

TEST_CASE("an interval recorded piece by piece stays complete or is no longer said to be") {
  TraceBuilder builder(maxRows(2000));
  std::uint32_t number = 0;
  for (int minute = 0; minute < 100; ++minute) {
    const Nanos begin = minute * 60s + 1s, length = minute == 50 ? Nanos(1100ms) : Nanos(1s);
    DeviceTrace traced;
    traced.process = kProcess;
    traced.duration = length;
    traced.kernels = traced.calls = traced.each = true;
    builder.take({begin, traced});
    for (int i = 0; i < 50; ++i) {
      DeviceWork work;
      work.process = kProcess;
      work.duration = 1ms;
      work.correlation = ++number;
      if (i % 10 == 0) work.kind = DeviceWorkKind::kToDevice;
      builder.take({begin + i * 20ms, work});
      DeviceCall call;
      call.process = kProcess;
      call.duration = 5us;
      call.correlation = number;
      call.kind = i % 10 == 0 ? DeviceCallKind::kCopy : DeviceCallKind::kLaunch;
      builder.take({begin + i * 20ms, call});
    }
  }
  const Trace trace = builder.seal();
  CHECK(trace.deviceWorks.size() + trace.deviceCalls.size() < 4000);  // of 10,000
  std::size_t whole = 0;
  for (const auto& row : trace.deviceTraces) {
    std::size_t works = 0;
    for (const auto& work : trace.deviceWorks) works += work.at >= row.at && work.at < row.end();
    CHECK(works == (row.data.each ? 50u : 5u));  // copies are the analysis's
    whole += row.data.each;
    if (row.data.duration > 1s) CHECK(row.data.each);
  }
  CHECK(whole > 3);
}
