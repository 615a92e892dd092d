// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxRows = 40;

// The first ones and the last, where there are too many to read.
std::vector<std::size_t> shownOf(std::size_t rows) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < rows; ++i)
    if (rows <= kMaxRows || i < kMaxRows - 1 || i + 1 == rows) shown.push_back(i);
  return shown;
}

void more(Html& html, std::size_t rows) {
  if (rows <= kMaxRows) return;
  html.add(
      "p", {{"class", "note"}},
      "and " + countText(static_cast<std::int64_t>(rows - kMaxRows)) + " more in the JSON report");
}

}  // namespace

void epochsSection(Html& html, const Analysis& a) {
  if (a.epochs.empty()) return;
  const auto section = html.open("section", {{"id", "epochs"}});
  html.add("h2", "Epochs");
  double longest = 1;
  for (const EpochInfo& e : a.epochs)
    longest = std::max(longest, static_cast<double>(e.wall.count()));
  {
    const HtmlTable table(
        html, {numberColumn("epoch"), numberColumn("took"), wideColumn(), numberColumn("steps"),
               numberColumn("waiting for data"), numberColumn("cache hits")});
    for (const std::size_t i : shownOf(a.epochs.size())) {
      const EpochInfo& e = a.epochs[i];
      const std::string path = "epochs." + std::to_string(i);
      const auto row = html.open("tr");
      html.add("td", {{"class", "r"}}, countText(e.index));
      figureCell(html, path + ".wall_ns", e.wall.count(), durationText(e.wall));
      {
        const auto td = html.open("td", {{"class", "w wide"}, {"aria-hidden", "true"}});
        const double wait = e.dataWaitRatio.value_or(0),
                     part = static_cast<double>(e.wall.count()) / longest;
        stackedBar(html,
                   {{Hue::kWait, wait * part, "", "waiting for data", false},
                    {Hue::kSecond, (1 - wait) * part, "", "all else", false},
                    {Hue::kOther, 1 - part, "", "", true}},
                   "slim");
      }
      figureCell(html, path + ".steps", e.steps, countText(e.steps));
      figureCell(html, path + ".data_wait_ratio", e.dataWaitRatio,
                 percentText(e.dataWaitRatio.value_or(0)));
      figureCell(html, path + ".cache_hit_ratio", e.cacheHitRatio,
                 percentText(e.cacheHitRatio.value_or(0)));
    }
  }
  more(html, a.epochs.size());
}

void trainersSection(Html& html, const Analysis& a) {
  if (a.trainers.size() < 2) return;
  const auto section = html.open("section", {{"id", "trainers"}});
  html.add("h2", "Trainers");
  const auto shown =
      std::find_if(a.trainers.begin(), a.trainers.end(), std::mem_fn(&TrainerInfo::shown));
  html.add("p", {{"class", "intro"}},
           "The sections above show " +
               (shown == a.trainers.end() ? "one trainer" : trainerName(*shown)) +
               ": the trainer with the longest window, of several in parallel the one that waits "
               "most for data.");
  {
    const HtmlTable table(
        html, {textColumn("trainer"), numberColumn("steps"), numberColumn("median"),
               numberColumn("waiting for data"), numberColumn("compute"), textColumn("bound by")});
    for (const std::size_t i : shownOf(a.trainers.size())) {
      const TrainerInfo& t = a.trainers[i];
      const std::string path = "trainers." + std::to_string(i);
      const auto row = html.open("tr");
      html.add("th", {{"scope", "row"}}, trainerName(t));
      figureCell(html, path + ".steps.count", t.steps.count, countText(t.steps.count));
      cell(html, "r", [&] {
        if (t.steps.time)
          figure(html, path + ".steps.time_ns.p50", t.steps.time->p50.count(),
                 durationText(t.steps.time->p50));
      });
      const Maybe<Breakdown::Ratio>& ratio = t.breakdown.ratio;
      cell(html, "r", [&] {
        if (ratio)
          figure(html, path + ".breakdown.ratio.data_wait", ratio->dataWait,
                 percentText(ratio->dataWait));
      });
      cell(html, "r", [&] {
        if (ratio)
          figure(html, path + ".breakdown.ratio.compute", ratio->compute,
                 percentText(ratio->compute));
      });
      cell(html, "",
           [&] { word(html, path + ".verdict.bound_by", t.verdict.boundBy, t.verdict.boundBy); });
    }
  }
  more(html, a.trainers.size());
}

void filesSection(Html& html, const Picture& picture) {
  if (picture.files.empty()) return;
  const auto section = html.open("section", {{"id", "files"}});
  html.add("h2", "Files with the most waiting");
  html.add("p", {{"class", "intro"}},
           "Number of samples in which a thread of the job was blocked in the file.");
  {
    const HtmlTable table(html, {numberColumn("samples"), wideColumn(), textColumn("file"),
                                 numberColumn("size"), textColumn("file system")});
    for (const FileRow& file : picture.files) {
      const auto row = html.open("tr");
      html.add("td", {{"class", "r"}}, countText(static_cast<std::int64_t>(file.waits)));
      meterCell(html, "w wide",
                static_cast<double>(file.waits) / static_cast<double>(picture.files[0].waits),
                Hue::kExtract);
      cell(html, "", [&] { html.add("code", shortened(file.path, 240)); });
      html.add("td", {{"class", "r"}},
               file.size < 0 ? kNotMeasuredText : bytesText(static_cast<double>(file.size)));
      html.add("td", {{"class", "quiet"}}, shortened(file.type + " " + file.mount, 120));
    }
  }
  if (picture.moreFiles > 0)
    html.add("p", {{"class", "note"}},
             countOf(static_cast<std::int64_t>(picture.moreFiles), "more file") + " not shown.");
}

}  // namespace stallprof
