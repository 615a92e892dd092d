// SPDX-License-Identifier: MIT
#include "present/words/tuning_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

constexpr std::size_t kPaceBar = 24;  // columns

std::string comparedText(const Tuned& tuned) {
  Advice advice;
  advice.measured = tuned.measured;
  advice.measuredLow = tuned.low;
  advice.measuredHigh = tuned.high;
  advice.outcome = tuned.outcome;
  const std::string text = measuredText(advice);
  return text.empty() ? "not measured" : text;
}

std::string memoryText(const Tuned& tuned) {
  if (!tuned.moreBytes) return "memory " + std::string(kNotMeasuredText);
  return (*tuned.moreBytes < 0 ? "-" : "+") + bytesText(std::abs(*tuned.moreBytes)) +
         " of peak memory, of all processes";
}

}  // namespace

std::string settingText(const TunedSetting& setting) {
  std::string text = "num_workers=" + std::to_string(setting.workers);
  if (setting.prefetch) text += ", prefetch_factor=" + std::to_string(*setting.prefetch);
  if (setting.threads) text += ", " + countOf(*setting.threads, "thread");
  return text;
}

std::vector<std::string> tuningSummary(const Tuned& tuned) {
  if (tuned.settings.empty()) return {};
  if (tuned.gains())
    return {lineText(tuned.where) + "  " + tuned.change,
            "Measured " + comparedText(tuned) + " as fast, " + memoryText(tuned) + "."};
  std::vector<std::string> lines;
  if (tuned.outcome == "failed" && tuned.compared > 0)
    return {"Not measured: " + settingText(tuned.settings[tuned.compared]) +
            ", the fastest of the search, failed when it was run in alternation with the unchanged "
            "program: " +
            tuned.why + "."};
  if (tuned.outcome == "failed") return {"Not measured: " + tuned.why + "."};
  if (tuned.outcome == "undecided" && tuned.compared == 0)
    return {"Not finished: of " +
            countOf(static_cast<std::int64_t>(tuned.settings.size()), "setting") +
            " that ran, none was run in alternation with the unchanged program."};
  if (tuned.outcome == "undecided" && !tuned.why.empty())
    lines.push_back("Not decided: " + tuned.why + ".");
  else if (tuned.outcome == "undecided")
    lines.push_back("Not decided: more runs (--max-runs) or longer ones (--for) may show whether " +
                    settingText(tuned.settings[tuned.compared]) +
                    " is faster than the unchanged program.");
  else
    lines.push_back("No number of workers helps: no tried setting is faster than " +
                    settingText(tuned.settings[0]) + ", the unchanged setting" +
                    (tuned.why.empty() ? "." : "; " + tuned.why + "."));
  if (tuned.compared > 0)
    lines.push_back("The best of the others, " + settingText(tuned.settings[tuned.compared]) +
                    ": " + comparedText(tuned) + ", " + memoryText(tuned) + ".");
  return lines;
}

std::string tuningNote(const Tuned& tuned, std::size_t index) {
  std::string note = index == 0 ? "unchanged" : "";
  if (index == tuned.best() && tuned.outcome != "undecided" && tuned.outcome != "failed")
    note += note.empty() ? "best" : ", best";
  if (!tuned.settings[index].why.empty()) note = "failed";
  return note;
}

// By workers, prefetch and threads, not in the order of the runs.
std::vector<std::size_t> tuningOrder(const Tuned& tuned) {
  std::vector<std::size_t> order(tuned.settings.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const TunedSetting &x = tuned.settings[a], &y = tuned.settings[b];
    if (x.workers != y.workers) return x.workers < y.workers;
    if (x.prefetch != y.prefetch) return x.prefetch < y.prefetch;
    return x.threads < y.threads;
  });
  return order;
}

std::vector<std::string> tuningLines(const Tuned& tuned) {
  std::vector<std::string> lines = tuningSummary(tuned);
  double maxPace = 0;
  for (const TunedSetting& s : tuned.settings)
    maxPace = std::max(maxPace, s.stepsPerSecond.value_or(0));
  const auto paceText = [](const Maybe<double>& pace) {
    return pace ? numberText(*pace) : std::string("-");
  };
  const auto whole = [](const Maybe<std::int32_t>& value, const char* none) {
    return value ? std::to_string(*value) : std::string(none);
  };
  lines.push_back("");
  lines.push_back(fmt::format("{:>7}  {:>8}  {:>7}  {:>7}  {:>9}", "workers", "prefetch", "threads",
                              "steps/s", "predicted"));
  for (const std::size_t i : tuningOrder(tuned)) {
    const TunedSetting& s = tuned.settings[i];
    const auto bar = static_cast<std::size_t>(
        maxPace > 0 ? std::lround(s.stepsPerSecond.value_or(0) / maxPace * kPaceBar) : 0);
    lines.push_back(fmt::format("{:>7}  {:>8}  {:>7}  {:>7}  {:>9}  {:<{}}  {}", s.workers,
                                whole(s.prefetch, "-"), whole(s.threads, "as is"),
                                paceText(s.stepsPerSecond), paceText(s.predicted),
                                std::string(bar, '#'), kPaceBar, tuningNote(tuned, i)));
    while (lines.back().ends_with(' ')) lines.back().pop_back();
  }
  return lines;
}

}  // namespace stallprof
