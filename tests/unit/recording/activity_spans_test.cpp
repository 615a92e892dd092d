// SPDX-License-Identifier: MIT
#include "recording/activity/activity_spans.h"

#include <algorithm>
#include <array>
#include <random>

#include "tests/catch.h"

namespace stallprof {
namespace {

constexpr std::size_t kNoLimit = SIZE_MAX;

struct Work {
  std::int64_t begin, end;
  BusyWith with;
};

// What ran at each ns, one array a class.
struct Brute {
  static constexpr std::size_t kEnd = 3000;
  std::array<std::array<bool, kEnd>, 3> on{};
  void add(const Work& work) {
    for (std::int64_t t = work.begin; t < work.end; ++t)
      on[static_cast<std::size_t>(work.with)][static_cast<std::size_t>(t)] = true;
  }
  [[nodiscard]] bool busy(std::size_t t) const { return on[0][t] || on[1][t] || on[2][t]; }
  [[nodiscard]] bool collectiveOnly(std::size_t t) const { return !on[0][t] && on[1][t]; }
  [[nodiscard]] bool copyOnly(std::size_t t) const { return !on[0][t] && !on[1][t] && on[2][t]; }
};

bool same(const BusySpan& a, const BusySpan& b) {
  return a.begin == b.begin && a.end == b.end && a.busy == b.busy && a.copyOnly == b.copyOnly &&
         a.collectiveOnly == b.collectiveOnly;
}

// The spans of [from, to), joined over gaps shorter than `gap`.
std::vector<BusySpan> bruteSpans(const Brute& brute, std::size_t from, std::size_t to,
                                 std::int64_t gap) {
  std::vector<BusySpan> spans;
  for (std::size_t t = from; t < to; ++t) {
    if (!brute.busy(t)) continue;
    const auto at = static_cast<std::int64_t>(t);
    if (spans.empty() || at - spans.back().end >= std::max<std::int64_t>(gap, 1))
      spans.push_back({at, at, 0, 0, 0, 0});
    spans.back().end = at + 1;
    ++spans.back().busy;
    spans.back().copyOnly += brute.copyOnly(t);
    spans.back().collectiveOnly += brute.collectiveOnly(t);
  }
  return spans;
}

BusySpan sum(const std::vector<BusySpan>& spans) {
  BusySpan total;
  for (const BusySpan& span : spans) {
    total.busy += span.busy;
    total.copyOnly += span.copyOnly;
    total.collectiveOnly += span.collectiveOnly;
    total.works += span.works;
  }
  return total;
}

// 500 times over, each with its own gap.
template <class Round>
void forRounds(unsigned seed, Round&& run) {
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    INFO("round " << round);
    Brute brute;
    BusyUnion busy;
    const std::int64_t gap = 1 + static_cast<std::int64_t>(random() % 30);
    run(random, brute, busy, gap, round);
  }
}

TEST_CASE("the union is that of counting every nanosecond") {
  forRounds(11, [](std::mt19937& random, Brute& brute, BusyUnion& busy, std::int64_t gap,
                   int round) {
    const std::size_t count = random() % 120;
    std::vector<std::int64_t> stops = {static_cast<std::int64_t>(random() % 1500),
                                       static_cast<std::int64_t>(1500 + random() % 1500), 3000};
    std::vector<Work> works;
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % 2900);
      const auto end = begin + static_cast<std::int64_t>(random() % (round % 2 == 0 ? 20 : 100));
      works.push_back({begin, end, static_cast<BusyWith>(random() % 3)});
      brute.add(works.back());
    }
    std::size_t from = 0;
    std::uint32_t counted = 0;
    for (const std::int64_t stop : stops) {
      // In any order, but none that began before what is settled.
      for (const Work& work : works)
        if (work.begin >= static_cast<std::int64_t>(from) && work.begin < stop)
          busy.add(work.begin, work.end, work.with);
      std::vector<BusySpan> spans;
      busy.settle(stop, gap, kNoLimit, spans);
      const std::vector<BusySpan> wanted =
          bruteSpans(brute, from, static_cast<std::size_t>(stop), gap);
      counted += sum(spans).works;
      CHECK(sum(spans).busy == sum(wanted).busy);
      CHECK(sum(spans).copyOnly == sum(wanted).copyOnly);
      CHECK(sum(spans).collectiveOnly == sum(wanted).collectiveOnly);
      from = static_cast<std::size_t>(stop);
    }
    CHECK(counted == count);
  });
}

