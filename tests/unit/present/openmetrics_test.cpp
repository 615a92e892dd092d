// SPDX-License-Identifier: MIT
#include "present/metrics/openmetrics.h"

#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "tests/unit/present/export_sample.h"
#include "tests/unit/present/sample_analysis.h"

using namespace stallprof;
using namespace stallprof::samples;

namespace {

// What the grammar is made of, each taken off the front of `rest`. By hand: a std::regex takes
// seconds to compile.
bool takeWord(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

// Empty: there is none.
std::string takeName(std::string_view& rest) {
  std::size_t length = 0;
  while (length < rest.size() &&
         (rest[length] == '_' || (rest[length] >= 'a' && rest[length] <= 'z')))
    ++length;
  const std::string name(rest.substr(0, length));
  rest.remove_prefix(length);
  return name;
}

// NAME="VALUE", where a backslash precedes each quote and each backslash of the value, and the `n`
// that stands for an end of line.
bool takeLabel(std::string_view& rest) {
  if (takeName(rest).empty() || !takeWord(rest, "=\"")) return false;
  while (!rest.empty() && rest[0] != '"') {
    const std::size_t length = rest[0] == '\\' ? 2 : 1;
    if (length > rest.size()) return false;
    if (length == 2 && rest[1] != '\\' && rest[1] != '"' && rest[1] != 'n') return false;
    rest.remove_prefix(length);
  }
  return takeWord(rest, "\"");
}

// {LABEL,LABEL...} or nothing.
bool takeLabels(std::string_view& rest) {
  if (!takeWord(rest, "{")) return true;
  do {
    if (!takeLabel(rest)) return false;
  } while (takeWord(rest, ","));
  return takeWord(rest, "}");
}

// The grammar of OpenMetrics 1.0 as far as gauges need it, which older readers (node_exporter's
// directory) take, too, where there is no other type; and its rules: a family's lines lie together
// and come once, its samples differ, its unit ends its name, the text ends in
// "# EOF". Returns the samples, by name and labels.
class Grammar {
 public:
  explicit Grammar(const std::string& text) {
    REQUIRE(text.size() > 6);
    CHECK(text.substr(text.size() - 6) == "# EOF\n");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) take(line);
    CHECK(ended_);
  }
  std::map<std::string, double> samples;

 private:
  void take(const std::string& line) {
    INFO(line);
    CHECK_FALSE(ended_);
    std::string_view rest = line;
    if (line == "# EOF") {
      ended_ = true;
    } else if (takeWord(rest, "# ")) {
      const std::string what(rest.substr(0, 4));
      REQUIRE((what == "TYPE" || what == "UNIT" || what == "HELP"));
      rest.remove_prefix(what.size());
      REQUIRE(takeWord(rest, " "));
      const std::string name = takeName(rest);
      REQUIRE_FALSE(name.empty());
      REQUIRE(takeWord(rest, " "));
      takeHead(what, name, std::string(rest));
    } else {
      const std::string name = takeName(rest);
      REQUIRE_FALSE(name.empty());
      REQUIRE(takeLabels(rest));
      const std::string named = line.substr(0, line.size() - rest.size());
      REQUIRE(takeWord(rest, " "));
      takeSample(name, named, std::string(rest));
    }
  }
  void takeSample(const std::string& name, const std::string& named, const std::string& value) {
    REQUIRE_FALSE(value.empty());
    REQUIRE(value.find_first_of(" \t\v\f\r") == std::string::npos);
    CHECK(name == family_);
    CHECK(samples.emplace(named, std::stod(value)).second);
  }
  void takeHead(const std::string& what, const std::string& name, const std::string& value) {
    REQUIRE_FALSE(value.empty());
    REQUIRE(value.find('\r') == std::string::npos);
    if (what == "TYPE") {
      CHECK(families_.insert(name).second);
      CHECK(value == "gauge");
      family_ = name;
      return;
    }
    CHECK(name == family_);
    const std::string unit = "_" + value;
    if (what == "UNIT")
      CHECK((name.size() > unit.size() && name.substr(name.size() - unit.size()) == unit));
  }
  std::set<std::string> families_;
  std::string family_;
  bool ended_ = false;
};

}  // namespace

TEST_CASE("the report's numbers are gauges in base units, named as its fields") {
  const std::map<std::string, double> samples = Grammar(openMetrics(inputBound())).samples;
  const auto is = [&](const std::string& name, double value) {
    INFO(name);
    REQUIRE(samples.count(name) == 1);
    CHECK(std::abs(samples.at(name) - value) <= 1e-8 * std::abs(value));
  };
  is("stallprof_run_wall_seconds", 183.5);
  is("stallprof_steps{of=\"run\"}", 812);
  is("stallprof_steps_time_seconds{stat=\"p50\"}", 0.408);
  is("stallprof_steps_rate_per_second", 2.427);
  is("stallprof_breakdown_ratio{part=\"data_wait\"}", 0.381);
  is("stallprof_breakdown_phase_ratio{phase=\"transform\"}", 0.281);
  is("stallprof_breakdown_data_wait_blame_ratio{cause=\"transform\"}", 0.281);
  is("stallprof_verdict_au_ratio", 0.512);
  is("stallprof_resources_peak_rss_bytes", 3.12e9);
  is("stallprof_finding_rank{id=\"periodic.checkpoint\"}", 3);
  is("stallprof_finding_predicted_speedup{id=\"transform.too_few_workers\",bound=\"low\","
     "basis=\"replayed\"}",
     1.42);
  is("stallprof_verdict_info{bound_by=\"transform\",healthy=\"false\",confidence=\"high\"}", 1);
}

TEST_CASE("a gain that trials measured is beside the predicted one") {
  Analysis a = inputBound();
  a.findings.at(0).advice.at(0).measured = 1.5;
  CHECK(contains(openMetrics(a),
                 "stallprof_finding_measured_speedup{id=\"transform.too_few_workers\","
                 "bound=\"middle\"} 1.5\n"));
}

TEST_CASE("what was lost of the recording is counted by its cause") {
  Analysis a = samples::inputBound();
  a.coverage.losses = {{"frame_damaged", 3}};
  CHECK(contains(openMetrics(a), "stallprof_coverage_losses{name=\"frame_damaged\"} 3\n"));
}

TEST_CASE("what was not measured is left out") {
  const std::map<std::string, double> samples = Grammar(openMetrics(nothing())).samples;
  for (const auto& [name, value] : samples) {
    INFO(name);
    CHECK(name.find("resources") == std::string::npos);
    CHECK(name.find("ratio") == std::string::npos);
  }
  CHECK(samples.count("stallprof_verdict_au_ratio") == 0);
}

TEST_CASE("every sample report and every golden recording keeps the grammar") {
  for (const Analysis& analysis : {healthy(), noSteps(), damaged(), tied()})
    CHECK_FALSE(Grammar(openMetrics(analysis)).samples.empty());
  for (const std::string& name : goldens()) {
    INFO(name);
    CHECK_FALSE(Grammar(openMetrics(sampleOf(goldenText(name)).analyzed.analysis)).samples.empty());
  }
}

TEST_CASE("text of the job cannot end a label or a line") {
  const std::string text = openMetrics(hostile());
  CHECK_FALSE(Grammar(text).samples.empty());
  CHECK(rawControls(text, "\n") == "");
}
