// SPDX-License-Identifier: MIT
#include "sampler/slice_builder.h"

#include <map>
#include <random>

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/event_list.h"

using namespace stallprof;

namespace {

const Seen kRunning{Wait::kRunning, {}}, kPiped{Wait::kPipe, {}}, kFutex{Wait::kFutex, {}};

struct Sums {
  Nanos duration{}, run{}, queued{};
  bool endToEnd = true, sane = true;
};

Sums sumsOf(const EventList& list, Nanos begin) {
  Sums sums;
  Nanos expected = begin;
  for (const Event& event : list.events) {
    const auto& slice = std::get<ThreadSlice>(event.payload);
    sums.endToEnd = sums.endToEnd && event.at == expected;
    sums.sane = sums.sane && slice.run >= Nanos::zero() && slice.queued >= Nanos::zero() &&
                slice.run + slice.queued <= slice.duration;
    expected += slice.duration;
    sums.duration += slice.duration;
    sums.run += slice.run;
    sums.queued += slice.queued;
  }
  return sums;
}

// A builder's thread, and the slices of it. Times are in ms.
struct Built {
  explicit Built(double begin = 0, Nanos window = {}) {
    builder.start(ThreadId{1}, ms(begin));
    builder.setWindow(window);
  }
  void sample(double at, double run, double queued, const Seen& seen) {
    builder.sample(ms(at), ms(run), ms(queued), seen, list);
  }
  EventList& flushed() {
    builder.flush(list);
    return list;
  }
  EventList list;
  SliceBuilder builder;
};

// So many samples 10 ms apart that see a thread blocked in a pipe.
EventList inAPipe(int samples) {
  Built built;
  for (int i = 1; i <= samples; ++i) built.sample(10 * i, 0, 0, kPiped);
  return built.flushed();
}

}  // namespace

TEST_CASE("samples that see the same become one slice") {
  const EventList list = inAPipe(50);
  const auto slice = list.only<ThreadSlice>();
  CHECK(slice.duration == ms(500));
  CHECK(slice.samples == 50);
  CHECK(slice.wait == Wait::kPipe);
}

TEST_CASE("a slice is never longer than a second") {
  const EventList list = inAPipe(350);
  for (const ThreadSlice& slice : list.all<ThreadSlice>()) CHECK(slice.duration <= ms(1000));
  CHECK(sumsOf(list, ms(0)).duration == ms(3500));
}

TEST_CASE("a thread that ran and was seen blocked has the class it blocked in") {
  Built built;
  built.sample(10, 3, 1, kPiped);
  const EventList& list = built.flushed();
  const auto slice = list.only<ThreadSlice>();
  CHECK(slice.wait == Wait::kPipe);
  CHECK(slice.run == ms(3));
  CHECK(slice.queued == ms(1));
}

TEST_CASE("a sample that finds the thread running stays one, however long it was blocked before") {
  Built built;
  built.sample(10, 0, 0, kFutex);
  built.sample(20, 1, 0, kRunning);  // 9 ms of it blocked
  built.sample(30, 10, 0, kRunning);
  const EventList& list = built.flushed();
  const auto slices = list.all<ThreadSlice>();
  REQUIRE(slices.size() == 2);
  CHECK(slices[0].wait == Wait::kFutex);
  CHECK(slices[0].duration == ms(10));
  CHECK(slices[0].samples == 1);
  CHECK(slices[1].wait == Wait::kRunning);
  CHECK(slices[1].duration == ms(20));
  CHECK(slices[1].run == ms(11));
  CHECK(slices[1].samples == 2);
}

// The thread of this test is blocked in a pipe for 7 ms and in a futex for 3 ms of every 10, and is
// sampled every 11 ms: a tenth of the cycle further each time.
TEST_CASE("the share of samples is the share of time, with and without a window") {
  for (const Nanos window : {ms(0), ms(100), ms(1000)}) {
    Built built(0, window);
    for (int i = 1; i <= 1000; ++i) built.sample(11 * i, 0, 0, i % 10 < 7 ? kPiped : kFutex);
    const EventList& list = built.flushed();
    std::map<Wait, std::uint32_t> samples;
    for (const ThreadSlice& slice : list.all<ThreadSlice>()) samples[slice.wait] += slice.samples;
    CHECK(samples[Wait::kPipe] == 700);
    CHECK(samples[Wait::kFutex] == 300);
  }
}

TEST_CASE("run time that the kernel reports late is carried, not lost and not more than the wall") {
  Built built;
  built.sample(10, 8, 0, kRunning);
  built.sample(20, 12, 0, kPiped);  // 2 ms of these belong to the time before
  built.sample(30, 0, 0, kPiped);
  const EventList& list = built.flushed();
  const Sums sums = sumsOf(list, ms(0));
  CHECK(sums.run == ms(20));
  CHECK(sums.duration == ms(30));
  CHECK(sums.sane);
}