TEST_CASE("spans begin, end and join where the work does") {
  forRounds(12, [](std::mt19937& random, Brute& brute, BusyUnion& busy, std::int64_t gap, int) {
    for (std::size_t i = random() % 80; i > 0; --i) {
      const auto begin = static_cast<std::int64_t>(random() % 2900);
      const Work work{begin, begin + 1 + static_cast<std::int64_t>(random() % 60),
                      static_cast<BusyWith>(random() % 3)};
      brute.add(work);
      busy.add(work.begin, work.end, work.with);
    }
    std::size_t from = 0;
    for (const std::size_t stop : {1000 + random() % 500, std::size_t{3000}}) {
      std::vector<BusySpan> spans;
      busy.settle(static_cast<std::int64_t>(stop), gap, kNoLimit, spans);
      const std::vector<BusySpan> wanted = bruteSpans(brute, from, stop, gap);
      REQUIRE(spans.size() == wanted.size());
      for (std::size_t i = 0; i < spans.size(); ++i) REQUIRE(same(spans[i], wanted[i]));
      from = stop;
    }
    CHECK(busy.pending() == 0);
  });
}

TEST_CASE("work that comes late adds what no span has, and nothing twice") {
  std::mt19937 random(13);
  for (int round = 0; round < 500; ++round) {
    INFO("round " << round);
    Brute brute;
    BusyUnion busy;
    std::vector<BusySpan> spans;
    for (std::int64_t stop = 300; stop <= 3000; stop += 300) {
      for (int i = 0; i < 6; ++i) {
        const auto begin = static_cast<std::int64_t>(random() % static_cast<std::size_t>(stop));
        const std::int64_t maximum = std::min<std::int64_t>(begin + 400, 2999);
        const Work work{begin, begin + static_cast<std::int64_t>(random()) % (maximum - begin + 1),
                        BusyWith::kCompute};
        brute.add(work);
        busy.add(work.begin, work.end, work.with);
      }
      busy.settle(stop, 1, kNoLimit, spans);
    }
    busy.settle(4000, 1, kNoLimit, spans);
    CHECK(sum(spans).busy == sum(bruteSpans(brute, 0, 3000, 1)).busy);
    CHECK(busy.takeLost() == 0);
    std::array<int, 3000> covered{};
    for (const BusySpan& span : spans)
      for (std::int64_t t = span.begin; t < span.end; ++t) ++covered[static_cast<std::size_t>(t)];
    CHECK(*std::max_element(covered.begin(), covered.end()) <= 1);
  }
}

TEST_CASE("too many spans are joined over their narrowest gaps, and nothing is lost of them") {
  BusyUnion busy;
  // 100 works of 10, with gaps of 100, but every tenth of 1000.
  std::int64_t at = 0;
  for (int i = 1; i <= 100; ++i) {
    busy.add(at, at + 10, i % 2 == 0 ? BusyWith::kCopy : BusyWith::kCompute);
    at += 10 + (i % 10 == 0 ? 1000 : 100);
  }
  std::vector<BusySpan> spans;
  busy.settle(at, 20, 10, spans);
  REQUIRE(spans.size() == 10);
  for (const BusySpan& span : spans) {
    CHECK(span.busy == 100);
    CHECK(span.copyOnly == 50);
    CHECK(span.works == 10);
    CHECK(span.end - span.begin == 1000);
  }
}

TEST_CASE("late work older than what is remembered is counted as lost") {
  BusyUnion busy;
  std::vector<BusySpan> spans;
  for (std::int64_t i = 0; i < 10'000; ++i) busy.add(i * 100, i * 100 + 10, BusyWith::kCompute);
  busy.settle(1'000'000, 20, kNoLimit, spans);
  REQUIRE(spans.size() == 10'000);
  spans.clear();
  busy.add(50, 1'000'000, BusyWith::kCompute);
  busy.settle(1'000'001, 20, kNoLimit, spans);
  CHECK(busy.takeLost() > 0);
  CHECK(busy.takeLost() == 0);
  CHECK(sum(spans).busy == 4097 * 90);  // the gaps around those that are
}

}  // namespace
}  // namespace stallprof
