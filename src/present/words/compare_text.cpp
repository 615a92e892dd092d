// SPDX-License-Identifier: MIT
#include "present/words/compare_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "present/words/page.h"

namespace stallprof {
namespace {

struct ComparedRow {
  const char* path;
  const char* label;
  const char* unit;  // of valueText
};
constexpr ComparedRow kRows[] = {
    {"steps.time_ns.p50", "step time p50", "ns"},
    {"steps.time_ns.mean", "step time mean", "ns"},
    {"steps.time_ns.p95", "step time p95", "ns"},
    {"steps.rate_per_s", "steps a second", "per_s"},
    {"steps.samples_per_s", "samples a second", "per_s"},
    {"breakdown.ratio.data_wait", "waiting for data", "ratio"},
    {"breakdown.ratio.compute", "computing", "ratio"},
    {"breakdown.phase_ratio.extract", "phase extract", "ratio"},
    {"breakdown.phase_ratio.transform", "phase transform", "ratio"},
    {"breakdown.phase_ratio.load", "phase load", "ratio"},
    {"breakdown.phase_ratio.compute", "phase compute", "ratio"},
    {"breakdown.phase_ratio.sync", "phase sync", "ratio"},
    {"breakdown.phase_ratio.comm", "phase comm", "ratio"},
    {"breakdown.phase_ratio.periodic", "phase periodic", "ratio"},
    {"breakdown.phase_ratio.other", "phase other", "ratio"},
    {"breakdown.phase_ratio.unknown", "phase unknown", "ratio"},
    {"steps.window_count", "steps in the window", "count"},
    {"steps.window_ns", "window", "ns"},
    {"run.wall_ns", "whole run", "ns"},
    {"run.host.cores_usable", "usable cores", "count"},
};

std::string shown(const Maybe<double>& value, const char* unit) {
  return value ? valueText(*value, unit) : kNotMeasuredText;
}

// Shares move in points of the window; everything else by a factor.
std::string movedText(const MetricComparison& m, bool share) {
  if (!m.base || !m.head) return "";
  if (share) return changeText(*m.head - *m.base, "points");
  return m.ratio ? fmt::format("{:.3f}x", *m.ratio) : "";
}

std::string intervalText(const MetricComparison& m, bool share) {
  if (share || !m.interval) return "";
  return fmt::format("{:.3f}x - {:.3f}x", m.interval->low, m.interval->high);
}

std::string line(const std::string& label, const std::string& base, const std::string& head,
                 const std::string& change, const std::string& interval) {
  return padded(label, 21) + padded(base, 14) + padded(head, 14) + padded(change, 14) + interval;
}

}  // namespace

const std::vector<std::string>& comparedPaths() {
  static const std::vector<std::string> paths = [] {
    std::vector<std::string> out;
    for (const ComparedRow& row : kRows) out.emplace_back(row.path);
    return out;
  }();
  return paths;
}

std::string compareText(const Comparison& comparison, const std::vector<std::string>& notes,
                        int width) {
  Page page(static_cast<std::size_t>(std::clamp(width, 80, 120)), false);
  const auto runs = [](std::size_t n) { return countOf(static_cast<std::int64_t>(n), "run"); };
  page.line("stallprof compare   base: " + runs(comparison.baseRuns) +
            "   head: " + runs(comparison.headRuns));
  page.blank();
  page.line(line("", "base", "head", "head / base", comparison.advisory() ? "" : "95 % interval"));
  for (const MetricComparison& m : comparison.metrics) {
    const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                  [&](const ComparedRow& r) { return m.path == r.path; });
    if (row == std::end(kRows)) continue;
    const bool share = std::string_view(row->unit) == "ratio";
    page.line(line(row->label, shown(m.base, row->unit), shown(m.head, row->unit),
                   movedText(m, share), intervalText(m, share)));
  }
  page.blank();
  const bool steps = std::any_of(
      comparison.metrics.begin(), comparison.metrics.end(),
      [](const MetricComparison& m) { return m.path == "steps.time_ns.p50" && m.base && m.head; });
  if (!steps) page.field("", 0, "No step time on at least one side: no steps were recorded there.");
  for (const MetricComparison& m : comparison.metrics)
    if (m.path == "run.host.cores_usable" && m.base && m.head && *m.base != *m.head)
      page.field("", 0, "The sides had different numbers of cores: they are not comparable.");
  for (const std::string& note : notes) page.field("", 0, note);
  page.field("", 0,
             comparison.advisory()
                 ? "Advisory only: with under two runs per side, a change cannot be separated from "
                   "the noise between runs. A decision needs five per side."
                 : "Ratios are of geometric means over runs; intervals are Welch's on the log of "
                   "each run's number. An interval that contains 1.000x shows no change.");
  return page.text();
}

}  // namespace stallprof
