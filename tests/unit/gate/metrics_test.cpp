// SPDX-License-Identifier: MIT
#include "gate/metrics.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "analysis/steps/roles.h"
#include "classify/native_class.h"
#include "event/vocabulary.h"
#include "present/metrics/report_json.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using Json = nlohmann::json;

// The schema of what `path` leads to; null where it leads nowhere.
Json schemaAt(const Json& root, const std::string& path) {
  const auto resolved = [&](Json schema) {
    for (const char* either : {"oneOf", "anyOf"})
      if (schema.contains(either))
        for (const Json& one : schema[either])
          if (one.contains("$ref") || one.contains("properties")) return one;
    return schema;
  };
  const auto follow = [&](Json schema) {
    for (schema = resolved(schema); schema.contains("$ref"); schema = resolved(schema)) {
      const std::string ref = schema["$ref"];
      schema = root.at(Json::json_pointer(ref.substr(1)));
    }
    return schema;
  };
  Json here = follow(root);
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    const std::string name = path.substr(from, dot - from);
    if (!here.contains("properties") || !here["properties"].contains(name)) return {};
    here = follow(here["properties"][name]);
    from = dot + 1;
  }
  return here;
}

}  // namespace

TEST_CASE("every metric is a number of the report's schema") {
  const Json root = Json::parse(reportSchema());
  CHECK(schemaAt(root, "steps.no_such_number").is_null());
  std::set<std::string_view> seen;
  for (const MetricKind& kind : metricKinds()) {
    INFO(kind.path);
    CHECK(seen.insert(kind.path).second);
    CHECK(!schemaAt(root, std::string(kind.path)).is_null());
    CHECK(findMetric(kind.path) == &kind);
    CHECK(kind.label.size() < 20);  // the column of the text output
  }
  CHECK(findMetric("steps.time_ns") == nullptr);
}

// The schema is closed: a report with another word is refused by its readers.
TEST_CASE("every name of an enumeration is a word of the report's schema") {
  const std::string schema = reportSchema();
  for (const auto& names :
       {std::vector<std::string_view>(kNativeClassNames.begin(), kNativeClassNames.end()),
        std::vector<std::string_view>(kRoleNames.begin(), kRoleNames.end()),
        std::vector<std::string_view>(kHostMemoryNames.begin(), kHostMemoryNames.end()),
        std::vector<std::string_view>(kDeviceCallKindNames.begin(), kDeviceCallKindNames.end())}) {
    Json words = Json::array();
    for (const std::string_view name : names) words.push_back(name);
    const std::string list = words.dump();
    INFO(list);
    CHECK(Json::parse(schema).dump().find(list) != std::string::npos);
  }
}

}  // namespace stallprof
