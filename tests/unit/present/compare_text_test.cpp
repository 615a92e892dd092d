// SPDX-License-Identifier: MIT
#include "present/words/compare_text.h"

#include "tests/catch.h"

namespace stallprof {
namespace {

RunNumbers run(double p50, double wait) {
  return {{"steps.time_ns.p50", p50},
          {"breakdown.ratio.data_wait", wait},
          {"run.host.cores_usable", 8}};
}

std::string compared(std::vector<RunNumbers> base, std::vector<RunNumbers> head,
                     const std::vector<std::string>& notes = {}) {
  return compareText(compareRuns(base, head, comparedPaths()), notes, 100);
}

}  // namespace

TEST_CASE("one run a side is shown side by side and called advisory") {
  const std::string text = compared({run(408e6, 0.38)}, {run(270e6, 0.06)});
  CHECK_THAT(text, Catch::Contains("408 ms        270 ms        0.662x"));
  CHECK_THAT(text, Catch::Contains("38 %          6 %           -32.0 points"));
  CHECK_THAT(text, Catch::Contains("Advisory only"));
  CHECK_THAT(text, !Catch::Contains("interval"));
}

TEST_CASE("what makes the runs unlike is said below the numbers") {
  const std::string text =
      compared({run(408e6, 0.38)}, {run(270e6, 0.06)}, {"'b' exited with status 1."});
  CHECK_THAT(text, Catch::Contains("\n'b' exited with status 1.\n"));
}

TEST_CASE("more runs a side give an interval") {
  const std::string text =
      compared({run(400e6, 0.4), run(410e6, 0.4)}, {run(200e6, 0.1), run(205e6, 0.1)});
  CHECK_THAT(text, Catch::Contains("95 % interval"));
  CHECK_THAT(text, Catch::Contains("0.500x"));
  CHECK_THAT(text, !Catch::Contains("Advisory"));
}

TEST_CASE("a number that a side lacks is not measured, not zero") {
  RunNumbers bare = run(270e6, 0.06);
  bare.erase("steps.time_ns.p50");
  const std::string text = compared({run(408e6, 0.38)}, {bare});
  CHECK_THAT(text, Catch::Contains("408 ms        not measured"));
  CHECK_THAT(text, Catch::Contains("No step time on at least one side"));
}

TEST_CASE("every phase of a step is compared") {
  RunNumbers all;
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    all["breakdown.phase_ratio." + std::string(kPhaseNames[i])] = 0.1;
  const std::string text = compared({all}, {all});
  for (const std::string_view phase : kPhaseNames)
    CHECK_THAT(text, Catch::Contains("\nphase " + std::string(phase) + " "));
}

TEST_CASE("a comparison of different machines says so") {
  RunNumbers bigger = run(270e6, 0.06);
  bigger["run.host.cores_usable"] = 64;
  CHECK_THAT(compared({run(408e6, 0.38)}, {bigger}), Catch::Contains("they are not comparable"));
}

}  // namespace stallprof
