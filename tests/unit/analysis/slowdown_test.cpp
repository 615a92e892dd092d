// SPDX-License-Identifier: MIT
#include <cmath>
#include <functional>

#include "analysis/describe/describe.h"
#include "base/splitmix64.h"
#include "sampler/pause_schedule.h"
#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace std::chrono_literals;

namespace {

// A training that takes `slowdown` times as long while it is sampled, with the pauses that the
// recorder would make.
struct Job {
  double slowdown = 1, share = PauseSchedule::kMaxShare;
  Nanos length = 600s, step = 50ms;
  unsigned workers = 0;
  double noise = 0.1;  // deviation of the logarithm of a step's work
  std::function<double(std::size_t, Nanos)> work = [](std::size_t, Nanos) { return 1.0; };
  std::function<bool(std::size_t)> boundary = [](std::size_t) { return false; };
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double even() {
    state_ += kSplitmix64Step;
    return static_cast<double>(splitmix64(state_) >> 11) * 0x1p-53;
  }
  // Of deviation 1: twelve even ones have a variance of 1.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += even();
    return sum;
  }

 private:
  std::uint64_t state_;
};

Maybe<Slowdown> measure(const Job& job, std::uint64_t seed = 1) {
  Random random(seed);
  PauseSchedule pauses(job.share, seed);
  Trace trace;
  TrainerFacts trainer;
  Nanos at{}, pausedAt{};
  pauses.update(at, {job.step, job.workers, false});
  const auto advance = [&](Nanos to) {
    at = to;
    while (pauses.due() <= at) {
      const Nanos turn = pauses.due();
      if (pauses.paused()) trace.pauses.push_back({pausedAt, {turn - pausedAt}});
      pausedAt = turn;
      pauses.turn(turn);
    }
  };
  for (std::uint32_t i = 0; at < job.length; ++i) {
    Step step;
    step.number = i;
    step.begin = at;
    step.boundary = job.boundary(i);
    double left = seconds(job.step) * job.work(i, at) * std::exp(job.noise * random.normal());
    while (left > 0) {
      const double pace = pauses.paused() ? 1 : 1 / job.slowdown;
      const double next = std::min(left / pace, seconds(pauses.due() - at));
      advance(at + std::max(fromSeconds(next), 1ns));
      left -= std::max(next, 1e-9) * pace;
    }
    step.end = at;
    trainer.steps.push_back(step);
  }
  trainer.windowEnd = at;
  return measureSlowdown(trace, trainer);
}

// Resolved, and `truth` within four deviations: the interval's width from it.
void checkFinds(const Maybe<Slowdown>& found, double truth) {
  REQUIRE(found);
  CAPTURE(found->pairs, truth);
  REQUIRE(found->ratio);
  CAPTURE(*found->ratio, *found->low, *found->high);
  CHECK(*found->low <= *found->ratio);
  CHECK(*found->ratio <= *found->high);
  CHECK(std::abs(*found->ratio - truth) <= *found->high - *found->low);
}

}  // namespace

TEST_CASE("a known slowdown is found, with pauses half of the time, to half a percent") {
  for (const double truth : {1.0, 1.01, 1.03, 1.10}) {
    const auto found = measure({.slowdown = truth, .length = 1200s});
    checkFinds(found, truth);
    CHECK(std::abs(*found->ratio - truth) < 0.005);
    CHECK(*found->high - *found->low < 0.01);
    CHECK(found->pairs > 500);
  }
}

TEST_CASE("a run of an hour with pauses at a few percent resolves three percent from none") {
  const Job hour{.slowdown = 1.03, .share = PauseSchedule::kShare, .length = 3600s};
  const auto found = measure(hour);
  checkFinds(found, 1.03);
  CHECK(*found->low > 1.0);
  Job same = hour;
  same.slowdown = 1;
  const auto none = measure(same, 2);
  checkFinds(none, 1.0);
  CHECK(*none->low <= 1.0);
  CHECK(*none->high >= 1.0);
}

TEST_CASE("steps that last nearly as long as a pause hide part of the effect, which is undone") {
  checkFinds(measure({.slowdown = 1.10, .length = 2h, .step = 1s, .noise = 0.02}), 1.10);
}

