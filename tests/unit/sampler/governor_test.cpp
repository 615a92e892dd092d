// SPDX-License-Identifier: MIT
#include "sampler/governor.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"

using namespace stallprof;

namespace {

long millionths(double share) { return std::lround(1e6 * share); }
double samples(const Pace& pace) { return 1 / seconds(pace.period) / pace.turns; }

// A recorder whose cost is `fixed` plus `perSample` for each sample a second at one thread, and a
// job that keeps `cores` busy.
Pace settle(Governor& governor, double fixedMs, double perSampleMs, int secondsLong,
            double cores = 0) {
  Pace pace = governor.pace();
  for (int i = 0; i < secondsLong; ++i)
    pace = governor.update(kSecond, ms(fixedMs + perSampleMs * samples(pace)),
                           ms(perSampleMs * samples(pace)), ms(1000 * cores));
  return pace;
}

}  // namespace

TEST_CASE("a cheap recorder keeps its pace") {
  Governor governor(ms(10));
  CHECK(settle(governor, 1, 0.04, 60) == Pace{ms(10), 1});
}

TEST_CASE("a burst at the start is let pass") {
  Governor governor(ms(10));
  for (int i = 0; i < 3; ++i)
    CHECK(governor.update(kSecond / 4, ms(240), ms(1)) == Pace{ms(10), 1});
  CHECK(settle(governor, 1, 0.04, 10) == Pace{ms(10), 1});
}

TEST_CASE("a dear recorder is slowed until it costs at most one percent") {
  for (const double perSample : {0.2, 0.5, 2.0, 9.0, 50.0, 200.0}) {
    Governor governor(ms(10));
    const Pace pace = settle(governor, 0.5, perSample, 60);
    CHECK(0.5 + perSample * samples(pace) <= 10);
  }
}

TEST_CASE("no pace leaves much of the budget unused") {
  for (double perSample = 0.1; perSample < 5; perSample *= 1.1) {
    Governor governor(ms(10));
    const Pace pace = settle(governor, 2.8, perSample, 60);
    CHECK(2.8 + perSample * samples(pace) >= 6);
  }
}

TEST_CASE("below one sample a second the threads take turns") {
  Governor governor(ms(10));
  const Pace pace = settle(governor, 0, 60, 60);
  CHECK(pace.period == kSecond);
  CHECK(pace.turns >= 8);
}

TEST_CASE("where some threads come before others, these take turns at ten rounds a second") {
  Governor governor(ms(10));
  const Pace alike = settle(governor, 0, 60, 60);
  governor.setPreferring();
  const Pace pace = settle(governor, 0, 60, 60);
  CHECK(pace.period == ms(100));
  CHECK(samples(pace) <= samples(alike) * 1.2);
  CHECK(samples(pace) >= samples(alike) / 1.2);
  CHECK(settle(governor, 0, 1, 60) == settle(governor, 0, 1, 60));
  CHECK(settle(governor, 0, 0.01, 60) == Pace{ms(10), 1});
  Governor slow(kSecond);  // --hz 1
  slow.setPreferring();
  CHECK(settle(slow, 0, 60, 60).period == kSecond);
}

TEST_CASE("the pace comes back when the load is gone, and does not swing") {
  Governor governor(ms(10));
  settle(governor, 1, 5, 30);
  CHECK(settle(governor, 1, 0.01, 60) == Pace{ms(10), 1});
  settle(governor, 1, 0.15, 30);
  int changes = 0;
  Pace last = governor.pace();
  for (int i = 0; i < 100; ++i) {
    const Pace pace = settle(governor, 1, 0.15, 1);
    changes += pace == last ? 0 : 1;
    last = pace;
  }
  CHECK(changes == 0);
}

TEST_CASE("no cost stops it altogether") {
  Governor governor(ms(10));
  for (int i = 0; i < 100; ++i) governor.update(kSecond, kSecond, kSecond);
  CHECK(governor.pace().period == kSecond);
  CHECK(governor.pace().turns <= 64);
  CHECK(governor.update(Nanos(0), kSecond, kSecond) == governor.pace());
}

TEST_CASE("a dear load is slowed within a quarter of a second of being seen") {
  Governor governor(ms(10));
  CHECK(samples(governor.update(kSecond / 4, ms(9), ms(8.5))) <= 25);
}

TEST_CASE("a spike in the middle of a run leaves nothing behind") {
  Governor governor(ms(10));
  settle(governor, 2, 0.03, 20);
  for (int i = 0; i < 8; ++i) governor.update(kSecond / 4, ms(200), ms(60));  // two seconds of it
  CHECK(governor.pace().period > ms(10));
  settle(governor, 2, 0.03, 20);
  CHECK(governor.pace() == Pace{ms(10), 1});
}

TEST_CASE("what an import of seconds cost is forgotten two seconds after it") {
  Governor governor(ms(10));
  settle(governor, 40, 0.1, 4);
  CHECK(samples(governor.pace()) < 30);
  CHECK(samples(settle(governor, 1, 0.1, 2)) > 40);
}

TEST_CASE("a time without a thread to sample brings a slow pace back in steps, not at once") {
  Governor governor(ms(10));
  double before = samples(settle(governor, 1, 10, 30));
  CHECK(before < 2);
  for (int i = 0; i < 240 && before < 100; ++i) {
    const double now = samples(governor.update(kSecond / 4, ms(0.25), Nanos::zero()));
    CHECK(now <= before * 4.01);
    before = now;
  }
  CHECK(before == 100);
}

