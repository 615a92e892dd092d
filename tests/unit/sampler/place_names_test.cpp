// SPDX-License-Identifier: MIT
#include <fstream>

#include "event_list.h"
#include "sampler/perf/native_places.h"
#include "tests/catch.h"
#include "tests/unit/machine_code/small_elf.h"
#include "tests/unit/recording/temporary_directory.h"

using namespace stallprof;
using stallprof::testing::SmallElf;
using stallprof::testing::TemporaryDirectory;

namespace {

constexpr Nanos kLater = std::chrono::hours(1'000'000);  // than any file was written

std::string fileWith(const TemporaryDirectory& scratch, const char* name) {
  const std::string path = scratch / name;
  std::ofstream(path, std::ios::binary) << SmallElf()
                                               .load(0x1000, 0x1000, 0x1000)
                                               .buildId("\xab\xcd\xef")
                                               .symbol("work", 0x1000, 0x100)
                                               .symbol("rest", 0x1100, 0x100)
                                               .bytes();
  return path;
}

}  // namespace

TEST_CASE("each place that was sampled, and each that called, is named once, by its own build") {
  const TemporaryDirectory scratch;
  EventList list;
  const StringId file = list.intern(fileWith(scratch, "libx.so")), build = list.intern("abcdef");
  PlaceNames names;
  NativeSlice slice;
  slice.file = file;
  slice.build = build;
  slice.offset = 0x1010;
  names.add(slice);
  names.add(slice);
  NativeSlice called = slice;
  called.offset = 0;
  called.callerFile = file;
  called.callerBuild = build;
  called.callerOffset = 0x1110;
  names.add(called);
  NativeSlice other = slice;
  other.build = list.intern("000000");
  names.add(other);
  NativeSlice known = slice;  // of code made at run time
  known.offset = 0x1020;
  known.function = list.intern("f");
  names.add(known);
  names.emit(Nanos(7), kLater, false, list);
  const auto places = list.all<NativePlace>();
  REQUIRE(places.size() == 2);
  CHECK(list.text(places[0].function) == "work");
  CHECK(places[0].offset == 0x1010);
  CHECK(list.text(places[1].function) == "rest");
  CHECK(list.events.front().at == Nanos(7));
}

TEST_CASE("places past the room for them are left to the reader") {
  const TemporaryDirectory scratch;
  EventList list;
  NativeSlice slice;
  slice.file = list.intern(fileWith(scratch, "libx.so"));
  slice.build = list.intern("abcdef");
  PlaceNames names;
  for (slice.offset = 1; slice.offset <= PlaceNames::kMaxPlaces + 10; ++slice.offset)
    names.add(slice);
  names.emit(Nanos(7), kLater, false, list);
  CHECK(list.all<NativePlace>().size() == PlaceNames::kMaxPlaces);
}
