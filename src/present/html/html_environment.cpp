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

void list(Html& html, const std::vector<std::string>& lines) {
  const auto ul = html.open("ul", {{"class", "plain"}});
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxLines); ++i)
    html.add("li", shortened(lines[i], kLongest));
  if (lines.size() > kMaxLines)
    html.add("li", {{"class", "quiet"}},
             "and " + countText(static_cast<std::int64_t>(lines.size() - kMaxLines)) + " more");
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
  html.add("dt", "wall time");
  {
    const auto dd = html.open("dd");
    figure(html, "run.wall_ns", a.run.wall.count(), durationText(a.run.wall));
  }
  fact(html, "ended with", exitText(a.run));
  fact(html, "processes", countText(a.run.processes));
  if (a.resources.peakRssBytes) {
    html.add("dt", "peak RSS");
    const auto dd = html.open("dd");
    figure(html, "resources.peak_rss_bytes", *a.resources.peakRssBytes,
           bytesText(static_cast<double>(*a.resources.peakRssBytes)));
  }
  if (a.cost) fact(html, "cost", costText(*a.cost));
}

void recordingFacts(Html& html, const Analysis& a) {
  const CoverageInfo& c = a.coverage;
  html.add("dt", "recorder");
  {
    const auto dd = html.open("dd");
    figure(html, "coverage.overhead.recorder_cpu_ratio", c.recorderCpuRatio,
           c.recorderCpuRatio ? tenthPercentText(*c.recorderCpuRatio) + " of one core" : "");
    if (c.effectiveHz) html.text(", " + numberText(*c.effectiveHz) + " samples a second");
  }
  if (c.slowdown) {
    html.add("dt", "cost to steps");
    const auto dd = html.open("dd");
    const std::string text = slowdownText(*c.slowdown);
    figure(html, "coverage.overhead.slowdown_ratio", c.slowdown->ratio, text);
    if (!c.slowdown->ratio) html.text(": " + text);
  }
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
  if (!a.run.loaders.empty()) {
    html.add("h3", {{"style", "margin-top:1.4rem"}},
             a.run.loaders.size() == 1 ? "Loader" : "Loaders");
    const auto ul = html.open("ul", {{"class", "plain"}});
    for (std::size_t i = 0; i < std::min(a.run.loaders.size(), kMaxLoaders); ++i) {
      const auto item = html.open("li");
      html.add("code", shortened(loaderText(a.run.loaders[i]), kLongest));
    }
    if (a.run.loaders.size() > kMaxLoaders)
      html.add("li", {{"class", "quiet"}},
               "and " + countText(static_cast<std::int64_t>(a.run.loaders.size() - kMaxLoaders)) +
                   " more");
  }
  html.add("h3", {{"style", "margin-top:1.4rem"}}, "Next");
  const auto ul = html.open("ul", {{"class", "plain"}});
  for (const std::string& command : nextCommands(a, options)) {
    const auto item = html.open("li");
    html.add("code", shortened(command, kLongest));
  }
}

void coverageSection(Html& html, const Analysis& a) {
  const std::vector<std::string>& unseen = a.notMeasured;
  if (a.notAProblem.empty() && unseen.empty()) return;
  const auto section = html.open("section", {{"id", "coverage"}});
  const auto columns = html.open("div", {{"class", "cols"}});
  if (!a.notAProblem.empty()) {
    const auto column = html.open("div");
    html.add("h2", "Not a problem");
    list(html, a.notAProblem);
  }
  if (unseen.empty()) return;
  const auto column = html.open("div");
  html.add("h2", "Not measured");
  list(html, unseen);
}

}  // namespace stallprof