TEST_CASE("what is done once a second counts with its mean") {
  Governor governor(ms(10));
  double spent = 0;
  for (int i = 0; i < 240; ++i) {  // a minute: 7 ms a second at once, and 6 ms of samples at 100 Hz
    const double inSamples = 0.06 * samples(governor.pace()) / 4, atOnce = i % 4 == 0 ? 7 : 0;
    governor.update(kSecond / 4, ms(inSamples + atOnce), ms(inSamples));
    if (i >= 200) spent += inSamples + atOnce;
  }
  CHECK(spent / 10 <= 10);  // ms a second, of the last ten
}

TEST_CASE("intervals between two samples of a slow pace say nothing of what a sample costs") {
  for (const double perSample : {5.0, 20.0, 100.0}) {
    Governor governor(ms(10));
    double due = 0, spent = 0, fastest = 0;
    for (int i = 0; i < 480; ++i) {  // two minutes, updated four times a second
      due += 0.25 / seconds(governor.pace().period);
      const double cost = perSample / governor.pace().turns * std::floor(due);
      due -= std::floor(due);
      governor.update(kSecond / 4, ms(cost + 0.1), ms(cost));
      if (i < 240) continue;
      spent += cost;
      fastest = std::max(fastest, samples(governor.pace()));
    }
    INFO(perSample);
    CHECK(spent / 60 <= 10);  // ms a second, of the last minute
    CHECK(fastest <= 20 / perSample);
  }
}

TEST_CASE(
    "one costly thread of those that take turns is not forgotten in the turns of the others") {
  for (const double costly : {15.0, 20.0, 30.0, 50.0}) {
    Governor governor(ms(10));
    double spent = 0;
    for (unsigned i = 0; i < 600; ++i) {
      const Pace pace = governor.pace();
      const double rounds = 1 / seconds(pace.period);  // of a second
      const double cost = 0.005 * rounds + (i % pace.turns == 0 ? costly * rounds : 0);
      governor.update(kSecond, ms(cost), ms(cost));
      if (i >= 200) spent += cost;
    }
    INFO(costly);
    CHECK(spent / 400 <= 12);  // ms a second
  }
}

TEST_CASE("where the rest alone is above the budget, samples keep a share") {
  Governor governor(ms(10));
  const Pace pace = settle(governor, 15, 0.05, 60);
  CHECK(samples(pace) >= 25);
}

TEST_CASE("a job of less than a core leaves the recorder one percent of a core") {
  for (const double cores : {0.0, 0.1, 1.0}) {
    Governor governor(ms(10));
    const Pace pace = settle(governor, 1, 2, 60, cores);
    CHECK(pace.share == Governor::kShare);
    CHECK(1 + 2 * samples(pace) <= 10);
  }
}

TEST_CASE("the budget grows with the CPU of the job, up to a quarter of a core") {
  for (const double cores : {1.0, 2.0, 4.0, 16.0, 25.0, 64.0}) {
    Governor governor(ms(10));
    const Pace pace = settle(governor, 1, 5, 60, cores);
    const double spent = 1 + 5 * samples(pace), budget = std::min(10 * cores, 250.0);
    INFO(cores);
    CHECK(spent <= budget);
    CHECK(spent >= 0.55 * budget);
  }
}

TEST_CASE("what is asked for counts for the floor and for the growth") {
  for (const double share : {0.001, 0.02, 0.25}) {
    Governor idle(ms(10), share), busy(ms(10), share);
    CHECK(millionths(settle(idle, 0.2, 5, 60).share) == millionths(share));
    CHECK(0.2 + 5 * samples(idle.pace()) <= 1000 * share);
    CHECK(millionths(settle(busy, 0.2, 5, 60, 8).share) == millionths(std::min(8 * share, 0.25)));
  }
}

TEST_CASE("a job whose CPU falls slows the recorder within seconds") {
  Governor governor(ms(10));
  const double before = samples(settle(governor, 1, 2, 60, 16));
  CHECK(samples(settle(governor, 1, 2, 2, 0.5)) < before);
  CHECK(1 + 2 * samples(settle(governor, 1, 2, 4, 0.5)) <= 10);
  settle(governor, 1, 2, 60, 16);
  CHECK(1 + 2 * samples(settle(governor, 1, 2, 10, 0)) <= 10);  // one that stands still
}

TEST_CASE("a burst of the job counts as what it is") {
  Governor governor(ms(10));
  settle(governor, 1, 2, 20, 1);
  CHECK(settle(governor, 1, 2, 1, 11).share <= 0.03);  // 15 s of CPU in 5 s
  CHECK(millionths(settle(governor, 1, 2, 5, 1).share) == 10'000);
}

TEST_CASE("a job's CPU that is known once a second, more or less, does not swing the pace") {
  Governor governor(ms(10));
  Nanos next{}, then{};
  int changes = 0;
  double last = 0;
  for (int i = 1; i <= 1200; ++i) {  // five minutes of four cores
    const Nanos now = i * Governor::kInterval;
    Nanos grown{};
    if (now >= next) {
      grown = 4 * (now - then);
      then = now;
      next += ms(900 + 37 * i % 200);
    }
    const double inSamples = 0.5 * samples(governor.pace()) / 4;
    const double rate =
        samples(governor.update(Governor::kInterval, ms(inSamples), ms(inSamples), grown));
    changes += i > 60 && rate != last ? 1 : 0;
    last = rate;
  }
  CHECK(changes <= 1);  // to and fro would be two
}

TEST_CASE("time in which nothing was sampled is the job's, not the recorder's") {
  Governor paused(ms(10)), always(ms(10));
  for (int i = 0; i < 60; ++i) {
    (void)paused.update(kSecond, ms(20), ms(20), ms(8000), kSecond);
    (void)always.update(kSecond, ms(20), ms(20), ms(4000));
  }
  CHECK(paused.pace() == always.pace());
  CHECK(paused.pace().share > 0.035);
  CHECK(paused.pace().share < 0.045);
}
