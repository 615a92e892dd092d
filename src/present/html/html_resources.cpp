// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

constexpr double kPanelWidth = 1000, kPanelHeight = 100;

double topOf(const Panel& panel) {
  double top = 0;
  const std::size_t buckets = panel.series[0].values.size();
  for (std::size_t i = 0; i < buckets; ++i) {
    double sum = 0;
    for (const Series& s : panel.series) {
      const double value = std::isfinite(s.values[i]) ? s.values[i] : 0;
      sum = panel.stacked ? sum + value : std::max(sum, value);
    }
    top = std::max(top, sum);
  }
  if (panel.unit == Panel::Unit::kBatches) top = std::max(top, 1.0);
  // What there is belongs into the picture unless it would flatten what was used.
  if (panel.limit && *panel.limit < top * 4) top = std::max(top, *panel.limit);
  return top > 0 ? top * 1.08 : 1;
}

Axis panelAxis(const Panel& panel, double top) {
  constexpr const char* kUnits[] = {"cores", "", "/s", "batches", "%", "W", "MHz"};
  const char* unit = kUnits[static_cast<std::size_t>(panel.unit)];
  const bool bytes =
      panel.unit == Panel::Unit::kBytes || panel.unit == Panel::Unit::kBytesPerSecond;
  return bytes ? bytesAxis(top, unit, 4) : countAxis(top, unit, 4);
}

std::string valueOf(const Panel& panel, double value) {
  switch (panel.unit) {
    case Panel::Unit::kPercent:
      return percentText(value / 100);
    case Panel::Unit::kWatts:
      return numberText(value) + " W";
    case Panel::Unit::kMegahertz:
      return numberText(value) + " MHz";
    case Panel::Unit::kBytes:
      return bytesText(value);
    case Panel::Unit::kBytesPerSecond:
      return rateText(value, "bytes");
    default:
      return numberText(value);
  }
}

// A series as steps over its buckets: `low` is what it stands on, `top` the axis.
std::string outline(const std::vector<double>& low, const std::vector<double>& values, double top,
                    bool closed) {
  std::string path;
  const double each = kPanelWidth / static_cast<double>(values.size());
  const auto y = [&](double v) { return drawn(kPanelHeight * (1 - std::min(v / top, 1.0))); };
  bool down = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      down = false;
      continue;
    }
    path += (down ? "V" + y(low[i] + values[i])
                  : "M" + drawn(static_cast<double>(i) * each) + " " + y(low[i] + values[i])) +
            "h" + drawn(each);
    down = true;
  }
  if (!closed || path.empty()) return path;
  for (std::size_t i = values.size(); i-- > 0;)
    path += "V" + y(low[i]) + "H" + drawn(static_cast<double>(i) * each);
  return path + "z";
}

void panelDrawing(Html& html, const Panel& panel, const TimeAxis& time, const Axis& axis) {
  const auto svg = html.open("svg", {{"viewBox", "0 0 1000 100"},
                                     {"preserveAspectRatio", "none"},
                                     {"role", "img"},
                                     {"aria-label", panel.title + " over time"}});
  for (std::size_t i = 1; i < time.marked.size(); i += 2)
    html.empty("rect",
               {{"class", "shade"},
                {"y", "0"},
                {"height", "100"},
                {"x", drawn(time.marked[i].first * kPanelWidth)},
                {"width", drawn((time.marked[i].second - time.marked[i].first) * kPanelWidth)}});
  gridLines(html, axis, kPanelHeight);
  std::vector<double> low(panel.series[0].values.size(), 0.0);
  for (const Series& s : panel.series) {
    const std::string hue(nameOf(s.hue));
    if (panel.stacked) {
      html.empty("path", {{"class", "area " + hue}, {"d", outline(low, s.values, axis.top, true)}});
      for (std::size_t i = 0; i < low.size(); ++i) low[i] += s.values[i];
    } else {
      html.empty("path",
                 {{"class", "line " + hue}, {"d", outline(low, s.values, axis.top, false)}});
    }
  }
  if (panel.limit && *panel.limit <= axis.top) {
    const std::string y = drawn(kPanelHeight * (1 - *panel.limit / axis.top));
    html.empty("line", {{"class", "rule"}, {"x1", "0"}, {"x2", "1000"}, {"y1", y}, {"y2", y}});
  }
}

