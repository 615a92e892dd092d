// SPDX-License-Identifier: MIT
#include "base/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace stallprof {
namespace {

struct Scale {
  double one;
  const char* unit;
};

constexpr int kSmallDecimals = 4;  // of a number below a tenth: 0.0042 is not nothing

// Three significant digits, no exponent: 1.31, 12.8, 412. From 1,000 on whole and grouped.
std::string threeDigits(double number) {
  const double size = std::abs(number);
  if (size >= 999.5) return countText(std::llround(std::clamp(number, -9e18, 9e18)));
  const int decimals = size >= 99.95 || size == 0 ? 0
                       : size >= 9.995            ? 1
                       : size >= 0.095            ? 2
                                                  : kSmallDecimals;
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.*f", decimals, number);
  std::string text = digits;
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

// The largest scale that keeps at least one whole digit after rounding to three.
template <std::size_t N>
std::string scaled(double number, const std::array<Scale, N>& scales) {
  for (const Scale& s : scales)
    if (std::abs(number) >= s.one * 0.9995 || &s == &scales.back())
      return threeDigits(number / s.one) + " " + s.unit;
  return {};
}

constexpr std::array<Scale, 6> kByteScales = {
    {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
constexpr std::array<Scale, 4> kTimeScales = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};

std::string wholePercent(int percent, double ratio) {
  return percent == 0 && ratio > 0 ? "<1 %" : std::to_string(percent) + " %";
}

std::string ofNoun(const std::string& number, std::string_view one) {
  const bool sibilant =
      one.ends_with("s") || one.ends_with("x") || (one.ends_with("ch") && !one.ends_with("epoch"));
  return number + " " + std::string(one) + (number == "1" ? "" : sibilant ? "es" : "s");
}

}  // namespace

std::string countText(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string numberText(double number) {
  return std::isfinite(number) ? threeDigits(number) : kNotMeasuredText;
}

std::string countOf(std::int64_t count, std::string_view one) {
  return ofNoun(countText(count), one);
}

std::string numberOf(double number, std::string_view one) {
  return ofNoun(numberText(number), one);
}

std::string durationText(Nanos duration) {
  const auto ns = static_cast<double>(duration.count());
  const std::int64_t total = std::llround(ns * 1e-9);
  if (total < 120) return scaled(ns, kTimeScales);
  const auto both = [](std::int64_t large, const char* of, std::int64_t small, const char* rest) {
    return std::to_string(large) + of + std::to_string(small) + rest;
  };
  if (total < 7200) return both(total / 60, " min ", total % 60, " s");
  return both(total / 3600, " h ", total % 3600 / 60, " min");
}

std::string bytesText(double bytes) {
  return std::isfinite(bytes) ? scaled(bytes, kByteScales) : kNotMeasuredText;
}

std::string rateText(double perSecond, const std::string& what) {
  if (!std::isfinite(perSecond)) return kNotMeasuredText;
  if (what == "bytes") return bytesText(perSecond) + "/s";
  return threeDigits(perSecond) + (what.empty() ? "/s" : " " + what + "/s");
}

std::string percentText(double ratio) {
  if (!std::isfinite(ratio)) return kNotMeasuredText;
  const double percent = ratio * 100;
  if (percent > 0 && percent < 0.5) return "<1 %";
  return countText(std::llround(std::clamp(percent, -9e15, 9e15))) + " %";
}

std::string tenthPercentText(double ratio) {
  if (!std::isfinite(ratio)) return kNotMeasuredText;
  const double percent = ratio * 100;
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", std::clamp(percent, -9e15, 9e15));
  return text;
}

std::string changeText(double change, const std::string& unit) {
  double shown = std::clamp(change * 100, -9e15, 9e15);
  if (std::abs(shown) < 0.05) shown = 0;  // without a sign of its own: "-0.0"
  // None behind the point for what is so large that it means "far off".
  const int decimals = std::abs(shown) < 99.95 ? 1 : 0;
  char text[32];
  std::snprintf(text, sizeof text, "%+.*f ", decimals, shown);
  return text + unit;
}

std::string valueText(double value, const std::string& unit) {
  if (!std::isfinite(value)) return kNotMeasuredText;
  if (unit == "ratio") return percentText(value);
  if (unit == "ns") return durationText(Nanos(std::llround(std::clamp(value, -9e18, 9e18))));
  if (unit == "bytes") return bytesText(value);
  if (unit == "bytes_per_s") return rateText(value, "bytes");
  if (unit == "per_s") return rateText(value, "");
  if (unit.empty() || unit == "count") return numberText(value);
  return numberText(value) + " " + unit;
}

std::vector<int> apportioned(std::span<const double> ratios, int units) {
  std::vector<int> shares;
  std::vector<std::pair<double, std::size_t>> remainders;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const double share = std::isfinite(ratios[i]) ? std::clamp(ratios[i], 0.0, 1.0) * units : 0;
    shares.push_back(static_cast<int>(share));
    remainders.emplace_back(share - shares.back(), i);
  }
  // Of equal remainders the larger share's, so that the order of the shares does not matter.
  std::stable_sort(remainders.begin(), remainders.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : ratios[a.second] > ratios[b.second];
  });
  int missing = units - std::accumulate(shares.begin(), shares.end(), 0);
  for (const auto& [remainder, i] : remainders) {
    if (missing <= 0 || remainder <= 0) break;
    ++shares[i];
    --missing;
  }
  return shares;
}

std::vector<std::string> percentTexts(std::span<const double> ratios) {
  std::vector<std::string> texts;
  for (const int percent : apportioned(ratios, 100))
    texts.push_back(wholePercent(percent, ratios[texts.size()]));
  return texts;
}

std::vector<std::string> percentTextsOf(int whole, std::span<const double> parts) {
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  std::vector<double> ratios;
  for (const double part : parts) ratios.push_back(sum > 0 ? part / sum : 0);
  std::vector<std::string> texts;
  for (const int percent : apportioned(ratios, whole))
    texts.push_back(wholePercent(percent, parts[texts.size()]));
  return texts;
}

std::vector<std::string> tenthTexts(std::span<const double> ratios) {
  std::vector<std::string> texts;
  for (const int tenths : apportioned(ratios, 1000))
    texts.push_back(tenths == 0 && ratios[texts.size()] > 0
                        ? "<0.1 %"
                        : std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %");
  return texts;
}

}  // namespace stallprof
