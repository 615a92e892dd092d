// SPDX-License-Identifier: MIT
#include "base/units.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/catch.h"

namespace stallprof {

TEST_CASE("durations keep three digits and move to the larger unit when rounding fills it") {
  CHECK(durationText(Nanos(0)) == "0 ns");
  CHECK(durationText(Nanos(999)) == "999 ns");
  CHECK(durationText(Nanos(12'840)) == "12.8 us");
  CHECK(durationText(Nanos(412'000'000)) == "412 ms");
  CHECK(durationText(Nanos(999'700'000)) == "1 s");
  CHECK(durationText(Nanos(1'310'000'000)) == "1.31 s");
  CHECK(durationText(fromSeconds(119)) == "119 s");
  CHECK(durationText(fromSeconds(125)) == "2 min 5 s");
  CHECK(durationText(fromSeconds(7500)) == "2 h 5 min");
  CHECK(durationText(Nanos(-4'000'000)) == "-4 ms");
}

TEST_CASE("bytes and rates are decimal multiples") {
  CHECK(bytesText(0) == "0 B");
  CHECK(bytesText(780e6) == "780 MB");
  CHECK(bytesText(3.12e9) == "3.12 GB");
  CHECK(bytesText(999'900) == "1 MB");
  CHECK(rateText(155.3, "samples") == "155 samples/s");
  CHECK(rateText(2.427, "steps") == "2.43 steps/s");
  CHECK(rateText(31.2e6, "bytes") == "31.2 MB/s");
}

TEST_CASE("small numbers keep their digits, large ones are whole and grouped") {
  CHECK(numberText(0.714) == "0.71");
  CHECK(numberText(0.0042) == "0.0042");
  CHECK(numberText(1310.4) == "1,310");
  CHECK(numberText(-0.00001) == "0");
}

TEST_CASE("what is not a number reads as not measured, never as zero") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double endless = std::numeric_limits<double>::infinity();
  for (const double v : {none, endless, -endless}) {
    CHECK(percentText(v) == kNotMeasuredText);
    CHECK(bytesText(v) == kNotMeasuredText);
    CHECK(numberText(v) == kNotMeasuredText);
    CHECK(rateText(v, "steps") == kNotMeasuredText);
    CHECK(valueText(v, "ns") == kNotMeasuredText);
  }
}

TEST_CASE("tenths of a percent, and changes by them") {
  CHECK(tenthPercentText(0) == "0.0 %");
  CHECK(tenthPercentText(0.0004) == "<0.1 %");
  CHECK(tenthPercentText(0.0042) == "0.4 %");
  CHECK(tenthPercentText(1.25) == "125.0 %");
  CHECK(tenthPercentText(std::nan("")) == kNotMeasuredText);
  CHECK(changeText(0.079, "%") == "+7.9 %");
  CHECK(changeText(-0.004, "points") == "-0.4 points");
  CHECK(changeText(-0.0004, "%") == "+0.0 %");
  CHECK(changeText(1.234, "%") == "+123 %");
}

TEST_CASE("percents distinguish something small from nothing") {
  CHECK(percentText(0) == "0 %");
  CHECK(percentText(0.003) == "<1 %");
  CHECK(percentText(0.381) == "38 %");
  CHECK(percentText(2.95) == "295 %");
}

TEST_CASE("counts are grouped and nouns follow them") {
  CHECK(countText(812) == "812");
  CHECK(countText(1'234'567) == "1,234,567");
  CHECK(countText(-1234) == "-1,234");
  CHECK(countOf(1, "step") == "1 step");
  CHECK(countOf(2, "process") == "2 processes");
  CHECK(countOf(3, "epoch") == "3 epochs");
  CHECK(countOf(2, "batch") == "2 batches");
  CHECK(numberOf(1, "core") == "1 core");
  CHECK(numberOf(0.5, "core") == "0.5 cores");
}

TEST_CASE("parts of a whole add up as printed") {
  const std::vector<std::vector<double>> wholes = {{1.0 / 3, 1.0 / 3, 1.0 / 3},
                                                   {0.512, 0.381, 0.046, 0.034, 0.027},
                                                   {0.999, 0.001},
                                                   {0.145, 0.145, 0.145, 0.145, 0.145, 0.145, 0.13},
                                                   {1, 0, 0}};
  for (const auto& parts : wholes)
    for (const int units : {50, 100, 1000}) {
      const std::vector<int> shares = apportioned(parts, units);
      CHECK(std::accumulate(shares.begin(), shares.end(), 0) == units);
      for (std::size_t i = 0; i < parts.size(); ++i)
        CHECK(std::abs(shares[i] - parts[i] * units) < 1);
    }
  // In whatever order.
  CHECK(percentTexts(std::vector<double>{0.975, 0.015, 0.01}) ==
        std::vector<std::string>{"98 %", "1 %", "1 %"});
  CHECK(percentTexts(std::vector<double>{0.015, 0.975, 0.01}) ==
        std::vector<std::string>{"1 %", "98 %", "1 %"});
  CHECK(percentTexts(std::vector<double>{0.998, 0.002, 0}) ==
        std::vector<std::string>{"100 %", "<1 %", "0 %"});
  CHECK(tenthTexts(std::vector<double>{0.7182, 0.2818}) ==
        std::vector<std::string>{"71.8 %", "28.2 %"});
}

TEST_CASE("parts that do not sum, or are not numbers, are shown as they are") {
  CHECK(percentTexts(std::vector<double>{0.2, 0.2})[0] == "20 %");
  CHECK(percentTexts(std::vector<double>{std::nan(""), 1.0}) ==
        std::vector<std::string>{"0 %", "100 %"});
}

TEST_CASE("a value is written in its own unit") {
  CHECK(valueText(0.99, "ratio") == "99 %");
  CHECK(valueText(8.15e8, "ns") == "815 ms");
  CHECK(valueText(41e3, "bytes") == "41 kB");
  CHECK(valueText(5e6, "bytes_per_s") == "5 MB/s");
  CHECK(valueText(64, "count") == "64");
  CHECK(valueText(12, "opens") == "12 opens");
}

}  // namespace stallprof
