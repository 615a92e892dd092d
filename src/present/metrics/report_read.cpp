// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "present/metrics/report_json.h"

namespace stallprof {
namespace {

using Json = nlohmann::ordered_json;

// A report nests a handful deep; deeper is not ours.
constexpr int kDeepest = 8;

void collect(const Json& json, const std::string& path, int depth,
             std::map<std::string, double>& out) {
  if (json.is_number()) out[path] = json.get<double>();
  if (!json.is_object() || depth == kDeepest) return;
  for (const auto& [name, value] : json.items())
    collect(value, path.empty() ? name : path + "." + name, depth + 1, out);
}

}  // namespace

Result<std::map<std::string, double>> reportNumbers(const std::string& json) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("schema") || !parsed["schema"].is_string())
    return Error{Error::Kind::kDamaged, "not a stallprof report in JSON"};
  const auto schema = parsed["schema"].get<std::string>();
  if (schema != kReportSchema)
    return Error{Error::Kind::kUnsupported, "its schema is '" + escapeTerminal(schema, 64) +
                                                "'; this version reads '" + kReportSchema + "'"};
  std::map<std::string, double> numbers;
  collect(parsed, "", 0, numbers);
  return numbers;
}

}  // namespace stallprof
