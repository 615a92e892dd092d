// SPDX-License-Identifier: MIT
#include "gate/outputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "gate/wording.h"

namespace stallprof {
namespace {

constexpr std::size_t kLongest = 2000;

std::string xml(std::string_view bytes) { return escapeMarkup(bytes, kLongest); }

std::string markdown(std::string_view bytes) { return escapeMarkdown(bytes, kLongest); }

// Of a workflow command: % and line ends in its text, : and , in its properties as well.
std::string command(std::string_view bytes, bool property) {
  std::string out;
  for (const char c : escapeTerminal(bytes, kLongest))
    out += c == '%'               ? "%25"
           : property && c == ':' ? "%3A"
           : property && c == ',' ? "%2C"
                                  : std::string(1, c);
  return out;
}

// As the repository names it; "" outside of it: another machine's absolute path is no place there.
std::string inCheckout(const std::string& file, const GateOutput& options) {
  namespace fs = std::filesystem;
  if (file.empty() || (!file.starts_with('/') && options.directory.empty())) return file;
  const std::string whole = (fs::path(options.directory) / file).lexically_normal().string();
  std::string_view root = options.checkout;
  while (root.ends_with('/')) root.remove_suffix(1);
  const bool below = !options.checkout.empty() && whole.starts_with(root) &&
                     std::string_view(whole).substr(root.size()).starts_with('/');
  return below ? whole.substr(root.size() + 1) : "";
}

// A failure's place, which CI wants in the repository: the user's line that is suspected, else the
// policy's.
Mark markAt(const Maybe<Suspect>& suspect, const GateOutput& options, Level level, std::string id,
            std::string text, std::uint32_t policyLine) {
  Mark mark{level, std::move(id), std::move(text), "", 1};
  if (suspect) mark.file = inCheckout(suspect->file, options);
  if (!mark.file.empty()) {
    mark.line = std::max<std::int64_t>(1, suspect->line);
  } else {
    mark.file = inCheckout(options.policy, options);
    if (mark.file.empty()) mark.file = "stallprof-gate.toml";
    mark.line = std::max<std::uint32_t>(1, policyLine);
  }
  return mark;
}

// A metric may have a budget, or two, beside its comparison.
std::string idOf(const Check& check) {
  const bool budget = check.kind == Check::Kind::kBudget;
  return "gate/" + check.path + (!budget ? "" : check.isMax ? "/max" : "/min");
}

std::string caseText(const CheckResult& c) {
  const std::string change = c.change && c.base ? changeText(*c.change, c.scale.unit()) : "";
  return fmt::format("base {}, head {}{}{}{}{}", metricText(c.base, c.kind),
                     metricText(c.head, c.kind), change.empty() ? "" : ", ", change,
                     c.why.empty() ? "" : "; ", c.why);
}

void junitCase(std::string& out, const CheckResult& c) {
  const bool budget = c.check.kind == Check::Kind::kBudget;
  out += fmt::format("    <testcase classname=\"stallprof.gate\" name=\"{}{}\"", xml(c.check.path),
                     !budget         ? ""
                     : c.check.isMax ? " (budget, max)"
                                     : " (budget, min)");
  const std::string text = xml(caseText(c));
  if (failed(c.verdict) && c.level() == Level::kError)
    out +=
        fmt::format(">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
                    nameOf(c.verdict), xml(checkText(c)), text);
  else if (c.verdict == CheckVerdict::kInconclusive || c.verdict == CheckVerdict::kNotMeasured)
    out += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", text);
  else
    out += fmt::format(">\n      <system-out>{}: {}</system-out>\n    </testcase>\n",
                       verdictText(c), text);
}

}  // namespace

const std::vector<std::string>& gateFormats() {
  static const std::vector<std::string> formats = {"text",     "json",   "junit", "sarif",
                                                   "markdown", "github", "gitlab"};
  return formats;
}

std::string gateOutput(std::string_view format, const GateResult& r, const GateOutput& options) {
  if (format == "json") return gateJson(r, options);
  if (format == "junit") return gateJunit(r);
  if (format == "sarif") return gateSarif(r, options);
  if (format == "markdown") return gateMarkdown(r);
  if (format == "github") return gateGithub(r, options);
  if (format == "gitlab") return gateGitlab(r, options);
  return gateText(r, options);
}

std::vector<Mark> marksOf(const GateResult& r, const GateOutput& options) {
  std::vector<Mark> marks;
  if (r.outcome == Outcome::kNotComparable || r.outcome == Outcome::kWorkloadFailed)
    marks.push_back(markAt(r.suspect, options, Level::kError,
                           "gate/" + std::string(nameOf(r.outcome)), r.headline, 1));
  for (const CheckResult& c : r.checks) {
    const bool failure = failed(c.verdict);
    if (!failure && c.verdict != CheckVerdict::kInconclusive) continue;
    const Level level = failure ? c.level() : std::max(c.level(), r.unsure);
    if (level == Level::kInfo) continue;
    std::string text = checkText(c);
    if (failure && r.suspect) text += "; start at " + suspectText(*r.suspect);
    if (c.check.waiver) text += "; waived: " + *c.check.waiver;
    marks.push_back(markAt(r.suspect, options, level, idOf(c.check), text, c.check.line));
  }
  for (const NewFinding& f : r.newFindings)
    if (f.level != Level::kInfo)
      marks.push_back(markAt(f.suspect, options, f.level, "gate/" + f.suspect.id,
                             "new: " + suspectText(f.suspect) + ": " + f.suspect.title, f.line));
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.level < b.level; });
  return marks;
}

