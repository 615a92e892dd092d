// SPDX-License-Identifier: MIT
#include "sampler/perf/drawn_period.h"

#include <cmath>

#include "tests/catch.h"

using namespace stallprof;

namespace {

constexpr Nanos kAsked{10'000'000};

struct DrawnSamples {
  int kept = 0, waiting = 0;
};

// What an event sees of a thread that in each round of `round` first waits for a third of it, in
// `length` of its CPU time. An opened event gets another period each second; one that was inherited
// has `inherited` for good.
DrawnSamples sampled(DrawnPeriod& period, Nanos round, Nanos length, Nanos inherited = {}) {
  DrawnSamples seen;
  Nanos current = inherited, drawn{};
  for (Nanos at{}; at < length; at += current) {
    if (inherited == Nanos{} && (current == Nanos{} || at - drawn > std::chrono::seconds(1)))
      current = period.draw(drawn = at);
    if (!period.keeps(inherited == Nanos{} ? kAsked : inherited, at)) continue;
    ++seen.kept;
    seen.waiting += at % round < round / 3;
  }
  return seen;
}

double share(const DrawnSamples& seen) { return static_cast<double>(seen.waiting) / seen.kept; }

}  // namespace

TEST_CASE("rounds as long as the period are sampled everywhere, not at one place") {
  for (const Nanos round : {kAsked, kAsked / 2, kAsked * 3 / 2, kAsked * 2, kAsked * 101 / 100}) {
    DrawnPeriod period(kAsked);
    const DrawnSamples seen = sampled(period, round, std::chrono::seconds(60));
    INFO("a round of " << round.count() << " ns, " << seen.kept << " samples");
    CHECK(std::abs(share(seen) - 1.0 / 3) < 0.03);  // one sigma is 0.006
  }
}

TEST_CASE("each sample that is kept stands for the period that was asked for") {
  for (const int percent : {0, 70, 85, 99}) {
    DrawnPeriod period(kAsked);
    const DrawnSamples seen =
        sampled(period, kAsked * 7 / 3, std::chrono::seconds(100), kAsked * percent / 100);
    INFO("inherited at " << percent << " %");
    CHECK(std::abs(seen.kept - 10'000) < 250);
  }
}

TEST_CASE("a sample taken before the period was changed counts as of the one before") {
  DrawnPeriod period(kAsked);
  const Nanos first = period.draw(Nanos(1'000)), second = period.draw(Nanos(2'000));
  CHECK(first != second);
  int early = 0, late = 0;
  for (int i = 0; i < 20'000; ++i) {
    early += period.keeps(kAsked, Nanos(1'500));
    late += period.keeps(kAsked, Nanos(2'500));
  }
  CHECK(std::abs(early - 20'000 * seconds(first) / seconds(kAsked)) < 300);
  CHECK(std::abs(late - 20'000 * seconds(second) / seconds(kAsked)) < 300);
}

TEST_CASE("of an event with the asked period, before any was drawn, all samples are kept") {
  DrawnPeriod period(kAsked);
  for (int i = 0; i < 100; ++i) CHECK(period.keeps(kAsked, Nanos(i)));
}
