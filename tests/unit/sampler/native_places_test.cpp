// SPDX-License-Identifier: MIT
#include "sampler/perf/native_places.h"

#include "event_list.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

constexpr Nanos kStart{1'000'000'000};

}  // namespace

TEST_CASE("samples of one place are one slice, of another thread, frame or file another") {
  EventList list;
  NativePlaces places;
  const StringId a = list.intern("/lib/a.so"), b = list.intern("/lib/b.so");
  places.add(ThreadId{1}, StackId{3}, {a, {}, 0x1004}, kStart);
  places.add(ThreadId{1}, StackId{3}, {a, {}, 0x1008}, kStart);  // a neighbour
  places.add(ThreadId{1}, StackId{3}, {a, {}, 0x1010}, kStart);  // the next place
  places.add(ThreadId{2}, StackId{3}, {a, {}, 0x1004}, kStart);
  places.add(ThreadId{1}, StackId{4}, {a, {}, 0x1004}, kStart);
  places.add(ThreadId{1}, StackId{3}, {b, {}, 0x1004}, kStart);
  places.flush(kStart + NativePlaces::kWindow, list, false);
  const auto slices = list.all<NativeSlice>();
  REQUIRE(slices.size() == 5);
  std::uint32_t samples = 0;
  for (const NativeSlice& slice : slices) {
    samples += slice.samples;
    CHECK(slice.duration == NativePlaces::kWindow);
    if (slice.samples == 2) CHECK(slice.offset == 0x1004);
  }
  CHECK(samples == 6);
  CHECK(list.events.front().at == kStart);
}

TEST_CASE("code made at run time is one slice a function, where that has a name") {
  EventList list;
  NativePlaces places;
  const StringId jit = list.intern("[jit]"), f = list.intern("f"), g = list.intern("g");
  places.add(ThreadId{1}, {}, {jit, {}, 0x1000, f, true}, kStart);
  places.add(ThreadId{1}, {}, {jit, {}, 0x1000, f, true}, kStart);
  places.add(ThreadId{1}, {}, {jit, {}, 0x1000, g, true}, kStart);  // made in its place
  places.flush(kStart, list, true);
  const auto slices = list.all<NativeSlice>();
  REQUIRE(slices.size() == 2);
  for (const NativeSlice& slice : slices) CHECK(slice.samples == (slice.function == f ? 2u : 1u));
}

TEST_CASE("slices are reported when their window is over, or at the end") {
  EventList list;
  NativePlaces places;
  places.flush(kStart, list, true);
  places.add(ThreadId{1}, {}, {list.intern("/lib/a.so"), {}, 16}, kStart);
  places.flush(kStart + NativePlaces::kWindow - Nanos(1), list, false);
  CHECK(list.events.empty());
  places.flush(kStart + Nanos(5), list, true);
  CHECK(list.all<NativeSlice>().size() == 1);
  places.flush(kStart + Nanos(9), list, true);
  CHECK(list.all<NativeSlice>().size() == 1);
}

TEST_CASE("past the room of a window the first place of a kilobyte stands for those near it") {
  EventList list;
  NativePlaces places;
  const StringId a = list.intern("/lib/a.so"), b = list.intern("/lib/b.so");
  for (std::size_t i = 0; i < NativePlaces::kMaxRows; ++i)
    places.add(ThreadId{1}, {}, {a, {}, NativePlaces::kNeighbours * (i + 1)}, kStart);
  // Eight threads in five functions, everywhere in them.
  for (std::uint32_t thread = 2; thread < 10; ++thread)
    for (std::uint64_t at = 1; at < 5 * NativePlaces::kCoarse; at += 16)
      places.add(ThreadId{thread}, {}, {b, {}, 0x10000 + at}, kStart, {a, {}, 0x500 + at});
  places.flush(kStart, list, true);
  std::size_t rows = 0, samples = 0;
  for (const NativeSlice& slice : list.all<NativeSlice>()) {
    CHECK(slice.offset != 0);
    if (slice.file != b) continue;
    ++rows;
    samples += slice.samples;
    CHECK(slice.offset % NativePlaces::kCoarse == 1);  // one that was seen
    CHECK(slice.callerFile.none());
  }
  CHECK(rows == 8 * 5);
  CHECK(samples == 8 * 5 * NativePlaces::kCoarse / 16);
  CHECK(list.all<Loss>().empty());
}

TEST_CASE("past that, places of a file are not distinguished, and no sample is lost unreported") {
  EventList list;
  NativePlaces places;
  const StringId a = list.intern("/lib/a.so");
  const std::size_t room = 2 * NativePlaces::kMaxRows, all = room + 500;
  for (std::size_t i = 0; i < all; ++i)
    places.add(ThreadId{1}, {}, {a, {}, NativePlaces::kCoarse * (i + 1)}, kStart);
  places.flush(kStart, list, true);
  const auto slices = list.all<NativeSlice>();
  CHECK(slices.size() == room + 1);
  std::size_t samples = 0, apart = 0;
  for (const NativeSlice& slice : slices) {
    samples += slice.samples;
    apart += slice.offset != 0;
  }
  CHECK(samples == all);
  CHECK(apart == room);
  const auto losses = list.all<Loss>();
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].kind == LossKind::kStacksFull);
  CHECK(losses[0].count == 500);
}