std::vector<std::pair<double, std::string>> timeTicks(const TimeAxis& time) {
  const Axis axis = timeAxis(time.end - time.begin, 5);
  auto ticks = axis.ticks;
  if (!ticks.empty()) ticks.back().second += " " + axis.unit;
  return ticks;
}

void summary(Html& html, const Panel& panel) {
  for (const Series& s : panel.series) {
    double sum = 0, peak = 0;
    std::size_t known = 0;
    for (const double value : s.values) {
      if (!std::isfinite(value)) continue;
      sum += value;
      peak = std::max(peak, value);
      ++known;
    }
    const auto item = html.open("span");
    dot(html, s.hue);
    html.text(s.name + ": mean " +
              valueOf(panel, known > 0 ? sum / static_cast<double>(known) : 0) + ", peak " +
              valueOf(panel, peak));
  }
}

void panel(Html& html, const Panel& panel, const TimeAxis& time) {
  const Axis axis = panelAxis(panel, topOf(panel));
  const auto shape = html.open("figure");
  {
    const auto box = html.open("div", {{"class", "chart"}, {"style", "--h:120px"}});
    {
      const auto unit = html.open("div", {{"class", "unit"}});
      html.add("b", panel.title);
      html.add("span", axis.unit);
    }
    downAxis(html, axis);
    {
      const auto plot = html.open("div", {{"class", "plot"}});
      panelDrawing(html, panel, time, axis);
      if (panel.limit && *panel.limit <= axis.top)
        html.add(
            "span",
            {{"class", "limit"}, {"style", "bottom:" + drawn(*panel.limit / axis.top * 100) + "%"}},
            panel.limitName);
    }
    footAxis(html, timeTicks(time));
  }
  const auto caption = html.open("figcaption");
  {
    const auto names = html.open("span", {{"class", "legend"}});
    summary(html, panel);
  }
  if (!panel.note.empty()) html.add("span", panel.note);
}

// What the panels show, in the window: what was not measured is left out here.
void used(Html& html, const Analysis& a) {
  const Resources& r = a.resources;
  const auto part = [&](const char* before, const char* path, const Maybe<double>& value,
                        const std::string& text, const char* after) {
    if (!value) return;
    html.text(before);
    figure(html, path, value, text);
    html.text(after);
  };
  part(" The job used ", "resources.cpu_ratio", r.jobCpuRatio,
       percentText(r.jobCpuRatio.value_or(0)), " of the usable CPU ");
  if (r.jobCpuRatio) html.text(windowText(a.breakdown) + ".");
  part(" It read ", "resources.read_bytes_per_s", r.readBytesPerSecond,
       rateText(r.readBytesPerSecond.value_or(0), "bytes"), " from storage.");
  part(" The page cache served ", "resources.cache_hit_ratio", r.cacheHitRatio,
       percentText(r.cacheHitRatio.value_or(0)), " of its reads.");
}

}  // namespace

void resourcesSection(Html& html, const Analysis& a, const Picture& picture) {
  if (picture.panels.empty()) return;
  const auto section = html.open("section", {{"id", "resources"}});
  html.add("h2", "Resources");
  {
    const auto intro = html.open("p", {{"class", "intro"}});
    html.text("The whole run");
    if (picture.time.marked.size() > 1) html.text("; every second epoch is shaded");
    html.text(".");
    used(html, a);
  }
  const auto grid = html.open("div", {{"class", "panels"}});
  for (const Panel& one : picture.panels) panel(html, one, picture.time);
}

}  // namespace stallprof
