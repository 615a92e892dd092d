// SPDX-License-Identifier: MIT
#include "sampler/sampler_loop.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/event_list.h"

using namespace stallprof;

namespace {

class Counting : public Sampler {
 public:
  explicit Counting(Nanos period, bool leads = false) : period_(period), leads_(leads) {}
  [[nodiscard]] Nanos period() const override { return period_; }
  [[nodiscard]] bool leads() const override { return leads_; }
  void sample(Nanos now, EventOut&) override { at.push_back(now); }
  void finish(Nanos, EventOut&) override { finished = true; }
  void resume(Nanos, Nanos) override {
    if (resumed) resumed();
  }
  void setPace(const Pace& wished) override { pace = wished; }
  [[nodiscard]] Nanos pacedCpu() const override { return paced ? paced() : Nanos(0); }
  std::vector<Nanos> at;
  Pace pace;
  std::function<Nanos()> paced;
  std::function<void()> resumed;
  bool finished = false;

 private:
  Nanos period_;
  bool leads_;
};

// Runs the loop as its owner does, on a clock of its own.
void runUntil(SamplerLoop& loop, Nanos& clock, Nanos end, EventOut& out) {
  while (true) {
    const Nanos next = std::max(loop.nextDue(), clock);
    if (next > end) return;
    clock = next;
    loop.step(clock, out);
  }
}

// Two of them, the first of which may lead; neither costs anything.
struct Two {
  Two(unsigned hz, Counting one, Counting other) : first(one), second(other), loop(hz) {
    loop.setCpuClock([] { return Nanos(0); });
    loop.add(first);
    loop.add(second);
  }
  Counting first, second;
  SamplerLoop loop;
  EventList out;
};

std::uint64_t missed(const EventList& list) {
  std::uint64_t sum = 0;
  for (const Loss& loss : list.all<Loss>())
    if (loss.kind == LossKind::kTickMissed) sum += loss.count;
  return sum;
}

void checkCalls(const Counting& sampler, std::size_t minimum, std::size_t maximum) {
  CHECK(sampler.at.size() >= minimum);
  CHECK(sampler.at.size() <= maximum);
}

}  // namespace

