// SPDX-License-Identifier: MIT
#include "gate/policy.h"

#include "tests/catch.h"

namespace stallprof {
namespace {

using Catch::Matchers::Contains;

Policy read(const std::string& body) {
  Result<Policy> policy =
      parsePolicy("schema = \"stallprof.gate/1\"\n" + body, "gate.toml", "2026-11-21");
  if (!policy.ok()) FAIL(policy.error().message);
  return std::move(policy).value();
}

// The complaint about `body`, whose first line is line 2 of the file.
std::string complaint(const std::string& body) {
  const auto policy =
      parsePolicy("schema = \"stallprof.gate/1\"\n" + body, "gate.toml", "2026-11-21");
  return policy.ok() ? "" : policy.error().message;
}

}  // namespace

TEST_CASE("a whole policy is read as written") {
  const Policy p = read(R"([baseline]
dir = "perf/base"
match = ["cpu_model",
  "cores"]
on_mismatch = "warn"
on_missing = "warn"
max_age_days = 30
[sampling]
min_runs = 8
min_steps = 50
[stats]
alpha = 0.01
correction = "none"
on_inconclusive = "fail"
[[metric]]
name = "steps.time_ns.p50"
max_regression = "5%"
single_run_threshold = 0.2
min_abs = "1.5 ms"
max = "2s"
[[metric]]
name = "breakdown.ratio.data_wait"
max = "10%"
level = "warn"
[[metric]]
name = "verdict.au_ratio"
min = 0.8
[[metric]]
name = "steps.count"
deterministic = true
tolerance = "1%"
[[metric]]
name = "run.wall_ns"
level = "off"
[[finding]]
id = "load.*"
new = "warn"
[[waiver]]
metric = "verdict.au_ratio"
reason = "see 12"
expires = 2026-12-31
)");
  CHECK(p.baseline == "perf/base");
  CHECK(p.match == std::vector<std::string>{"cpu_model", "cores"});
  CHECK(p.mismatchWarns);
  CHECK(p.missingBaselineWarns);
  CHECK(p.maxAgeDays == 30);
  CHECK(p.minRuns == 8);
  CHECK(p.minSteps == 50);
  CHECK(p.alpha == 0.01);
  CHECK(!p.bonferroni);
  CHECK(p.onInconclusive == OnInconclusive::kFail);
  REQUIRE(p.checks.size() == 5);
  CHECK(p.checks[0].floor == 0.05);
  CHECK(p.checks[0].singleRun == Maybe<double>(0.2));
  CHECK(p.checks[0].minAbsolute == 1.5e6);
  CHECK(p.checks[1].kind == Check::Kind::kBudget);
  CHECK(p.checks[1].bound == 2e9);
  CHECK(p.checks[2].kind == Check::Kind::kBudget);
  CHECK(p.checks[2].bound == 0.10);
  CHECK(p.checks[2].level == Level::kWarn);
  CHECK(!p.checks[3].isMax);
  CHECK(p.checks[3].waiver);
  CHECK(p.checks[4].kind == Check::Kind::kExact);
  CHECK(p.checks[4].tolerance == 0.01);
  REQUIRE(p.findings.size() == 1);
  CHECK(p.findings[0].level == Level::kWarn);
}

TEST_CASE("a metric by its name alone is held to three percent") {
  const Policy p = read("[[metric]]\nname = \"steps.rate_per_s\"\n");
  REQUIRE(p.checks.size() == 1);
  CHECK(p.checks[0].floor == 0.03);
  CHECK(p.checks[0].worse == Worse::kLower);
  CHECK(p.checks[0].line == 3);
}

TEST_CASE("what is wrong is said with its line and the nearest word") {
  const std::string metric = "[[metric]]\nname = \"steps.time_ns.p50\"\n";
  const std::pair<std::string, const char*> wrong[] = {
      {"[[metric]]\nname = \"step_time.p50\"\n",
       "gate.toml:3: 'step_time.p50' is no metric of a report; did you mean 'steps.time_ns.p50'?"},
      {metric + "max_regresion = \"5%\"\n",
       "gate.toml:4: 'max_regresion' is no key of [[metric]]; did you mean 'max_regression'?"},
      {metric + "max_regression = \"five\"\n", "gate.toml:4: max_regression takes a share"},
      {metric + "max_regression = true\n", "gate.toml:4: max_regression takes a share"},
      {metric + "max_regression = -1\n", "gate.toml:4: max_regression takes a share"},
      {metric + "max_regression = nan\n", "gate.toml:4: max_regression takes a share"},
      {metric + "max_regression = 5\n",
       "gate.toml:4: max_regression = 5 would be 500%: write \"5%\" or \"500%\""},
      {metric + "max_regression = \"5\"\n", "max_regression = 5 would be 500%"},
      {metric + "single_run_threshold = \"5%\"\n", "from 10% to"},
      {metric + "max = \"1s\"\nmin_abs = \"1ms\"\n", "a min_abs, which only max_regression reads"},
      {"[[metric]]\nname = \"breakdown.ratio.data_wait\"\nmax = 10\n",
       "gate.toml:4: max takes a share such as \"10%\""},
      {metric + "max = \"5 parsecs\"\n", "gate.toml:4: max takes a time such as"},
      {metric + "level = \"eror\"\n", "gate.toml:4: level is one of error, warn, info, off; did"},
      {metric + "tolerance = 0.1\n", "has a tolerance, but is not deterministic"},
      {metric + "deterministic = true\nmax_regression = 0.1\n", "give tolerance"},
      {metric + metric, "gate.toml:4: 'steps.time_ns.p50' is already in line 3"},
      {metric + "min = 2\nmax = 1\n", "has a min above its max"},
      {"[[metric]]\nname = \"steps.count\"\n", "neither better nor worse"},
      {"[[metric]]\nlevel = \"warn\"\n", "gate.toml:2: a [[metric]] without name"},
      {"[metric]\nname = \"steps.count\"\n", "gate.toml:2: no such table"},
      {"metric = 3\n", "metric is written [[metric]]"},
      {"[stat]\n", "gate.toml:2: no such table"},
      {"stat = 1\n", "did you mean 'stats'?"},
      {"[stats]\nalpha = 2\n", "gate.toml:3: alpha takes"},
      {"[stats]\nalpha = \"2\x1b[2J\"\n", "gate.toml:3: "},
      {"[sampling]\nmin_runs = 3\n", "gate.toml:3: min_runs takes a whole number from 5"},
      {"[baseline]\nmatch = [\"gpu\"]\n", "match is one of cpu_model, cores, gpus, framework"},
      {"[baseline]\nmatch = 3\n", "match takes a list"},
      {metric +
           "[[waiver]]\nmetric = \"steps.time_ns.p50\"\nreason = \"x\"\nexpires = 2026-01-01\n",
       "gate.toml:7: this waiver expired on 2026-01-01"},
      {metric + "[[waiver]]\nmetric = \"steps.count\"\nreason = \"x\"\nexpires = 2027-01-01\n",
       "which no [[metric]] asks of"},
      {metric + "[[waiver]]\nmetric = \"steps.time_ns.p50\"\nreason = \"x\"\nexpires = \"soon\"\n",
       "expires takes a date"},
      {"", "gate.toml:1: nothing is asked"},
      {"[[finding]]\nnew = \"error\"\n", "a [[finding]] without id"},
      {"[[finding]]\nid = \"transform\"\n",
       "gate.toml:2: 'transform' is no finding; all of that phase are 'transform.*'"},
      {"[[finding]]\nid = \"load.icp\"\n", "'load.icp' is no finding; did you mean 'load.ipc'?"},
      {"[[finding]]\nid = \"tranform.*\"\n", "'tranform.*' is no finding"},
      {"this is not toml\n", "gate.toml:2: "},
      {"[\n", "gate.toml:2: no such table"},
  };
  for (const auto& [body, why] : wrong) {
    INFO(body);
    CHECK_THAT(complaint(body), Contains(why));
    CHECK(complaint(body).find_first_of("\x1b\n") == std::string::npos);
  }
}

TEST_CASE("another schema is not read") {
  for (const char* text : {"", "schema = \"stallprof.gate/2\"\n", "schema = 1\n"})
    CHECK(!parsePolicy(text, "gate.toml", "2026-11-21").ok());
  CHECK(!parsePolicy(std::string(1 << 20, '#'), "gate.toml", "2026-11-21").ok());
}

}  // namespace stallprof
