// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

// The only place where numbers become words, so that evidence, reports and progress lines write
// the same number the same way. Three significant digits; decimal multiples of bytes; ASCII. A
// number that is not finite reads as kNotMeasuredText.
namespace stallprof {

inline constexpr char kNotMeasuredText[] = "not measured";

[[nodiscard]] std::string durationText(Nanos duration);  // "412 ms", "1.31 s", "2 h 5 min"
[[nodiscard]] std::string bytesText(double bytes);       // "3.1 GB", "780 MB"
[[nodiscard]] std::string rateText(double perSecond,
                                   const std::string& what);  // "155 samples/s"
[[nodiscard]] std::string percentText(double ratio);          // "38 %", "<1 %", "0 %"
[[nodiscard]] std::string tenthPercentText(double ratio);     // "0.4 %", "<0.1 %", "0.0 %"
// A difference of percents or of points: "+7.9 %", "-0.4 points".
[[nodiscard]] std::string changeText(double change, const std::string& unit);
[[nodiscard]] std::string countText(std::int64_t count);  // "12,345"
[[nodiscard]] std::string numberText(double number);      // "2.43", "155", "1,310"
[[nodiscard]] std::string countOf(std::int64_t count, std::string_view one);  // "2 runs"
[[nodiscard]] std::string numberOf(double number, std::string_view one);  // "1 core", "2.5 cores"

// A value with its unit as evidence states it: "ratio", "ns", "bytes", "bytes_per_s", "count",
// "per_s", or a word that follows the number.
[[nodiscard]] std::string valueText(double value, const std::string& unit);

// Parts that sum to 1 in whole `units` of the sum, by largest remainder: they add up as printed.
[[nodiscard]] std::vector<int> apportioned(std::span<const double> ratios, int units);

// The parts in whole percents, and in tenths of a percent. A part that is not nothing but was
// rounded to 0 reads "<1 %", "<0.1 %".
[[nodiscard]] std::vector<std::string> percentTexts(std::span<const double> ratios);
// The parts of a share that was rounded to `whole` percents: they add up to it.
[[nodiscard]] std::vector<std::string> percentTextsOf(int whole, std::span<const double> parts);
[[nodiscard]] std::vector<std::string> tenthTexts(std::span<const double> ratios);

}  // namespace stallprof
