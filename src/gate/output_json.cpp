// SPDX-License-Identifier: MIT
// The sinks that are JSON: the library quotes, ASCII alone leaves.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "gate/outputs.h"
#include "stallprof/version.h"

namespace stallprof {
namespace {

using OutputJson = nlohmann::ordered_json;

std::string dumped(const OutputJson& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/true) + "\n";
}
// A name without control bytes: other people's pages show these texts.
std::string shown(std::string_view bytes) { return escapeTerminal(bytes, 2000); }

template <class T>
OutputJson orNull(const Maybe<T>& v) {
  return v ? OutputJson(*v) : OutputJson();
}

OutputJson shiftJson(const CheckResult& c) {
  if (!c.shift) return {};
  const double a = c.scale.shownOf(c.shift->low), b = c.scale.shownOf(c.shift->high);
  return {{"low", std::min(a, b)},
          {"high", std::max(a, b)},
          {"p_worse", c.shift->worse},
          {"p_better", c.shift->better},
          {"detectable", c.scale.shownOf(c.shift->detectable)},
          {"noise_ratio", c.shift->noise},
          {"by", c.shift->byOrder ? "order" : "means"}};
}

OutputJson checkJson(const CheckResult& c) {
  constexpr const char* kKindNames[] = {"shift", "budget", "exact"};
  const bool budget = c.check.kind == Check::Kind::kBudget;
  return {{"metric", c.check.path},
          {"kind", kKindNames[static_cast<std::size_t>(c.check.kind)]},
          {"level", nameOf(c.level())},
          {"verdict", nameOf(c.verdict)},
          {"passed", !(failed(c.verdict) && c.level() == Level::kError)},
          {"advisory", c.advisory},
          {"unit", c.kind.unit},
          {"base", orNull(c.base)},
          {"head", orNull(c.head)},
          {"change", orNull(c.change)},
          {"change_in", c.scale.points ? "points" : "factor"},
          {"max_regression",
           c.check.kind == Check::Kind::kShift ? OutputJson(c.check.floor) : OutputJson()},
          {"max", budget && c.check.isMax ? OutputJson(c.check.bound) : OutputJson()},
          {"min", budget && !c.check.isMax ? OutputJson(c.check.bound) : OutputJson()},
          {"interval", shiftJson(c)},
          {"why", shown(c.why)},
          {"waiver", c.check.waiver ? OutputJson(shown(*c.check.waiver)) : OutputJson()}};
}

OutputJson suspectJson(const Suspect& s) {
  return {{"id", shown(s.id)},
          {"title", shown(s.title)},
          {"file", s.file.empty() ? OutputJson() : OutputJson(shown(s.file))},
          {"line", s.line > 0 ? OutputJson(s.line) : OutputJson()},
          {"share_ratio", s.share}};
}

// FNV-1a over what a finding is, not where its line has moved to: the same one is known again.
std::string fingerprint(const Mark& mark) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : mark.id + "\n" + mark.file)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// A path as a URI reference: everything but the unreserved is a %XX.
std::string uri(std::string_view path) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path.substr(0, 1000)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-_.~").find(c) != std::string_view::npos;
    if (plain)
      out += c;
    else
      (out += '%', out += kDigits[byte >> 4], out += kDigits[byte & 15]);
  }
  return out.starts_with('/') ? "file://" + out : out;
}

OutputJson sarifResult(const Mark& mark) {
  const OutputJson place = {{"physicalLocation",
                             {{"artifactLocation", {{"uri", uri(mark.file)}}},
                              {"region", {{"startLine", std::max<std::int64_t>(1, mark.line)}}}}}};
  return {{"ruleId", shown(mark.id)},
          {"level", mark.level == Level::kError ? "error" : "warning"},
          {"message", {{"text", shown(mark.text)}}},
          {"locations", OutputJson::array({place})},
          {"partialFingerprints", {{"stallprofGate/v1", fingerprint(mark)}}}};
}

}  // namespace

std::string gateJson(const GateResult& r, const GateOutput& options) {
  OutputJson checks = OutputJson::array(), findings = OutputJson::array(),
             notes = OutputJson::array();
  for (const CheckResult& c : r.checks) checks.push_back(checkJson(c));
  for (const NewFinding& f : r.newFindings) {
    OutputJson one = suspectJson(f.suspect);
    one["level"] = nameOf(f.level);
    findings.push_back(std::move(one));
  }
  for (const std::string& n : r.notes) notes.push_back(shown(n));
  return dumped(
      {{"schema", "stallprof.gate_result/1"},
       {"tool", {{"version", STALLPROF_VERSION}}},
       {"verdict", nameOf(r.outcome)},
       {"passed", r.outcome == Outcome::kPass},
       {"exit_status", exitStatus(r.outcome)},
       {"headline", shown(r.headline)},
       {"policy", options.policy.empty() ? OutputJson() : OutputJson(shown(options.policy))},
       {"runs", {{"base", r.baseRuns}, {"head", r.headRuns}}},
       {"host",
        {{"cpu_model", shown(r.host.cpuModel)},
         {"cores", shown(r.host.cores)},
         {"gpus", shown(r.host.gpus)},
         {"framework", shown(r.host.framework)}}},
       {"checks", std::move(checks)},
       {"new_findings", std::move(findings)},
       {"suspect", r.suspect ? suspectJson(*r.suspect) : OutputJson()},
       {"notes", std::move(notes)}});
}

// SARIF 2.1.0, as code scanning takes it: every result has a place.
std::string gateSarif(const GateResult& r, const GateOutput& options) {
  OutputJson results = OutputJson::array(), rules = OutputJson::array();
  std::vector<std::string> known;
  for (const Mark& mark : marksOf(r, options)) {
    if (std::find(known.begin(), known.end(), mark.id) == known.end()) {
      known.push_back(mark.id);
      rules.push_back({{"id", shown(mark.id)},
                       {"shortDescription", {{"text", "stallprof gate: " + shown(mark.id)}}}});
    }
    results.push_back(sarifResult(mark));
  }
  const OutputJson driver = {
      {"name", "stallprof"}, {"version", STALLPROF_VERSION}, {"rules", rules}};
  const OutputJson run = {{"tool", {{"driver", driver}}}, {"results", results}};
  return dumped({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                 {"version", "2.1.0"},
                 {"runs", OutputJson::array({run})}});
}

// GitLab's code quality report.
std::string gateGitlab(const GateResult& r, const GateOutput& options) {
  OutputJson out = OutputJson::array();
  for (const Mark& mark : marksOf(r, options))
    out.push_back({{"description", shown(mark.text)},
                   {"check_name", shown(mark.id)},
                   {"fingerprint", fingerprint(mark)},
                   {"severity", mark.level == Level::kError ? "major" : "minor"},
                   {"location",
                    {{"path", shown(mark.file)},
                     {"lines", {{"begin", std::max<std::int64_t>(1, mark.line)}}}}}});
  return dumped(out);
}

}  // namespace stallprof