TEST_CASE("each sampler keeps its own rate") {
  Two two(100, Counting(ms(10)), Counting(ms(1000)));
  auto& [fast, slow, loop, out] = two;
  Nanos clock = ms(500);
  runUntil(loop, clock, ms(10'500), out);
  checkCalls(fast, 996, 1009);
  checkCalls(slow, 10, 11);
  CHECK(missed(out) == 0);
}

namespace {

// One that is due every 10 ms and costs nothing.
struct Free {
  Free() : fast(ms(10)), loop(100) {
    loop.setCpuClock([] { return Nanos(0); });
    loop.add(fast);
  }
  Counting fast;
  SamplerLoop loop;
  EventList out;
};

}  // namespace

TEST_CASE("samples are jittered but do not drift") {
  Free free;
  auto& [fast, loop, out] = free;
  Nanos clock = ms(0);
  runUntil(loop, clock, ms(5000), out);
  bool jittered = false;
  for (std::size_t i = 1; i < fast.at.size(); ++i) {
    const Nanos off = fast.at[i] - ms(10.0 * static_cast<double>(i));
    CHECK(off <= ms(1));
    CHECK(off >= ms(-1));
    jittered = jittered || off > ms(0.2) || off < ms(-0.2);
  }
  CHECK(jittered);
}

TEST_CASE("a job whose steps are in step with the samples is sampled evenly, and no less often") {
  for (const double step : {20.0, 80.0 / 3, 30.0, 40.0, 60.0, 80.0}) {
    Counting leader(ms(40), true);
    SamplerLoop loop(25);
    loop.setCpuClock([] { return Nanos(0); });
    loop.add(leader);
    CHECK(leader.pace.asked == ms(40));
    EventList out;
    Nanos clock = ms(0);
    runUntil(loop, clock, ms(200'000), out);
    CHECK(leader.at.size() > 4900);
    CHECK(leader.at.size() < 5100);
    Nanos inFirstPart{};  // by the time since the sample before, as the report has it
    for (std::size_t i = 1; i < leader.at.size(); ++i)
      if (leader.at[i] % ms(step) < ms(0.4 * step)) inFirstPart += leader.at[i] - leader.at[i - 1];
    INFO(step);
    CHECK(inFirstPart > ms(0.37 * 200'000));
    CHECK(inFirstPart < ms(0.43 * 200'000));
  }
}

TEST_CASE("late by many periods: samples are skipped and reported, not caught up") {
  Free free;
  auto& [fast, loop, out] = free;
  Nanos clock = ms(0);
  runUntil(loop, clock, ms(1000), out);
  const std::size_t before = fast.at.size();
  loop.step(ms(2000), out);
  CHECK(fast.at.size() == before + 1);
  clock = ms(2000);
  runUntil(loop, clock, ms(4000), out);
  CHECK(missed(out) >= 98);
  CHECK(missed(out) <= 101);
  CHECK(fast.at.size() <= before + 203);
}

TEST_CASE("the governor slows the samplers when this process costs too much") {
  Counting fast(ms(10));
  SamplerLoop loop(100);
  Nanos clock = ms(0);
  loop.setCpuClock([&] { return clock / 20; });  // 5 % of a core
  fast.paced = [&] { return clock / 20; };
  loop.add(fast);
  CHECK(fast.pace == Pace{ms(10), 1});
  CHECK(loop.milliHz() == 100'000);
  EventList out;
  runUntil(loop, clock, ms(8000), out);
  CHECK(fast.pace.period > ms(10));
  CHECK(loop.milliHz() < 100'000);
}

TEST_CASE("a job that takes more CPU leaves the samplers more, from when it is known on") {
  Counting fast(ms(10));
  SamplerLoop loop(100);
  Nanos clock = ms(0);
  loop.setCpuClock([&] { return clock / 20; });
  loop.setJobCpu([&] { return ms(1e9) + 10 * clock; });  // an old job, ten cores
  fast.paced = [&] { return clock / 20; };
  loop.add(fast);
  EventList out;
  runUntil(loop, clock, ms(900), out);
  CHECK(fast.pace.share == Governor::kShare);
  runUntil(loop, clock, ms(8000), out);
  CHECK(fast.pace.share > 0.09);
  CHECK(fast.pace.share < 0.11);
}

namespace {

// What each call costs, as the loop's CPU clock sees it.
class Dear : public Counting {
 public:
  Dear(Nanos period, Nanos& cpu, bool leads) : Counting(period, leads), cpu_(cpu) {}
  void sample(Nanos now, EventOut& out) override {
    cpu_ += costs.empty() ? Nanos(0) : costs.front();
    if (costs.size() > 1) costs.erase(costs.begin());
    Counting::sample(now, out);
  }
  std::vector<Nanos> costs;

 private:
  Nanos& cpu_;
};

std::size_t callsInAMinute(std::vector<Nanos> costs, Nanos period, bool leads = false) {
  Nanos clock = ms(0), cpu{};
  Dear sampler(period, cpu, leads);
  sampler.costs = std::move(costs);
  SamplerLoop loop(100);
  loop.setCpuClock([&] { return cpu; });
  loop.add(sampler);
  EventList out;
  runUntil(loop, clock, ms(60'000), out);
  CHECK(missed(out) == 0);
  return sampler.at.size();
}

}  // namespace

TEST_CASE("a sampler due once a second costs a tenth of a percent at most") {
  CHECK(callsInAMinute({ms(0.5)}, ms(1000)) >= 59);
  const std::size_t calls = callsInAMinute({ms(5)}, ms(1000));
  CHECK(calls >= 11);
  CHECK(calls <= 15);
  CHECK(callsInAMinute({ms(20), ms(0.5)}, ms(1000)) >= 59);  // the first has more to do
}

TEST_CASE("the sampler that leads keeps the governor's pace at a second, too, whatever it costs") {
  CHECK(callsInAMinute({ms(20)}, ms(1000), true) >= 50);
}

TEST_CASE("a sampler that is due more often keeps its rate, whatever it costs") {
  CHECK(callsInAMinute({ms(5)}, ms(50)) >= 1190);
}

TEST_CASE("the others are called when the one that leads is, whatever their phase") {
  for (const double phase : {0.0, 15.0, 45.0, 75.0, 95.0}) {
    Counting leader(ms(100), true), same(ms(100)), longer(ms(150)), seldom(ms(1000));
    SamplerLoop loop(10);
    loop.setCpuClock([] { return Nanos(0); });
    loop.add(leader);
    EventList out;
    Nanos clock = ms(0);
    runUntil(loop, clock, ms(phase), out);
    clock = ms(phase);
    for (Counting* other : {&same, &longer, &seldom}) loop.add(*other);
    loop.step(clock, out);  // the others, for the first time: alone
    runUntil(loop, clock, ms(30'000), out);
    for (const Counting* other : {&same, &longer, &seldom})
      for (std::size_t i = 1; i < other->at.size(); ++i)
        CHECK(std::count(leader.at.begin(), leader.at.end(), other->at[i]) == 1);
    checkCalls(leader, 285, 315);  // 300, and three times what drawn gaps let them differ by
    CHECK(same.at.size() >= 270);
    CHECK(longer.at.size() >= 190);
    checkCalls(seldom, 29, 31);
    CHECK(missed(out) == 0);
  }
}

TEST_CASE("who is due more often than the one that leads keeps its own rate") {
  Two led(1, Counting(ms(1000), true), Counting(ms(20)));
  auto& [leader, often, loop, out] = led;
  Nanos clock = ms(0);
  runUntil(loop, clock, ms(10'000), out);
  checkCalls(often, 490, 510);
  CHECK(missed(out) == 0);
}

TEST_CASE("who waited for the one that leads has not missed a sample") {
  Two led(15, Counting(ms(67), true), Counting(ms(20)));
  auto& [leader, often, loop, out] = led;
  for (Nanos clock = ms(0); clock < ms(10'000); clock = loop.nextDue() + ms(6))
    loop.step(clock, out);
  CHECK(often.at.size() >= 300);
  CHECK(missed(out) == 0);
}

TEST_CASE("the end reaches every sampler") {
  Counting a(ms(10)), b(ms(1000));
  SamplerLoop loop(100);
  loop.add(a);
  loop.add(b);
  EventList out;
  loop.finish(ms(5), out);
  CHECK(a.finished);
  CHECK(b.finished);
}

TEST_CASE("a pause is recorded, nothing is sampled or missed in it, and all due times move by it") {
  Counting fast(ms(10), true), slow(ms(1000));
  SamplerLoop loop(100, Governor::kShare, PauseSchedule(0.5, 3));
  Nanos clock = ms(0);
  loop.setCpuClock([] { return Nanos(0); });
  loop.setClock([&] { return clock; });
  loop.add(fast);
  loop.add(slow);
  EventList out;
  loop.notePace(clock, {ms(500)});
  const Nanos end = ms(200'000);
  runUntil(loop, clock, end, out);
  loop.finish(end, out);
  Nanos paused{};
  for (const Event& event : out.events)
    if (const auto* pause = std::get_if<SamplingPause>(&event.payload)) {
      paused += pause->duration;
      const auto next = std::upper_bound(fast.at.begin(), fast.at.end(), event.at);
      CHECK((next == fast.at.end() || *next >= event.at + pause->duration));
    }
  CHECK(out.all<SamplingPause>().size() > 20);
  CHECK(seconds(paused) > 0.35 * seconds(end));
  const double active = seconds(end - paused);
  CHECK(static_cast<double>(fast.at.size()) == Approx(100 * active).epsilon(0.03));
  CHECK(static_cast<double>(slow.at.size()) == Approx(active).margin(3));
  CHECK(missed(out) == 0);
}

TEST_CASE("pauses half of the time leave the pace as it would be without, but for what they cost") {
  const auto paceWith = [](bool pauses, Nanos round = ms(0.4), Nanos each = {}) {
    Counting fast(ms(10));
    SamplerLoop loop(100, Governor::kShare, PauseSchedule(pauses ? 0.5 : 0, 3));
    Nanos clock = ms(0), spent{}, sampled{};
    loop.setCpuClock([&] { return spent; });
    loop.setClock([&] { return clock; });
    fast.paced = [&] { return sampled; };
    fast.resumed = [&] { spent += each; };
    loop.add(fast);
    EventList out;
    loop.notePace(clock, {ms(75)});  // pauses of 300 to 600 ms
    while (clock < ms(90'000)) {
      clock = std::max(loop.nextDue(), clock);
      const Nanos used = loop.paused() ? Nanos{} : round;  // of 0.4 ms: 4 % of a core at 100 Hz
      spent += used;
      sampled += used;
      loop.step(clock, out);
    }
    return loop.milliHz();
  };
  CHECK(paceWith(true) == paceWith(false));
  for (const double cost : {5.0, 10.0})
    CHECK(paceWith(true, ms(0.05), ms(cost)) < paceWith(true, ms(0.05)));
}