TEST_CASE("sums are exact for any script of samples, with and without a window") {
  for (const Nanos window : {ms(0), ms(100), ms(1000)}) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
      std::mt19937 random(seed);
      const auto pick = [&](int n) {
        return static_cast<int>(random() % static_cast<unsigned>(n));
      };
      EventList list;
      SliceBuilder builder;
      builder.start(ThreadId{1}, ms(5));
      builder.setWindow(window);
      Nanos now = ms(5), run{}, queued{}, late{};
      const Wait waits[] = {Wait::kRunning, Wait::kPipe,    Wait::kFutex, Wait::kFileRead,
                            Wait::kPoll,    Wait::kUnknown, Wait::kSleep};
      for (int i = 0; i < 400; ++i) {
        const Nanos step = ms(1 + pick(30));
        const Nanos ran = step * pick(101) / 100;
        const Nanos waited = (step - ran) * pick(101) / 100;
        // The kernel shows a part of the run time with the next sample only.
        const Nanos reported = late + ran * pick(2);
        late += ran - reported;
        now += step;
        run += reported;
        queued += waited;
        const Seen seen{waits[pick(7)], StringId{static_cast<std::uint32_t>(pick(3))}};
        builder.sample(now, reported, waited, seen, list);
      }
      now += ms(10'000);  // long asleep: room for all that was carried
      builder.sample(now, late, ms(0), kPiped, list);
      run += late;
      builder.flush(list);
      const Sums sums = sumsOf(list, ms(5));
      REQUIRE(sums.endToEnd);
      REQUIRE(sums.sane);
      REQUIRE(sums.duration == now - ms(5));
      REQUIRE(sums.run == run);
      REQUIRE(sums.queued == queued);
    }
  }
}

TEST_CASE("a window gathers alternating labels into one slice each") {
  Built built(0, ms(1000));
  for (int i = 1; i <= 100; ++i)
    built.sample(10 * i, i % 2 == 0 ? 10 : 0, 0, i % 2 == 0 ? kRunning : kPiped);
  const EventList& list = built.flushed();
  std::map<Wait, Nanos> time;
  for (const ThreadSlice& slice : list.all<ThreadSlice>()) time[slice.wait] += slice.duration;
  CHECK(list.events.size() <= 4);
  CHECK(time[Wait::kPipe] == ms(500));
  CHECK(time[Wait::kRunning] == ms(500));
}

TEST_CASE("a window with more labels than it can hold keeps the time and drops names first") {
  Built built(0, ms(1000));
  for (std::uint32_t i = 1; i <= 90; ++i)
    built.sample(10.0 * i, 0, 0, Seen{Wait::kFileRead, StringId{i}});
  const EventList& list = built.flushed();
  Nanos read{};
  for (const ThreadSlice& slice : list.all<ThreadSlice>())
    if (slice.wait == Wait::kFileRead) read += slice.duration;
  CHECK(read == ms(900));
  CHECK(list.events.size() <= 4);
}

TEST_CASE("the end of a thread that died between samples is unknown, not blocked") {
  Built built;
  built.sample(10, 0, 0, kPiped);
  built.builder.lose(ms(25), built.list);
  const auto slices = built.list.all<ThreadSlice>();
  REQUIRE(slices.size() == 2);
  CHECK(slices[1].wait == Wait::kUnknown);
  CHECK(slices[1].duration == ms(15));
  CHECK(slices[1].samples == 0);
}

TEST_CASE("a sample that is not later than the last adds no time") {
  Built built(10);
  built.sample(10, 2, 0, kPiped);
  built.sample(9, 0, 0, kPiped);
  built.sample(20, 0, 0, kPiped);
  const EventList& list = built.flushed();
  const Sums sums = sumsOf(list, ms(10));
  CHECK(sums.duration == ms(10));
  CHECK(sums.run == ms(2));
}

TEST_CASE("a pause in which the thread ran is a slice of no samples with its exact times") {
  Built built;
  built.sample(10, 10, 0, kRunning);
  built.builder.lose(ms(310), built.list, ms(200), ms(30));
  built.sample(320, 10, 0, kRunning);
  const EventList& list = built.flushed();
  const auto slices = list.all<ThreadSlice>();
  REQUIRE(slices.size() == 3);
  CHECK(slices[1].samples == 0);
  CHECK(slices[1].wait == Wait::kUnknown);
  CHECK(slices[1].run == ms(200));
  CHECK(slices[1].queued == ms(30));
  CHECK(slices[2].samples == 1);
  const Sums sums = sumsOf(list, ms(0));
  CHECK(sums.endToEnd);
  CHECK(sums.run == ms(220));
}
