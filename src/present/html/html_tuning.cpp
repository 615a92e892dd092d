// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/tuning_text.h"

namespace stallprof {
namespace {

constexpr double kCurveWidth = 1000, kCurveHeight = 100;

// Each setting in a column of its own.
struct TunedCurve {
  const Tuned& tuned;
  std::vector<std::size_t> order;
  double top;
  [[nodiscard]] double width() const { return kCurveWidth / static_cast<double>(order.size()); }
  [[nodiscard]] double y(double pace) const { return kCurveHeight * (1 - pace / top); }
  [[nodiscard]] const TunedSetting& at(std::size_t i) const { return tuned.settings[order[i]]; }
};

void tunedBars(Html& html, const TunedCurve& columns, const Axis& axis) {
  const auto svg = html.open("svg", {{"viewBox", "0 0 1000 100"},
                                     {"preserveAspectRatio", "none"},
                                     {"role", "img"},
                                     {"aria-label", "steps a second of each setting"}});
  gridLines(html, axis, kCurveHeight);
  std::string predicted;
  for (std::size_t i = 0; i < columns.order.size(); ++i) {
    const TunedSetting& s = columns.at(i);
    const double left = (static_cast<double>(i) + 0.15) * columns.width(),
                 width = 0.7 * columns.width(), head = columns.y(s.stepsPerSecond.value_or(0));
    const Hue hue = columns.order[i] == columns.tuned.best() ? Hue::kCompute : Hue::kSecond;
    {
      const auto bar = html.open("rect", {{"class", "fill " + std::string(nameOf(hue))},
                                          {"x", drawn(left)},
                                          {"y", drawn(head)},
                                          {"width", drawn(width)},
                                          {"height", drawn(kCurveHeight - head)}});
      html.add("title", settingText(s) + ": " +
                            (s.stepsPerSecond ? rateText(*s.stepsPerSecond, "steps") : s.why));
    }
    if (s.predicted)
      predicted += "M" + drawn(left) + " " + drawn(columns.y(*s.predicted)) + "h" + drawn(width);
  }
  if (!predicted.empty()) html.empty("path", {{"class", "rule"}, {"d", predicted}});
}

void tunedDrawing(Html& html, const TunedCurve& columns) {
  const Axis axis = countAxis(columns.top, "steps/s", 4);
  const auto shape = html.open("figure");
  const auto box = html.open("div", {{"class", "chart"}, {"style", "--h:150px"}});
  {
    const auto unit = html.open("div", {{"class", "unit"}});
    html.add("span", "steps/s by num_workers");
    {
      const auto best = html.open("span");
      dot(html, Hue::kCompute);
      html.text("the setting to use");
    }
    const auto predicted = html.open("span");
    html.add("i", {{"class", "dash"}, {"aria-hidden", "true"}}, "");
    html.text("predicted by the model");
  }
  downAxis(html, axis);
  {
    const auto plot = html.open("div", {{"class", "plot"}});
    tunedBars(html, columns, axis);
  }
  std::vector<std::pair<double, std::string>> ticks;
  for (std::size_t i = 0; i < columns.order.size(); ++i)
    ticks.emplace_back((static_cast<double>(i) + 0.5) / static_cast<double>(columns.order.size()),
                       std::to_string(columns.at(i).workers));
  footAxis(html, ticks);
}

void tunedTable(Html& html, const Tuned& tuned, const std::vector<std::size_t>& order) {
  const HtmlTable table(html, {textColumn("setting"),
                               numberColumn("steps/s"),
                               numberColumn("predicted"),
                               {"peak memory", "r wide"},
                               textColumn("")});
  for (const std::size_t i : order) {
    const TunedSetting& s = tuned.settings[i];
    const std::string path = "tune.settings." + std::to_string(i);
    const auto row = html.open("tr");
    html.add("th", {{"scope", "row"}}, settingText(s));
    const auto pace = [&](const char* name, const Maybe<double>& value) {
      figureCell(html, path + name, value, value ? numberText(*value) : kNotMeasuredText);
    };
    pace(".steps_per_s", s.stepsPerSecond);
    pace(".predicted_steps_per_s", s.predicted);
    html.add("td", {{"class", "r wide"}},
             s.peakBytes ? bytesText(static_cast<double>(*s.peakBytes)) : kNotMeasuredText);
    html.add("td", {{"class", "quiet"}}, shortened(tuningNote(tuned, i), 200));
  }
}

}  // namespace

void tuningSection(Html& html, const Analysis& a) {
  if (!a.tuned || a.tuned->settings.empty()) return;
  const Tuned& tuned = *a.tuned;
  const auto section = html.open("section", {{"id", "tune"}});
  html.add("h2", "Settings that were tried");
  for (const std::string& line : tuningSummary(tuned)) html.add("p", shortened(line, 700));
  TunedCurve columns{tuned, tuningOrder(tuned), 0};
  for (const TunedSetting& s : tuned.settings)
    columns.top = std::max({columns.top, s.stepsPerSecond.value_or(0), s.predicted.value_or(0)});
  columns.top *= 1.08;
  if (columns.top > 0) tunedDrawing(html, columns);
  tunedTable(html, tuned, columns.order);
}

}  // namespace stallprof
