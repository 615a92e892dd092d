// SPDX-License-Identifier: MIT
#include "present/html/html_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"

namespace stallprof {
namespace {

std::string className(std::string_view base, Hue hue) {
  return std::string(base) + " " + std::string(nameOf(hue));
}

Axis axisOf(double top, double unit, const std::string& name, int about) {
  Axis axis;
  axis.unit = name;
  axis.top = std::max(top, unit * 1e-9);
  const double step = nextRound(axis.top / unit / about);
  const double power = std::floor(std::log10(step) + 1e-9);
  const bool quarter = std::abs(step / std::pow(10, power) - 2.5) < 0.01;  // needs a digit more
  const int decimals = std::clamp(static_cast<int>(-power) + (quarter ? 1 : 0), 0, 6);
  for (int i = 0; i <= 20 && i * step * unit <= axis.top * 1.0001; ++i)
    axis.ticks.emplace_back(i * step * unit / axis.top,
                            i * step >= 1000
                                ? countText(std::llround(i * step))
                                : fmt::format("{:.{}f}", i * step, i == 0 ? 0 : decimals));
  return axis;
}

}  // namespace

double nextRound(double number) {
  if (!(number > 0) || !std::isfinite(number)) return 1;
  const double power = std::pow(10, std::floor(std::log10(number)));
  for (const double step : {1.0, 2.0, 2.5, 5.0})
    if (step * power >= number * 0.999) return step * power;
  return 10 * power;
}

void figure(Html& html, const std::string& path, double value, std::string_view text) {
  if (!std::isfinite(value)) return html.add("span", {{"data-path", path}}, kNotMeasuredText);
  html.add("span", {{"class", "n"}, {"data-path", path}, {"data-value", fmt::format("{}", value)}},
           text);
}

void figure(Html& html, const std::string& path, std::int64_t value, std::string_view text) {
  html.add("span", {{"class", "n"}, {"data-path", path}, {"data-value", std::to_string(value)}},
           text);
}

void figure(Html& html, const std::string& path, const Maybe<double>& value,
            std::string_view text) {
  if (value) return figure(html, path, *value, text);
  html.add("span", {{"data-path", path}}, kNotMeasuredText);
}

void word(Html& html, const std::string& path, std::string_view value, std::string_view text) {
  html.add("span", {{"data-path", path}, {"data-value", std::string(value)}}, text);
}

void dot(Html& html, Hue hue) {
  html.add("i", {{"class", className("dot", hue)}, {"aria-hidden", "true"}}, "");
}

void meter(Html& html, double ratio, Hue hue) {
  const auto outer = html.open("div", {{"class", "meter"}, {"aria-hidden", "true"}});
  if (!(ratio > 0)) return;
  html.add("i",
           {{"class", std::string(nameOf(hue))},
            {"style", "width:" + drawn(std::min(ratio, 1.0) * 100) + "%"}},
           "");
}

void meterCell(Html& html, const char* style, double ratio, Hue hue) {
  cell(html, style, [&] { meter(html, ratio, hue); });
}

void rowHead(Html& html, Hue hue, std::string_view text) {
  const auto name = html.open("th", {{"scope", "row"}});
  dot(html, hue);
  html.text(text);
}

void header(Html& html, Columns names) {
  const auto head = html.open("thead");
  const auto row = html.open("tr");
  for (const auto& [name, style] : names)
    html.add("th", {{"scope", "col"}, {"class", style}}, name);
}

std::string shortened(const std::string& text, std::size_t maximum) {
  if (text.size() <= maximum) return text;
  const auto within = [&](std::size_t at) {  // a character of more than one byte
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  const std::size_t tail = maximum * 2 / 3;
  std::size_t head = maximum - tail - 3, from = text.size() - tail;
  while (head > 0 && within(head)) --head;
  while (from < text.size() && within(from)) ++from;
  return text.substr(0, head) + "..." + text.substr(from);
}

std::string placed(double left, double width) {
  return "left:" + drawn(left * 100) + "%;width:" + drawn(width * 100) + "%";
}

void stackedBar(Html& html, const std::vector<BarPart>& parts, const std::string& shape) {
  constexpr double kMinNamedRatio = 0.09;  // narrower ones have no room for a word
  const auto bar = html.open("div", {{"class", "bar " + shape}, {"aria-hidden", "true"}});
  for (const BarPart& part : parts) {
    if (!(part.ratio > 0)) continue;
    const bool named = !part.blank && part.ratio >= kMinNamedRatio;
    html.add("span",
             {{"class", part.blank ? "b none" : className(named ? "b named" : "b", part.hue)},
              {"style", "flex:0 1 " + drawn(part.ratio * 100) + "%"},
              {"title", part.title}},
             named ? part.name : "");
  }
}

Axis timeAxis(Nanos top, int about) {
  const double s = seconds(top);
  constexpr std::array<std::pair<double, const char*>, 5> kUnits = {
      {{3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}}};
  for (const auto& [unit, name] : kUnits)
    if (s >= unit * 2 || unit == 1e-6) return axisOf(s, unit, name, about);
  return {};
}

Axis bytesAxis(double top, const std::string& per, int about) {
  constexpr std::array<std::pair<double, const char*>, 5> kUnits = {
      {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  for (const auto& [unit, name] : kUnits)
    if (top >= unit * 1.5 || unit == 1) return axisOf(std::max(top, 1.0), unit, name + per, about);
  return {};
}

Axis countAxis(double top, const std::string& unit, int about) {
  return axisOf(std::max(top, 1e-6), 1, unit, about);
}

void downAxis(Html& html, const Axis& axis) {
  const auto y = html.open("div", {{"class", "y"}, {"aria-hidden", "true"}});
  for (const auto& [at, text] : axis.ticks)
    html.add("span", {{"style", "bottom:" + drawn(at * 100) + "%"}}, text);
}

void footAxis(Html& html, const std::vector<std::pair<double, std::string>>& ticks) {
  const auto x = html.open("div", {{"class", "x"}, {"aria-hidden", "true"}});
  for (const auto& [at, text] : ticks)
    html.add("span",
             {{"class", at < 0.03   ? "a"
                        : at > 0.97 ? "z"
                                    : ""},
              {"style", "left:" + drawn(at * 100) + "%"}},
             text);
}

void gridLines(Html& html, const Axis& axis, double height) {
  for (const auto& [at, text] : axis.ticks) {
    if (at <= 0) continue;
    const std::string y = drawn(height * (1 - at));
    html.empty("line", {{"class", "grid"}, {"x1", "0"}, {"x2", "1000"}, {"y1", y}, {"y2", y}});
  }
}

}  // namespace stallprof
