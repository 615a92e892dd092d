// SPDX-License-Identifier: MIT
#include "sampler/pause_schedule.h"

#include <cstdlib>

#include "tests/catch.h"

using namespace stallprof;
using namespace std::chrono_literals;

namespace {

struct Played {
  Nanos paused{}, active{}, shortest = Nanos::max(), longest{};
  int pauses = 0;
};

Played play(PauseSchedule& schedule, Nanos until) {
  Played played;
  Nanos at{};
  while (schedule.due() < until) {
    const Nanos due = schedule.due(), length = due - at;
    if (schedule.paused()) {
      played.paused += length;
      played.shortest = std::min(played.shortest, length);
      played.longest = std::max(played.longest, length);
      ++played.pauses;
    } else {
      played.active += length;
    }
    at = due;
    schedule.turn(due);
  }
  return played;
}

}  // namespace

TEST_CASE("pauses are as large a part of the time as was asked, and never in step") {
  for (const double share : {0.03, 0.1, 0.5}) {
    PauseSchedule schedule(share, 7);
    schedule.update(0s, {50ms, 0, false});
    CHECK(schedule.due() >= PauseSchedule::kStart);
    const Played played = play(schedule, 36'000s);
    CHECK(std::abs(seconds(played.paused) / 36'000 - share) < 0.1 * share);
    CHECK(played.shortest >= 200ms);  // four steps
    CHECK(played.longest <= 400ms);
    CHECK(played.longest > played.shortest + 100ms);
  }
}

TEST_CASE("nothing pauses before a step is known, nor where none was asked for") {
  PauseSchedule blind(0.5, 1), none(0, 1);
  blind.update(100s, {});
  CHECK(blind.due() == Nanos::max());
  none.update(100s, {50ms, 0, false});
  CHECK(none.due() == Nanos::max());
}

TEST_CASE("a pause holds more steps the more workers make the batches") {
  PauseSchedule schedule(0.5, 3);
  schedule.update(0s, {100ms, 4, false});
  const Played played = play(schedule, 3600s);
  CHECK(played.shortest >= 1200ms);
  CHECK(played.longest <= 2400ms);
}

TEST_CASE("of steps of a few milliseconds a pause holds many") {
  PauseSchedule schedule(0.03, 3);
  schedule.update(0s, {5ms, 0, false});
  const Played played = play(schedule, 3600s);
  CHECK(played.shortest >= PauseSchedule::kShortest);
  CHECK(played.longest <= 2 * PauseSchedule::kShortest);
  CHECK(played.pauses > 1000);
}

TEST_CASE("steps announced as ranges get pauses of 200 to 500 ms, too long ones none") {
  PauseSchedule ranges(0.5, 3);
  ranges.update(0s, {0s, 0, true});
  const Played played = play(ranges, 3600s);
  CHECK(played.shortest >= 200ms);
  CHECK(played.longest <= 500ms);
  CHECK(played.longest > 450ms);

  PauseSchedule slow(0.5, 3);
  slow.update(0s, {2s, 0, false});
  CHECK(slow.due() == Nanos::max());
  slow.update(10s, {1s, 0, false});
  CHECK(play(slow, 3600s).longest <= PauseSchedule::kLongest);
}

TEST_CASE("steps that become too long end the pauses") {
  PauseSchedule schedule(0.5, 3);
  schedule.update(0s, {50ms, 0, false});
  schedule.turn(schedule.due());
  CHECK(schedule.paused());
  schedule.update(20s, {30s, 0, false});
  schedule.turn(schedule.due());
  CHECK(!schedule.paused());
  CHECK(schedule.due() == Nanos::max());
}

TEST_CASE("the environment asks for a share in percent, bounded, and nonsense asks for nothing") {
  const auto asked = [](const char* text) {
    ::setenv(PauseSchedule::kShareVariable, text, 1);
    const double share = PauseSchedule::shareAsked();
    ::unsetenv(PauseSchedule::kShareVariable);
    return share;
  };
  CHECK(PauseSchedule::shareAsked() == PauseSchedule::kShare);
  CHECK(asked("50") == 0.5);
  CHECK(asked("0") == 0);
  for (const char* nonsense : {"", "half", "5x", "-3"})
    CHECK(asked(nonsense) == PauseSchedule::kShare);
}
