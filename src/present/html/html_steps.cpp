// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "base/units.h"
#include "present/html/html_sections.h"

namespace stallprof {
namespace {

constexpr double kStripWidth = 1000,
                 kStripHeight = 200;  // the drawing's own units; stretched to the page

std::string plural(std::size_t n, const char* one) {
  return countOf(static_cast<std::int64_t>(n), one);
}

// What a step's bar is made of, from the foot up.
struct Layer {
  Hue hue;
  const char* name;
  Nanos (*of)(const Split&);
};
constexpr std::array<Layer, 7> kLayers = {
    {{Hue::kCompute, "compute", [](const Split& s) { return s.compute; }},
     {Hue::kWait, "waiting for data", [](const Split& s) { return s.wait; }},
     {Hue::kLoad, "load", [](const Split& s) { return s.load; }},
     {Hue::kSync, "sync", [](const Split& s) { return s.sync; }},
     {Hue::kComm, "comm", [](const Split& s) { return s.comm; }},
     {Hue::kPeriodic, "periodic", [](const Split& s) { return s.periodic; }},
     {Hue::kOther, "other", [](const Split& s) { return s.other; }}}};

struct Scale {
  double steps, top;
  [[nodiscard]] double x(std::size_t step) const {
    return static_cast<double>(step) / steps * kStripWidth;
  }
  [[nodiscard]] double y(Nanos t) const {
    return kStripHeight * (1 - std::clamp(static_cast<double>(t.count()) / top, 0.0, 1.0));
  }
};

// All bars of one layer as one path.
std::string layerPath(const Strip& strip, const Scale& scale, std::size_t layer) {
  std::string path;
  const double gap = strip.bars.size() <= 160 ? 0.14 : 0;
  for (const StripBar& bar : strip.bars) {
    Nanos below{};
    for (std::size_t i = 0; i < layer; ++i) below += kLayers[i].of(bar.split);
    const Nanos own = kLayers[layer].of(bar.split);
    const double foot = scale.y(below), head = scale.y(below + own);
    if (own <= Nanos(0) || foot - head < 0.01) continue;
    const double left = scale.x(bar.first), width = (scale.x(bar.last + 1) - left) * (1 - gap);
    path += "M" + drawn(left) + " " + drawn(foot) + "V" + drawn(head) + "h" + drawn(width) + "V" +
            drawn(foot) + "z";
  }
  return path;
}

std::string barTitle(const StripBar& bar) {
  std::string text = bar.first == bar.last
                         ? "step " + std::to_string(bar.first) + ": " + durationText(bar.middle)
                         : "steps " + std::to_string(bar.first) + "-" + std::to_string(bar.last) +
                               ": median " + durationText(bar.middle) + ", from " +
                               durationText(bar.low) + " to " + durationText(bar.high);
  for (const Layer& layer : kLayers)
    if (const Nanos t = layer.of(bar.split);
        t > bar.middle / 50)  // divided: of forged times it may be years
      text += std::string("; ") + layer.name + " " + durationText(t);
  return text;
}

void drawing(Html& html, const Strip& strip, const Axis& axis) {
  const Scale scale{static_cast<double>(strip.steps), static_cast<double>(strip.top.count())};
  const auto svg = html.open("svg", {{"viewBox", "0 0 1000 200"},
                                     {"preserveAspectRatio", "none"},
                                     {"role", "img"},
                                     {"aria-label", "length of each step by phase"}});
  gridLines(html, axis, kStripHeight);
  for (std::size_t i = 0; i < kLayers.size(); ++i)
    if (const std::string path = layerPath(strip, scale, i); !path.empty())
      html.empty("path", {{"class", "fill " + std::string(nameOf(kLayers[i].hue))}, {"d", path}});
  std::string ranges;
  for (const StripBar& bar : strip.bars)
    if (bar.first != bar.last)
      ranges += "M" + drawn((scale.x(bar.first) + scale.x(bar.last + 1)) / 2) + " " +
                drawn(scale.y(bar.low)) + "V" + drawn(scale.y(bar.high));
  if (!ranges.empty()) html.empty("path", {{"class", "range"}, {"d", ranges}});
  if (strip.warmup > 0)
    html.empty("rect", {{"class", "veil"},
                        {"x", "0"},
                        {"y", "0"},
                        {"height", "200"},
                        {"width", drawn(scale.x(strip.warmup))}});
  const std::string y = drawn(scale.y(strip.median));
  html.empty("line", {{"class", "rule"}, {"x1", "0"}, {"x2", "1000"}, {"y1", y}, {"y2", y}});
  for (const StripBar& bar : strip.bars) {
    const double left = scale.x(bar.first);
    const auto hit = html.open("rect", {{"class", "hit"},
                                        {"x", drawn(left)},
                                        {"y", "0"},
                                        {"height", "200"},
                                        {"width", drawn(scale.x(bar.last + 1) - left)}});
    html.add("title", barTitle(bar));
  }
}

std::vector<std::pair<double, std::string>> stepTicks(const Strip& strip) {
  std::vector<std::pair<double, std::string>> ticks;
  const auto each =
      static_cast<std::size_t>(std::max(1.0, nextRound(static_cast<double>(strip.steps) / 8)));
  for (std::size_t i = 0; i < strip.steps; i += each)
    ticks.emplace_back(static_cast<double>(i) / static_cast<double>(strip.steps),
                       countText(static_cast<std::int64_t>(i)));
  return ticks;
}

void chart(Html& html, const Strip& strip) {
  const Axis axis = timeAxis(strip.top, 4);
  const auto box = html.open("div", {{"class", "chart"}, {"style", "--h:210px"}});
  {
    const auto unit = html.open("div", {{"class", "unit"}});
    html.add("span", axis.unit + " per step, by its number");
    for (const Layer& layer : kLayers) {
      const bool there = std::any_of(strip.bars.begin(), strip.bars.end(), [&](const StripBar& b) {
        return layer.of(b.split) > b.middle / 100;
      });
      if (!there) continue;
      const auto name = html.open("span");
      dot(html, layer.hue);
      html.text(layer.name);
    }
    const auto median = html.open("span");
    html.add("i", {{"class", "dash"}, {"aria-hidden", "true"}}, "");
    html.text("median " + durationText(strip.median));
  }
  downAxis(html, axis);
  {
    const auto plot = html.open("div", {{"class", "plot"}});
    drawing(html, strip, axis);
    if (strip.warmup * 15 > strip.steps)
      html.add("span", {{"class", "tag"}, {"style", "left:0"}}, "warm-up");
  }
  footAxis(html, stepTicks(strip));
}

void caption(Html& html, const Strip& strip) {
  std::string text;
  if (strip.bars.size() < strip.steps)
    text += "Each bar is the median step of " +
            (strip.joined > 0 ? "neighbouring steps"
                              : plural((strip.steps + strip.bars.size() - 1) / strip.bars.size(),
                                       "neighbouring step")) +
            "; the thin line runs from the shortest to the longest of them. ";
  if (strip.joined > 0)
    text += "Of " + plural(strip.steps, "step") + " " +
            countText(static_cast<std::int64_t>(strip.steps - strip.joined)) +
            " are drawn; all sums include the others. ";
  if (strip.above > 0)
    text += plural(strip.above, "step") + (strip.above == 1 ? " is" : " are") +
            " longer than the axis; the table below lists the slowest of the window. ";
  if (strip.warmup > 0)
    text += "The first " + plural(strip.warmup, "step") + " (faded) " +
            (strip.warmup == 1 ? "is" : "are") + " warm-up, which no share includes.";
  if (!text.empty()) html.add("figcaption", text);
}

void slowest(Html& html, const Strip& strip) {
  if (strip.slowest.empty()) return;
  const auto details = html.open("details");
  html.add("summary", "The slowest steps");
  const HtmlTable table(html,
                        {numberColumn("step"), numberColumn("took"), numberColumn("of the median"),
                         textColumn("most of it"), numberColumn("")});
  for (const SlowStep& slow : strip.slowest) {
    const auto row = html.open("tr");
    html.add("td", {{"class", "r"}}, countText(static_cast<std::int64_t>(slow.index)));
    html.add("td", {{"class", "r"}}, durationText(slow.duration));
    html.add("td", {{"class", "r"}},
             strip.median > Nanos(0)
                 ? numberText(seconds(slow.duration) / seconds(strip.median)) + "x"
                 : "");
    {
      const auto why = html.open("td");
      dot(html, slow.hue);
      html.text(slow.why);
    }
    html.add("td", {{"class", "r"}}, durationText(slow.maximum));
  }
}

}  // namespace

void stepsSection(Html& html, const Analysis& a, const Picture& picture) {
  if (picture.strip.bars.empty()) return;
  const auto section = html.open("section", {{"id", "steps"}});
  html.add("h2", "Every step");
  {
    const auto intro = html.open("p", {{"class", "intro"}});
    figure(html, "steps.count", a.steps.count, countOf(a.steps.count, "step"));
    html.text(", ");
    figure(html, "steps.window_count", a.steps.windowCount, countText(a.steps.windowCount));
    html.text(std::string(" of them after warm-up") +
              (a.steps.source == "hook" ? ", from the start of one fetch to the start of the next."
                                        : "."));
  }
  const auto shape = html.open("figure");
  chart(html, picture.strip);
  caption(html, picture.strip);
  slowest(html, picture.strip);
}

}  // namespace stallprof
