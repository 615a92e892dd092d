// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxLines = 40, kLongest = 400, kMaxLoaders = 16;

void fact(Html& html, std::string_view name, const std::string& text) {
  if (text.empty()) return;
  html.add("dt", name);
  html.add("dd", shortened(text, kLongest));
}

// A fact whose text `body` writes.
template <class Body>
void factOf(Html& html, std::string_view name, Body body) {
  html.add("dt", name);
  const auto dd = html.open("dd");
  body();
}

// `item` writes a line's text.
template <class Item>
void list(Html& html, const std::vector<std::string>& lines, std::size_t limit, Item item) {
  const auto ul = html.open("ul", {{"class", "plain"}});
  for (std::size_t i = 0; i < std::min(lines.size(), limit); ++i) {
    const auto li = html.open("li");
    item(shortened(lines[i], kLongest));
  }
  if (lines.size() > limit)
    html.add("li", {{"class", "quiet"}},
             "and " + countText(static_cast<std::int64_t>(lines.size() - limit)) + " more");
}

std::string exitText(const RunInfo& run) {
  if (run.exitSignal) return "signal " + std::to_string(*run.exitSignal);
  if (run.exitCode) return "exit status " + std::to_string(*run.exitCode);
  return run.ended ? "" : "no end recorded";
}

void hostFacts(Html& html, const Analysis& a) {
  const RunInfo::Host& host = a.run.host;
  fact(html, "CPU", host.cpuModel);
  fact(html, "cores", coresText(a));
  if (host.memoryBytes > 0) fact(html, "memory", bytesText(static_cast<double>(host.memoryBytes)));
  for (std::size_t i = 0; i < std::min<std::size_t>(host.gpus.size(), 16); ++i)
    fact(html, "GPU", host.gpus[i]);
  fact(html, "framework", a.run.framework.value_or(""));
}

void runFacts(Html& html, const Analysis& a) {
  factOf(html, "wall time",
         [&] { figure(html, "run.wall_ns", a.run.wall.count(), durationText(a.run.wall)); });
  fact(html, "ended with", exitText(a.run));
  fact(html, "processes", countText(a.run.processes));
  if (const auto& peak = a.resources.peakRssBytes)
    factOf(html, "peak RSS", [&] {
      figure(html, "resources.peak_rss_bytes", *peak, bytesText(static_cast<double>(*peak)));
    });
  if (a.cost) fact(html, "cost", costText(*a.cost));
}

void recordingFacts(Html& html, const Analysis& a) {
  const CoverageInfo& c = a.coverage;
  factOf(html, "recorder", [&] {
    figure(html, "coverage.overhead.recorder_cpu_ratio", c.recorderCpuRatio,
           c.recorderCpuRatio ? tenthPercentText(*c.recorderCpuRatio) + " of one core" : "");
    if (c.effectiveHz) html.text(", " + numberText(*c.effectiveHz) + " samples a second");
  });
  if (c.slowdown)
    factOf(html, "cost to steps", [&] {
      const std::string text = slowdownText(*c.slowdown);
      figure(html, "coverage.overhead.slowdown_ratio", c.slowdown->ratio, text);
      if (!c.slowdown->ratio) html.text(": " + text);
    });
  fact(html, "tier", "host " + c.hostTier + ", GPU " + c.gpuTier);
  std::string losses;
  for (std::size_t i = 0; i < std::min(c.losses.size(), kMaxLines); ++i)
    losses +=
        (losses.empty() ? "" : ", ") + c.losses[i].first + " " + std::to_string(c.losses[i].second);
  fact(html, "lost", losses.empty() ? "nothing" : losses);
}

}  // namespace

void environmentSection(Html& html, const Analysis& a, const PresentOptions& options) {
  const auto section = html.open("section", {{"id", "environment"}});
  html.add("h2", "Environment");
  {
    const auto columns = html.open("div", {{"class", "cols"}});
    {
      const auto facts = html.open("dl", {{"class", "facts"}});
      hostFacts(html, a);
    }
    const auto facts = html.open("dl", {{"class", "facts"}});
    runFacts(html, a);
    recordingFacts(html, a);
  }
  const auto code = [&](const std::string& text) { html.add("code", text); };
  if (!a.run.loaders.empty()) {
    html.add("h3", {{"style", "margin-top:1.4rem"}},
             a.run.loaders.size() == 1 ? "Loader" : "Loaders");
    std::vector<std::string> loaders;
    for (const auto& loader : a.run.loaders) loaders.push_back(loaderText(loader));
    list(html, loaders, kMaxLoaders, code);
  }
  html.add("h3", {{"style", "margin-top:1.4rem"}}, "Next");
  list(html, nextCommands(a, options), kMaxLines, code);
}

void coverageSection(Html& html, const Analysis& a) {
  const std::vector<std::string>& unseen = a.notMeasured;
  if (a.notAProblem.empty() && unseen.empty()) return;
  const auto text = [&](const std::string& line) { html.text(line); };
  const auto section = html.open("section", {{"id", "coverage"}});
  const auto columns = html.open("div", {{"class", "cols"}});
  if (!a.notAProblem.empty()) {
    const auto column = html.open("div");
    html.add("h2", "Not a problem");
    list(html, a.notAProblem, kMaxLines, text);
  }
  if (unseen.empty()) return;
  const auto column = html.open("div");
  html.add("h2", "Not measured");
  list(html, unseen, kMaxLines, text);
}

}  // namespace stallprof