TEST_CASE("the interval holds the truth in 95 of 100 runs, no slowdown at all included") {
  for (const double truth : {1.0, 1.03}) {
    int inside = 0;
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const auto found =
          measure({.slowdown = truth, .length = 60s, .step = 30ms, .noise = 0.05}, seed);
      REQUIRE(found);
      REQUIRE(found->ratio);
      inside += *found->low <= truth && truth <= *found->high;
      sum += *found->ratio;
    }
    CHECK(inside >= 88);  // of 95 expected; fewer than 88 come once in 500 such tests
    CHECK(std::abs(sum / 100 - truth) < 0.001);
  }
}

TEST_CASE("a drift of the whole job, and a rhythm of its own, are no slowdown") {
  SECTION("it becomes a half slower") {
    checkFinds(measure({.length = 1200s,
                        .work = [](std::size_t, Nanos t) { return 1 + seconds(t) / 2400; }}),
               1.0);
  }
  SECTION("batches come in fours: three steps wait for nothing") {
    checkFinds(measure({.length = 2400s,
                        .workers = 4,
                        .work = [](std::size_t i, Nanos) { return i % 4 == 0 ? 3.7 : 0.1; }}),
               1.0);
  }
  SECTION("some steps in a hundred take ten times as long") {
    checkFinds(
        measure({.length = 3600s,
                 .work = [](std::size_t i, Nanos) { return splitmix64(i) % 100 < 2 ? 10. : 1.; }}),
        1.0);
  }
}

TEST_CASE("epochs' ends and checkpoints are left out of what is compared") {
  const auto every = [](std::size_t i) { return i % 100 == 99; };
  const Job plain{.length = 1200s};
  Job broken = plain;
  broken.boundary = every;
  broken.work = [=](std::size_t i, Nanos) { return every(i) ? 100.0 : 1.0; };
  const auto all = measure(plain), some = measure(broken);
  checkFinds(some, 1.0);
  CHECK(some->pairs < all->pairs * 2 / 3);  // half of the time is such steps
}

TEST_CASE("what is not resolved has no number: few pauses, or much noise") {
  const auto few = measure({.slowdown = 1.03, .length = 10s});
  REQUIRE(few);
  CHECK(few->pairs > 0);
  CHECK(few->pairs < 10);
  CHECK(!few->ratio);
  const auto noisy = measure({.slowdown = 1.005, .length = 60s, .noise = 1});
  REQUIRE(noisy);
  CHECK(!noisy->ratio);
  CHECK(!noisy->low);
  CHECK(!noisy->high);
}

TEST_CASE("a wide interval is stated where all of it is above what is promised") {
  const auto found = measure({.slowdown = 1.5, .length = 120s, .noise = 0.2});
  checkFinds(found, 1.5);
  CHECK(*found->high - *found->low > 0.02);
}

TEST_CASE("without pauses, or without steps around them, nothing is said") {
  CHECK(!measure({.share = 0}));
  Trace trace;
  TrainerFacts trainer;
  trainer.windowEnd = 100s;
  for (int i = 1; i < 20; ++i) trace.pauses.push_back({i * 5s, {300ms}});
  CHECK(!measureSlowdown(trace, trainer));
  // Steps of a long run that are not held by themselves.
  Step step;
  step.end = 1s;
  trainer.steps.push_back(step);
  step.begin = 50s;
  step.end = 51s;
  trainer.steps.push_back(step);
  CHECK(!measureSlowdown(trace, trainer));
}

TEST_CASE("the report has it of a recording: 100 ms a step in pauses, 103 ms outside of them") {
  std::string text = test::kTrainer + "0 loader process=1 loader=1 workers=0\n";
  std::int64_t at = 1000, batch = 0;
  const auto steps = [&](int count, int length) {
    for (int i = 0; i < count; ++i, at += length)
      text += std::to_string(at) +
              "ms fetch thread=1 loader=1 epoch=1 duration=9ms batch=" + std::to_string(batch++) +
              "\n";
  };
  for (int i = 0; i < 40; ++i) {
    steps(10 + i % 3, 103);
    text += std::to_string(at) + "ms pause duration=1s\n";
    steps(10, 100);
  }
  steps(20, 103);
  const Analysis a = analyze(test::traceOf(text));
  REQUIRE(a.coverage.slowdown);
  CHECK(a.coverage.slowdown->pairs > 30);
  REQUIRE(a.coverage.slowdown->ratio);
  CHECK(std::abs(*a.coverage.slowdown->ratio - 1.03) < 1e-3);
  CHECK(std::abs(*a.coverage.slowdown->high - *a.coverage.slowdown->low) < 1e-3);
}
