// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/units.h"
#include "present/html/html_sections.h"

namespace stallprof {
namespace {

constexpr double kNamed = 0.055;  // a block's part of the lane from which its name has room

struct View {
  const StepView& step;
  [[nodiscard]] double at(Nanos t) const {
    return seconds(t - step.from) / seconds(step.to - step.from);
  }
};

void block(Html& html, const View& view, const Block& b) {
  const double left = view.at(b.begin), width = view.at(b.end) - left;
  const bool named = width >= kNamed;
  html.add("span",
           {{"class", std::string("b ") + std::string(nameOf(b.hue)) + (named ? " named" : "") +
                          (b.awaited ? " awaited" : "")},
            {"style", placed(left, width)},
            {"title", b.name + ", " + durationText(b.end - b.begin)}},
           named ? b.name : "");
}

void lane(Html& html, const View& view, const Lane& lane) {
  {
    const auto name = html.open("div", {{"class", "name"}});
    html.text(lane.name);
    if (!lane.note.empty()) html.add("small", lane.note);
  }
  const auto row =
      html.open("div", {{"class", "lane"}, {"role", "img"}, {"aria-label", lane.name}});
  for (const Block& b : lane.blocks) block(html, view, b);
  const double begin = view.at(view.step.begin), end = view.at(view.step.end);
  html.add("i", {{"class", "out"}, {"style", placed(end, 1 - end)}}, "");
  html.add("i", {{"class", "mark"}, {"style", "left:" + drawn(begin * 100) + "%"}}, "");
  html.add("i", {{"class", "mark"}, {"style", "left:" + drawn(end * 100) + "%"}}, "");
}

// Times from the step's begin on, negative before it.
std::vector<std::pair<double, std::string>> ticks(const View& view) {
  const Nanos before = view.step.begin - view.step.from, after = view.step.to - view.step.begin;
  const Axis scale = timeAxis(before + after, 6);
  std::vector<std::pair<double, std::string>> out;
  if (scale.ticks.size() < 2) return out;
  const double each = scale.ticks[1].first * seconds(before + after);
  const auto first = static_cast<int>(-seconds(before) / each),
             last = static_cast<int>(seconds(after) / each);
  for (int i = first; i <= last && i - first < 40; ++i) {
    const std::string number =
        scale
            .ticks[static_cast<std::size_t>(std::min<std::size_t>(
                static_cast<std::size_t>(std::abs(i)), scale.ticks.size() - 1))]
            .second;
    out.emplace_back((seconds(before) + i * each) / seconds(before + after),
                     (i < 0 ? "-" : "") + number + (i == 0 ? " " + scale.unit : ""));
  }
  return out;
}

void parts(Html& html, const StepView& step) {
  struct Part {
    Hue hue;
    const char* name;
    Nanos time;
  };
  const Split& s = step.split;
  const auto list = html.open("ul", {{"class", "legend"}});
  for (const Part& p :
       {Part{Hue::kWait, "waiting for data", s.wait}, Part{Hue::kLoad, "load", s.load},
        Part{Hue::kCompute, "compute", s.compute}, Part{Hue::kSync, "sync", s.sync},
        Part{Hue::kComm, "comm", s.comm}, Part{Hue::kPeriodic, "periodic", s.periodic},
        Part{Hue::kOther, "other", s.other}}) {
    if (p.time < step.split.total() / 200) continue;  // divided: it may be years, of forged times
    const auto item = html.open("li");
    dot(html, p.hue);
    html.text(std::string(p.name) + " ");
    html.add("b", durationText(p.time));
  }
}

void step(Html& html, const StepView& step, const char* title) {
  if (step.to <= step.from) return;
  const View view{step};
  const auto outer = html.open("div", {{"class", "step"}});
  {
    const auto head = html.open("div", {{"class", "shead"}});
    html.add("h3", std::string(title) + " step");
    html.add("span", {{"class", "quiet"}},
             "step " + countText(static_cast<std::int64_t>(step.index)) + ", " +
                 durationText(step.end - step.begin));
  }
  parts(html, step);
  {
    const auto lanes = html.open("div", {{"class", "lanes"}});
    for (const Lane& one : step.lanes) lane(html, view, one);
    html.add("div", "");
    footAxis(html, ticks(view));
  }
  std::string note = step.note;
  if (step.hiddenLanes > 0)
    note += (note.empty() ? "" : " ") +
            countOf(static_cast<std::int64_t>(step.hiddenLanes), "worker") + " more not shown.";
  if (!note.empty()) html.add("p", {{"class", "note"}}, note);
}

}  // namespace

void laneSection(Html& html, const Picture& picture) {
  if (!picture.median) return;
  const auto section = html.open("section", {{"id", "lanes"}});
  html.add("h2", "Two steps in full");
  const bool outlined =
      std::any_of(picture.median->lanes.begin(), picture.median->lanes.end(), [](const Lane& l) {
        return std::any_of(l.blocks.begin(), l.blocks.end(),
                           [](const Block& b) { return b.awaited; });
      });
  html.add("p", {{"class", "intro"}},
           std::string("The median step and the longest one of the window, between the dashed "
                       "lines.") +
               (outlined ? " The trainer waited for the outlined batch." : ""));
  {
    constexpr std::pair<Hue, const char*> kNames[] = {
        {Hue::kTransform, "makes a batch"},
        {Hue::kExtract, "blocked in a read, by samples"},
        {Hue::kLoad, "sends it, or starts up"}};
    const auto list = html.open("ul", {{"class", "legend"}});
    for (const auto& [hue, name] : kNames) {
      const auto item = html.open("li");
      dot(html, hue);
      html.text(name);
    }
  }
  step(html, *picture.median, "Median");
  if (picture.worst && picture.worst->index != picture.median->index)
    step(html, *picture.worst, "Longest");
}

}  // namespace stallprof
