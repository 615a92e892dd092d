// SPDX-License-Identifier: MIT
#include "present/metrics/openmetrics.h"

#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/unit/present/export_sample.h"
#include "tests/unit/present/sample_analysis.h"

using namespace stallprof;
using namespace stallprof::samples;

namespace {

// The grammar of OpenMetrics 1.0 as far as gauges and infos need it, and its rules: a family's
// lines lie together and come once, its samples differ, its unit ends its name, the text ends in
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
    static const std::regex head("# (TYPE|UNIT|HELP) ([a-z_]+) (.+)");
    static const std::regex sample(
        R"(([a-z_]+)(\{[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\[\\"n])*")*\})? (\S+))");
    std::smatch found;
    if (line == "# EOF") {
      ended_ = true;
    } else if (std::regex_match(line, found, head)) {
      takeHead(found[1], found[2], found[3]);
    } else {
      REQUIRE(std::regex_match(line, found, sample));
      CHECK(found[1].str() == family_ + (type_ == "info" ? "_info" : ""));
      CHECK(samples.emplace(found[1].str() + found[2].str(), std::stod(found[3])).second);
    }
  }
  void takeHead(const std::string& what, const std::string& name, const std::string& value) {
    if (what == "TYPE") {
      CHECK(families_.insert(name).second);
      CHECK((value == "gauge" || value == "info"));
      family_ = name;
      type_ = value;
      return;
    }
    CHECK(name == family_);
    const std::string unit = "_" + value;
    if (what == "UNIT")
      CHECK((name.size() > unit.size() && name.substr(name.size() - unit.size()) == unit));
  }
  std::set<std::string> families_;
  std::string family_, type_;
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