std::string gateJunit(const GateResult& r) {
  std::size_t failures = 0, skipped = 0, errors = 0;
  std::string cases;
  for (const CheckResult& c : r.checks) {
    junitCase(cases, c);
    failures += failed(c.verdict) && c.level() == Level::kError;
    skipped += c.verdict == CheckVerdict::kInconclusive || c.verdict == CheckVerdict::kNotMeasured;
  }
  for (const NewFinding& f : r.newFindings) {
    if (f.level != Level::kError) continue;
    cases += fmt::format(
        "    <testcase classname=\"stallprof.gate\" name=\"new finding {}\">\n"
        "      <failure type=\"new_finding\" message=\"{}\"/>\n    </testcase>\n",
        xml(f.suspect.id), xml(suspectText(f.suspect) + ": " + f.suspect.title));
    ++failures;
  }
  // What no single metric says: the runs could not be judged, or not well enough for the policy.
  if (exitStatus(r.outcome) > 1) {
    cases += fmt::format(
        "    <testcase classname=\"stallprof.gate\" name=\"runs\">\n"
        "      <error type=\"{}\" message=\"{}\"/>\n    </testcase>\n",
        nameOf(r.outcome), xml(r.headline));
    ++errors;
  }
  const std::size_t tests = r.checks.size() + errors +
                            static_cast<std::size_t>(std::count_if(
                                r.newFindings.begin(), r.newFindings.end(),
                                [](const NewFinding& f) { return f.level == Level::kError; }));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"stallprof gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
      "skipped=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      tests, failures, errors, skipped, cases);
}

std::string gateMarkdown(const GateResult& r) {
  std::string word(nameOf(r.outcome));
  std::replace(word.begin(), word.end(), '_', ' ');
  std::string out = fmt::format("### stallprof gate: {}\n\n{}. Base: {}, head: {}.\n\n", word,
                                markdown(r.headline), runsText(r.baseRuns), runsText(r.headRuns));
  if (!r.checks.empty())
    out +=
        "| metric | base | head | change | detectable | verdict | "
        "|\n|---|--:|--:|--:|--:|---|---|\n";
  for (const CheckResult& c : r.checks) {
    const bool shift = c.shift && c.check.kind == Check::Kind::kShift;
    std::string verdict = verdictText(c);
    if (c.check.level != Level::kError) verdict += fmt::format(" ({})", nameOf(c.check.level));
    out += fmt::format(
        "| `{}` | {} | {} | {} | {} | {} | {} |\n", c.check.path,
        c.base ? metricText(c.base, c.kind) : "", metricText(c.head, c.kind),
        c.change && c.base ? changeText(*c.change, c.scale.unit()) : "",
        shift ? changeText(c.scale.shownOf(c.shift->detectable), c.scale.unit()) : "",
        failed(c.verdict) && c.level() == Level::kError ? "**" + markdown(verdict) + "**"
                                                        : markdown(verdict),
        markdown(c.check.waiver ? c.why + "; waived: " + *c.check.waiver : c.why));
  }
  for (const NewFinding& f : r.newFindings)
    out += "\nNew in every run of the head: " + markdown(suspectText(f.suspect)) + ": " +
           markdown(f.suspect.title) + "\n";
  if (r.outcome == Outcome::kRegressed && r.suspect && r.newFindings.empty())
    out += "\nStart at " + markdown(suspectText(*r.suspect)) + ": " + markdown(r.suspect->title) +
           "\n";
  for (const std::string& n : r.notes) out += "\n" + markdown(n) + "\n";
  return out;
}

// GitHub shows ten annotations of a kind a step and drops the rest without a word.
std::string gateGithub(const GateResult& r, const GateOutput& options) {
  constexpr std::size_t kMax = 10;
  std::string out;
  std::size_t shown[3] = {}, left = 0;
  for (const Mark& mark : marksOf(r, options)) {
    if (++shown[static_cast<std::size_t>(mark.level)] > kMax) {
      ++left;
      continue;
    }
    out += fmt::format("::{} file={},line={},title={}::{}\n",
                       mark.level == Level::kError ? "error" : "warning", command(mark.file, true),
                       std::max<std::int64_t>(1, mark.line), command(mark.id, true),
                       command(mark.text, false));
  }
  if (left > 0) out += fmt::format("{} more: see the table of the gate\n", left);
  if (out.empty()) out = "::notice title=stallprof gate::" + command(r.headline, false) + "\n";
  return out;
}

}  // namespace stallprof
