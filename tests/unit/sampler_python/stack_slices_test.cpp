// SPDX-License-Identifier: MIT
#include "sampler/python/stack_slices.h"

#include "sampler/python/stack_tree.h"
#include "tests/catch.h"
#include "tests/unit/sampler/event_list.h"

using namespace stallprof;
using namespace stallprof::python;
using namespace std::chrono_literals;

namespace {

constexpr Nanos kPeriod = 10ms;
const StackSlices::Saw kA{StackId{1}, Gil::kHolds, false}, kB{StackId{2}, Gil::kHolds, false};

}  // namespace

TEST_CASE("samples in a row that saw the same are one slice, from the first to the last") {
  EventList list;
  StackSlices slices;
  for (const Nanos at : {100ms, 110ms, 120ms}) slices.sample(ThreadId{7}, at, kPeriod, kA, list);
  slices.sample(ThreadId{7}, 130ms, kPeriod, kB, list);
  slices.flush(ThreadId{7}, list);
  const auto reported = list.all<StackSlice>();
  REQUIRE(reported.size() == 2);
  CHECK(list.events[0].at == 100ms);
  CHECK(reported[0].duration == 20ms);
  CHECK(reported[0].samples == 3);
  CHECK(reported[0].thread == ThreadId{7});
  CHECK(list.events[1].at == 130ms);
  CHECK(reported[1].duration == 0ns);
  CHECK(slices.takeEmitted() == 2);
}

TEST_CASE("samples left out are a hole between two slices, not part of one") {
  EventList list;
  StackSlices slices;
  slices.sample(ThreadId{1}, 100ms, kPeriod, kA, list);
  slices.sample(ThreadId{1}, 200ms, kPeriod, kA, list);
  slices.flush(ThreadId{1}, list);
  REQUIRE(list.all<StackSlice>().size() == 2);
  CHECK(list.all<StackSlice>()[0].duration == 0ns);
}

TEST_CASE("a sleeper is reported once a second, and once in ten when it sleeps on") {
  EventList list;
  StackSlices slices;
  slices.sample(ThreadId{1}, 0ms, kPeriod, kA, list);
  Nanos reported{}, last{};
  std::uint64_t samples = 0;
  for (Nanos at = 50ms; at <= 60s; at += 50ms)
    slices.stillBlocked(ThreadId{1}, at, kPeriod, 0s, list);
  slices.flush(ThreadId{1}, list);
  for (const Event& event : list.events) {
    const auto& slice = std::get<StackSlice>(event.payload);
    CHECK(event.at >= last);
    reported += slice.duration;
    last = event.at + slice.duration;
    samples += slice.samples;
  }
  CHECK(last == 60s);
  CHECK(reported > 59s);
  CHECK(list.events.size() < 20);
  CHECK(samples > 5900);  // as if it had been sampled all the time
  CHECK(samples < 6100);
}

TEST_CASE("a sleeper is reported as seldom as its slices of time, where thousands sleep") {
  EventList list;
  StackSlices slices;
  slices.sample(ThreadId{1}, 0ms, kPeriod, kA, list);
  for (Nanos at = 5s; at <= 10min; at += 5s)
    slices.stillBlocked(ThreadId{1}, at, kPeriod, 60s, list);
  slices.flush(ThreadId{1}, list);
  std::uint64_t samples = 0;
  for (const StackSlice& slice : list.all<StackSlice>()) samples += slice.samples;
  CHECK(list.events.size() <= 11);
  CHECK(samples > 59900);
  CHECK(samples < 60100);
}

TEST_CASE("one frame with one way to it is one stack, whoever has it") {
  EventList list;
  StackTree tree;
  StackSeen frame;
  frame.function = list.intern("main");
  frame.line = 3;
  const StackId main = tree.node(frame, 1ns, list);
  frame.caller = main;
  frame.function = list.intern("read");
  const StackId read = tree.node(frame, 2ns, list);
  CHECK(tree.node(frame, 3ns, list) == read);
  frame.line = 4;
  CHECK(tree.node(frame, 3ns, list) != read);
  CHECK(list.all<StackSeen>().size() == 3);
  CHECK(list.all<StackSeen>()[1].caller == main);
  CHECK(main < read);
}

TEST_CASE("a tree that is full sends all further stacks to one, and counts them") {
  EventList list;
  StackTree tree;
  StackSeen frame;
  frame.function = list.intern("f");
  for (std::uint32_t line = 1; line < StackTree::kMax + 100; ++line) {
    frame.line = line;
    const StackId id = tree.node(frame, 1ns, list);
    CHECK(id.value <= StackTree::kMax);
  }
  CHECK(tree.takeFull() == 100);
  CHECK(tree.takeFull() == 0);
  CHECK(list.all<StackSeen>().size() == StackTree::kMax);
  CHECK(list.text(list.all<StackSeen>().back().function) == "(other)");
}
