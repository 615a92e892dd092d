// SPDX-License-Identifier: MIT
#include "analysis/findings/wording.h"

#include <cmath>
#include <cstdio>

namespace stallprof {

std::string number(double value) {
  char text[48];
  const double size = std::abs(value);
  if (size >= 100)
    std::snprintf(text, sizeof text, "%.0f", value);
  else
    std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string percent(double ratio) {
  char text[48];
  const double p = ratio * 100;
  std::snprintf(text, sizeof text,
                std::abs(p) < 9.95 && std::abs(p) >= 0.05 ? "%.1f %%" : "%.0f %%", p);
  return text;
}

std::string duration(double s) {
  if (s >= 1 || s <= 0) return number(s) + " s";
  if (s >= 1e-3) return number(s * 1e3) + " ms";
  return number(s * 1e6) + " us";
}

std::string byteSize(double bytes) {
  constexpr const char* kUnits[] = {" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1000 && unit < 4) bytes /= 1000, ++unit;
  return number(bytes) + kUnits[unit];
}

std::string bytesPerSecond(double rate) { return byteSize(rate) + "/s"; }

std::string countOf(int n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace stallprof
