// SPDX-License-Identifier: MIT
#include "stallprof/annotate.h"

#include <sys/wait.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "event/event.h"
#include "recording/memory/event_memory.h"
#include "tests/catch.h"
#include "tests/unit/recording/job_memory.h"

namespace stallprof {
namespace {

// ---- the header cannot include ours, so it says the same again

static_assert(STALLPROF_A_MAGIC == STALLPROF_MEMORY_MAGIC);
static_assert(STALLPROF_MEMORY_VERSION == 1);
static_assert(STALLPROF_A_SLOTS == STALLPROF_MEMORY_SLOTS);
static_assert(STALLPROF_A_RING == STALLPROF_RING_BYTES);
static_assert(STALLPROF_A_BYTES == STALLPROF_MEMORY_BYTES);
static_assert(std::string_view(STALLPROF_A_VARIABLE) == STALLPROF_MEMORY_VARIABLE);
static_assert(STALLPROF_A_PAGE == sizeof(stallprof_memory_header));
static_assert(STALLPROF_A_PAGE == offsetof(stallprof_slot, data));
static_assert(STALLPROF_A_SLOT == sizeof(stallprof_slot));
static_assert(offsetof(stallprof_a_header, closed) == offsetof(stallprof_memory_header, closed));
static_assert(offsetof(stallprof_a_slot, start) == offsetof(stallprof_slot, start_ticks));
static_assert(offsetof(stallprof_a_slot, head) == offsetof(stallprof_slot, head));
static_assert(offsetof(stallprof_a_slot, dropped) == offsetof(stallprof_slot, dropped));
static_assert(offsetof(stallprof_a_slot, tail) == offsetof(stallprof_slot, tail));
static_assert(sizeof(stallprof_record) == 24);
static_assert(STALLPROF_A_SPAN == PhaseSpan::kKind);
static_assert(STALLPROF_A_RANGE == Range::kKind);
static_assert(STALLPROF_EXTRACT == static_cast<int>(Phase::kExtract));
static_assert(STALLPROF_TRANSFORM == static_cast<int>(Phase::kTransform));
static_assert(STALLPROF_LOAD == static_cast<int>(Phase::kLoad));
static_assert(STALLPROF_COMPUTE == static_cast<int>(Phase::kCompute));
static_assert(STALLPROF_SYNC == static_cast<int>(Phase::kSync));
static_assert(STALLPROF_COMM == static_cast<int>(Phase::kComm));
static_assert(STALLPROF_PERIODIC == static_cast<int>(Phase::kPeriodic));
static_assert(STALLPROF_OTHER == static_cast<int>(Phase::kOther));

// ---- the recorder's side

using Recorder = testing::JobMemory;

Recorder& recorder() { return testing::emptied<Recorder>(); }

TEST_CASE("a phase that ended is a span of its thread, exact and a mark's") {
  Recorder& r = recorder();
  const std::uint64_t before = stallprof_a_now();
  const stallprof_mark mark = stallprof_phase_begin(STALLPROF_TRANSFORM);
  CHECK(r.drain().empty());
  stallprof_end(mark);
  const std::uint64_t after = stallprof_a_now();
  const std::vector<Event>& events = r.drain();
  REQUIRE(events.size() == 1);
  const auto& span = std::get<PhaseSpan>(events[0].payload);
  CHECK(span.phase == Phase::kTransform);
  CHECK(span.source == SpanSource::kMark);
  CHECK(span.thread.value == static_cast<std::uint32_t>(gettid()));
  CHECK(events[0].at >= Nanos(before));
  CHECK(events[0].at + span.duration <= Nanos(after));
  CHECK(span.duration >= Nanos(0));
  CHECK(span.name.none());
}

TEST_CASE("a step is a range of its own domain") {
  Recorder& r = recorder();
  { const StepMark step; }
  const std::vector<Event>& events = r.drain();
  REQUIRE(events.size() == 1);
  const auto& range = std::get<Range>(events[0].payload);
  CHECK(r.text(range.name) == "step");
  CHECK(r.text(range.domain) == "stallprof");
  CHECK(range.bytes == -1);
}

TEST_CASE("marks of a scope end innermost first") {
  Recorder& r = recorder();
  {
    const StepMark step;
    const PhaseMark outer(STALLPROF_COMPUTE);
    const PhaseMark inner(STALLPROF_COMM);
  }
  const std::vector<Event>& events = r.drain();
  REQUIRE(events.size() == 3);
  CHECK(std::get<PhaseSpan>(events[0].payload).phase == Phase::kComm);
  CHECK(std::get<PhaseSpan>(events[1].payload).phase == Phase::kCompute);
  CHECK(events[2].at <= events[1].at);
}

TEST_CASE("a forked child marks for itself, and ends nothing of its parent's") {
  Recorder& r = recorder();
  const stallprof_mark mine = stallprof_phase_begin(STALLPROF_LOAD);
  const pid_t child = fork();
  if (child == 0) {
    stallprof_end(mine);
    stallprof_end(stallprof_phase_begin(STALLPROF_EXTRACT));
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  stallprof_end(mine);
  const std::vector<Event> events = r.drain();
  REQUIRE(events.size() == 2);
  for (const Event& event : events) {
    const auto& span = std::get<PhaseSpan>(event.payload);
    const bool ours = span.phase == Phase::kLoad;
    CHECK(span.thread.value == static_cast<std::uint32_t>(ours ? getpid() : child));
  }
}

TEST_CASE("many threads at one time lose nothing uncounted") {
  Recorder& r = recorder();
  constexpr int kThreads = 4, kEach = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < kEach; ++i) stallprof_end(stallprof_phase_begin(STALLPROF_COMPUTE));
    });
  for (std::thread& thread : threads) thread.join();
  const std::vector<Event>& events = r.drain();
  std::uint64_t lost = 0;
  for (const Loss& loss : payloadsOf<Loss>(events)) lost += loss.count;
  CHECK(payloadsOf<PhaseSpan>(events).size() + lost == kThreads * kEach);
}

