// SPDX-License-Identifier: MIT
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "analysis/describe/describe.h"
#include "analysis/verdict/registry.h"
#include "base/text.h"
#include "base/units.h"
#include "gate/run.h"
#include "present/metrics/report_json.h"

namespace stallprof {
namespace {

using Json = nlohmann::ordered_json;

// More than a report ever lists; the rest is not worth a gate's words.
constexpr std::size_t kMaxSuspects = 64, kMaxBaselineRuns = 1000;

const Json& at(const Json& json, std::initializer_list<const char*> path) {
  static const Json kNull;
  const Json* here = &json;
  for (const char* name : path) {
    if (!here->is_object() || !here->contains(name)) return kNull;
    here = &(*here)[name];
  }
  return *here;
}

std::string textOf(const Json& json) { return json.is_string() ? json.get<std::string>() : ""; }

Maybe<std::int64_t> wholeOf(const Json& json) {
  if (!json.is_number_integer()) return {};
  return json.get<std::int64_t>();
}

Fingerprint hostOf(const Json& report) {
  Fingerprint host;
  host.cpuModel = textOf(at(report, {"run", "host", "cpu_model"}));
  host.framework = textOf(at(report, {"run", "framework"}));
  if (const Json& cores = at(report, {"run", "host", "cores_usable"}); cores.is_number())
    host.cores = numberText(cores.get<double>());
  const Json& gpus = at(report, {"run", "host", "gpus"});
  // By name, as the experiment's: in which order they are seen may differ from run to run.
  std::multiset<std::string> names;
  if (gpus.is_array())
    for (const Json& gpu : gpus) names.insert(textOf(gpu));
  host.gpus = joined(names, ", ");
  return host;
}

std::vector<Suspect> suspectsOf(const Json& report) {
  std::vector<Suspect> out;
  const Json& findings = at(report, {"findings"});
  if (!findings.is_array()) return out;
  for (const Json& f : findings) {
    if (out.size() == kMaxSuspects) break;
    const Json& share = at(f, {"share_ratio"});
    const std::string id = textOf(at(f, {"id"}));
    // That nothing holds the run up is what a fix is for.
    if (const FindingDefinition* known = findingDefinition(id); known && known->healthy) continue;
    out.push_back({id, textOf(at(f, {"title"})), textOf(at(f, {"where", "file"})),
                   wholeOf(at(f, {"where", "line"})).value_or(0),
                   share.is_number() ? share.get<double>() : 0});
  }
  return out;
}

std::vector<Untrusted> overridesOf(const Json& report) {
  std::vector<Untrusted> words;
  const Json& overrides = at(report, {"run", "overrides"});
  if (overrides.is_array())
    for (const Json& word : overrides) words.emplace_back(textOf(word));
  return words;
}

Json hostJson(const Fingerprint& host) {
  return {{"cpu_model", toUtf8(host.cpuModel)},
          {"cores", toUtf8(host.cores)},
          {"gpus", toUtf8(host.gpus)},
          {"framework", toUtf8(host.framework)}};
}

bool plainName(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name[0] != '.' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") == std::string::npos;
}

}  // namespace

const std::string& partOf(const Fingerprint& host, std::string_view name) {
  if (name == "cpu_model") return host.cpuModel;
  if (name == "cores") return host.cores;
  return name == "gpus" ? host.gpus : host.framework;
}

Result<GateRun> readGateRun(const std::string& path, const std::string& json) {
  Result<RunNumbers> numbers = reportNumbers(json);
  if (!numbers.ok()) return numbers.error();
  const Json report = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  GateRun run;
  run.path = path;
  if (const auto wall = wholeOf(at(report, {"run", "wall_ns"})))
    run.identity = textOf(at(report, {"run", "started_at"})) + " " + std::to_string(*wall);
  run.numbers = std::move(numbers).value();
  run.host = hostOf(report);
  run.exitCode = wholeOf(at(report, {"run", "exit", "code"}));
  run.exitSignal = wholeOf(at(report, {"run", "exit", "signal"}));
  run.endedAsAsked = endedAsAsked(overridesOf(report), run.exitCode, run.exitSignal);
  run.stepSource = textOf(at(report, {"steps", "source"}));
  const Json &loaders = at(report, {"run", "loaders"}), &findings = at(report, {"findings"});
  if (const auto ofSteps = wholeOf(at(report, {"steps", "batch_size"})))
    run.batchSizes.push_back(*ofSteps);
  else if (loaders.is_array())
    for (const Json& loader : loaders)
      if (const auto size = wholeOf(at(loader, {"batch_size"}))) run.batchSizes.push_back(*size);
  std::sort(run.batchSizes.begin(), run.batchSizes.end());
  run.batchSizes.erase(std::unique(run.batchSizes.begin(), run.batchSizes.end()),
                       run.batchSizes.end());
  for (const Json* list : {&loaders, &findings})
    if (list->is_array())
      for (const Json& one : *list)
        if (std::string file = textOf(at(one, {"where", "file"})); file.starts_with('/'))
          run.files.push_back(std::move(file));
  run.suspects = suspectsOf(report);
  return run;
}

std::string baselineIndex(const Baseline& baseline) {
  const Json json = {{"schema", kBaselineSchema},
                     {"saved_at", baseline.savedAt},
                     {"host", hostJson(baseline.host)},
                     {"runs", baseline.files}};
  return json.dump(2, ' ', /*ensure_ascii=*/true) + "\n";
}

Result<Baseline> readBaselineIndex(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const std::string schema = textOf(at(json, {"schema"}));
  if (schema != kBaselineSchema)
    return Error{Error::Kind::kUnsupported, "its schema is '" + escapeTerminal(schema, 64) +
                                                "'; this version reads '" + kBaselineSchema + "'"};
  Baseline baseline;
  baseline.savedAt = textOf(at(json, {"saved_at"}));
  baseline.host = {textOf(at(json, {"host", "cpu_model"})), textOf(at(json, {"host", "cores"})),
                   textOf(at(json, {"host", "gpus"})), textOf(at(json, {"host", "framework"}))};
  const Json& runs = at(json, {"runs"});
  if (!runs.is_array() || runs.empty()) return Error{Error::Kind::kDamaged, "it lists no runs"};
  if (runs.size() > kMaxBaselineRuns)
    return Error{Error::Kind::kDamaged,
                 "it lists more than " + std::to_string(kMaxBaselineRuns) + " runs"};
  for (const Json& run : runs) {
    baseline.files.push_back(textOf(run));
    if (!plainName(baseline.files.back()))
      return Error{Error::Kind::kDamaged, "it lists '" + escapeTerminal(textOf(run), 80) +
                                              "', which is no file of its own directory"};
  }
  return baseline;
}

}  // namespace stallprof
