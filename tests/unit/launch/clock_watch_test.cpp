// SPDX-License-Identifier: MIT
#include "launch/recorder/clock_watch.h"

#include <string>
#include <vector>

#include "event/strings.h"
#include "tests/catch.h"

using namespace stallprof;
using std::chrono::milliseconds;
using secs = std::chrono::seconds;

namespace {

struct List : EventOut {
  Strings strings;
  std::vector<Event> events;
  StringId intern(std::string_view text) override { return strings.intern(text); }
  void put(const Event& event) override { events.push_back(event); }
  template <class P>
  std::vector<std::pair<Nanos, P>> of() const {
    std::vector<std::pair<Nanos, P>> found;
    for (const Event& event : events)
      if (const P* p = std::get_if<P>(&event.payload)) found.emplace_back(event.at, *p);
    return found;
  }
};

ClockWatch::Clocks at(Nanos monotonic, Nanos asleep = Nanos(0)) {
  return {monotonic, monotonic + asleep + secs(1'000'000), monotonic + asleep};
}

}  // namespace

TEST_CASE("clocks are tied together at the start and every 10 s") {
  ClockWatch watch;
  List out;
  for (Nanos t{}; t <= secs(30); t += milliseconds(500)) watch.sample(at(t), t, out);
  const auto pairs = out.of<ClockPair>();
  REQUIRE(pairs.size() == 4);
  CHECK(pairs[1].first == secs(10));
  CHECK(out.of<Gap>().empty());
}

TEST_CASE("a recorder that was stopped leaves a gap from its last sample on") {
  ClockWatch watch;
  List out;
  watch.sample(at(secs(1)), secs(1), out);
  watch.sample(at(secs(6)), secs(1) + milliseconds(10), out);
  const auto gaps = out.of<Gap>();
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].first == secs(1));
  CHECK(gaps[0].second.duration == secs(5));
  CHECK(out.strings.at(gaps[0].second.why) == "recorder stopped");
}

TEST_CASE("a long planned sleep is no gap") {
  ClockWatch watch;
  List out;
  watch.sample(at(secs(1)), secs(1), out);
  watch.sample(at(secs(6)), secs(6), out);
  CHECK(out.of<Gap>().empty());
}

TEST_CASE("row 45: a wall clock that is set is said, slewing is not, and no time is of it") {
  ClockWatch watch;
  List out;
  Nanos set{};
  for (Nanos t{}; t < secs(8); t += milliseconds(500)) {
    if (t == secs(2)) set += secs(3600);
    if (t == secs(4)) set -= secs(7200);
    set += Nanos(250'000);  // NTP, as fast as it may
    ClockWatch::Clocks clocks = at(t);
    clocks.realtime += set;
    watch.sample(clocks, t, out);
  }
  const auto gaps = out.of<Gap>();
  REQUIRE(gaps.size() == 2);
  CHECK(gaps[0].first == secs(2));
  CHECK(gaps[0].second.duration == Nanos(0));
  CHECK(out.strings.at(gaps[0].second.why) == "clock set: the wall clock moved by +3600.0 s");
  CHECK(out.strings.at(gaps[1].second.why) == "clock set: the wall clock moved by -7200.0 s");
  const auto pairs = out.of<ClockPair>();
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[1].second.realtime - pairs[0].second.realtime > secs(3600));
}

TEST_CASE("a suspended host is a gap without length on the monotonic clock, and a new pair") {
  ClockWatch watch;
  List out;
  watch.sample(at(secs(1)), secs(1), out);
  watch.sample(at(secs(2), secs(3600)), secs(2), out);
  watch.sample(at(secs(3), secs(3600)), secs(3), out);
  const auto gaps = out.of<Gap>();
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].second.duration == Nanos(0));
  CHECK(out.strings.at(gaps[0].second.why) == "suspended: the host slept for 3600.0 s");
  CHECK(out.of<ClockPair>().size() == 2);
}