TEST_CASE("what has no room is dropped and counted, and the ring goes on over its end") {
  Recorder& r = recorder();
  constexpr std::size_t kMarks = 3000;  // 48 bytes each: twice what a ring holds
  for (std::size_t i = 0; i < kMarks; ++i) stallprof_end(stallprof_phase_begin(STALLPROF_COMPUTE));
  const std::vector<Event>& events = r.drain();
  const auto losses = payloadsOf<Loss>(events);
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].kind == LossKind::kRingFull);
  CHECK(payloadsOf<PhaseSpan>(events).size() + losses[0].count == kMarks);
  CHECK(payloadsOf<PhaseSpan>(events).size() > 1000);
  // Records of 48 and of 72 bytes: sooner or later one does not fit before the end.
  for (int round = 0; round < 500; ++round) {
    stallprof_end(stallprof_phase_begin(STALLPROF_COMPUTE));
    stallprof_end(stallprof_step_begin());
    CHECK(r.drain().size() == 2);
  }
}

TEST_CASE("a mark ended twice or never begun does no harm") {
  Recorder& r = recorder();
  stallprof_end(stallprof_mark{});
  CHECK(r.drain().empty());
}

TEST_CASE("a child forked while another thread opened the memory does not wait for that thread") {
  const stallprof_a_state kept = stallprof_a_state_;
  stallprof_a_state_.open = 1;  // as such a child finds it
  CHECK(stallprof_step_begin().at == 0);
  stallprof_a_state_ = kept;
}

TEST_CASE("after the recorder is gone marks do nothing") {
  Recorder& r = recorder();
  const stallprof_mark mark = stallprof_step_begin();
  r.memory->close();
  stallprof_end(mark);
  CHECK(r.drain().empty());
}

}  // namespace
}  // namespace stallprof
