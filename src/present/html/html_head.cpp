// SPDX-License-Identifier: MIT
#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/wording.h"
#include "stallprof/version.h"

namespace stallprof {
namespace {

constexpr std::size_t kLongestCommand = 1200;

// What stands below the headline, without the gain.
std::string leadText(const VerdictParts& verdict) {
  if (verdict.reason.empty()) return {};
  switch (verdict.kind) {
    case VerdictParts::Kind::kHealthy:
      return "The run is " + verdict.reason + ".";
    case VerdictParts::Kind::kWithheld:
      return "Because " + verdict.reason + ".";
    case VerdictParts::Kind::kBound:
      break;
  }
  return verdict.reason + "." +
         (verdict.secondAlike ? " Finding 2 has about the same weight." : "");
}

template <class Big>
void tile(Html& html, std::string_view name, Big big, std::string_view sub) {
  const auto outer = html.open("div");
  html.add("dt", name);
  {
    const auto value = html.open("dd", {{"class", "big"}});
    big();
  }
  if (!sub.empty()) html.add("dd", {{"class", "sub"}}, sub);
}

void stepTile(Html& html, const StepsInfo& steps) {
  const auto big = [&] {
    if (steps.time)
      figure(html, "steps.time_ns.p50", steps.time->p50.count(), durationText(steps.time->p50));
    else
      html.add("span", {{"data-path", "steps.time_ns"}}, kNotMeasuredText);
  };
  tile(html, "Step time, median", big,
       steps.time
           ? "p95 " + durationText(steps.time->p95) + ", p99 " + durationText(steps.time->p99)
           : "");
}

void rateTile(Html& html, const StepsInfo& steps) {
  tile(
      html, "Pace",
      [&] {
        figure(html, "steps.rate_per_s", steps.ratePerSecond,
               rateText(steps.ratePerSecond.value_or(0), "steps"));
      },
      steps.samplesPerSecond ? rateText(*steps.samplesPerSecond, "samples") : "");
}

void tiles(Html& html, const Analysis& a) {
  const auto list = html.open("dl", {{"class", "tiles"}});
  stepTile(html, a.steps);
  rateTile(html, a.steps);
  if (a.breakdown.ratio)
    tile(
        html, "Waiting for data",
        [&] {
          figure(html, "breakdown.ratio.data_wait", a.breakdown.ratio->dataWait,
                 trainerTexts(a.breakdown).wait);
        },
        "of the trainer's time");
  const bool tried =
      !a.findings.empty() && !a.findings[0].advice.empty() && a.findings[0].advice[0].measured;
  const bool known = tried && decided(a.findings[0].advice[0]);
  if (a.findings.empty() || (!known && !predictionOf(a.findings[0]).speedup)) {
    tile(
        html, "Run",
        [&] { figure(html, "run.wall_ns", a.run.wall.count(), durationText(a.run.wall)); },
        a.steps.count > 0 ? countOf(a.steps.count, "step") : "");
    return;
  }
  const Finding& first = a.findings[0];
  const std::string predicted = gainText(predictionOf(first));
  if (known)
    return tile(
        html, "Gain of the first fix, measured", [&] { html.text(measuredText(first.advice[0])); },
        predictedText(first.advice[0].predicted));
  tile(
      html, "Gain if the first is fixed", [&] { html.text(predicted); },
      tried ? measuredText(first.advice[0])
            : std::string(nameOf(first.confidence)) + " confidence");
}

void whatRan(Html& html, const Analysis& a, const PresentOptions& options) {
  const auto what = html.open("div", {{"class", "what"}});
  {
    const auto line = html.open("p", {{"class", "clamp"}});
    html.add("code", shortened(commandText(a.run), kLongestCommand));
  }
  std::string facts;
  const std::vector<std::string> parts = headline(a);  // the tool and the command come first
  for (std::size_t i = 2; i < parts.size(); ++i)
    facts += (facts.empty() ? "" : " \u00b7 ") + shortened(parts[i], 200);
  if (!options.recording.empty()) facts += " \u00b7 recording " + shortened(options.recording, 200);
  html.add("p", facts);
}

}  // namespace

void headSection(Html& html, const Analysis& a) {
  const auto top = html.open("header", {{"class", "top"}});
  html.add("b", "stallprof");
  html.add("span", "report " STALLPROF_VERSION);
  if (!a.run.startedAt.empty()) html.add("time", {{"class", "when"}}, a.run.startedAt);
}

void verdictSection(Html& html, const Analysis& a, const PresentOptions& options) {
  whatRan(html, a, options);
  const VerdictParts verdict = verdictParts(a);
  {
    const auto block = html.open("div", {{"class", "verdict"}, {"id", "verdict"}});
    {
      const auto eyebrow = html.open("p", {{"class", "eyebrow"}});
      html.text("Verdict");
      if (a.verdict.boundBy != "unknown") {
        html.text(", ");
        word(html, "verdict.confidence", nameOf(a.verdict.confidence),
             std::string(nameOf(a.verdict.confidence)));
        html.text(" confidence");
      }
    }
    html.add("h1", {{"data-path", "verdict.bound_by"}, {"data-value", a.verdict.boundBy}},
             verdict.headline);
    const std::string gain = verdict.gain.empty() ? "" : " " + verdict.gain;
    if (const std::string lead = leadText(verdict); !lead.empty())
      html.add("p", {{"class", "lead"}}, shortened(lead, 400) + gain);
  }
  for (const std::string& warning : warnings(a)) html.add("p", {{"class", "alert"}}, warning);
  tiles(html, a);
}

}  // namespace stallprof
