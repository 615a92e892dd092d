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

// An hour at one pace.
Played played(double share, const StepPace& pace) {
  PauseSchedule schedule(share, 3);
  schedule.update(0s, pace);
  return play(schedule, 3600s);
}

}  // namespace

TEST_CASE("pauses are as large a part of the time as was asked, and never in step") {
  for (const double share : {0.03, 0.1, 0.5}) {
    PauseSchedule schedule(share, 7);
    schedule.update(0s, {50ms, 0, false});
    CHECK(schedule.due() >= PauseSchedule::kStart);
    const Played hours = play(schedule, 36'000s);
    CHECK(std::abs(seconds(hours.paused) / 36'000 - share) < 0.1 * share);
    CHECK(hours.shortest >= 200ms);  // four steps
    CHECK(hours.longest <= 400ms);
    CHECK(hours.longest > hours.shortest + 100ms);
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
  const Played four = played(0.5, {100ms, 4, false});
  CHECK(four.shortest >= 1200ms);
  CHECK(four.longest <= 2400ms);
}

TEST_CASE("of steps of a few milliseconds a pause holds many") {
  const Played fast = played(0.03, {5ms, 0, false});
  CHECK(fast.shortest >= PauseSchedule::kShortest);
  CHECK(fast.longest <= 2 * PauseSchedule::kShortest);
  CHECK(fast.pauses > 1000);
}

TEST_CASE("steps announced as ranges get pauses of 200 to 500 ms, too long ones none") {
  const Played ranges = played(0.5, {0s, 0, true});
  CHECK(ranges.shortest >= 200ms);
  CHECK(ranges.longest <= 500ms);
  CHECK(ranges.longest > 450ms);

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
