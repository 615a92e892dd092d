// SPDX-License-Identifier: MIT
// What a verdict says of the time beside what bounds it.
#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

TEST_CASE("what is unexplained is at a line of the loop that has more than half of it") {
  Verdict v;
  v.withheld = NoVerdict{NoVerdict::Why::kUnexplained, 0.8, 0.15};
  std::vector<LineInfo> lines = {{{}, Phase::kCompute, 0.5}, {{}, Phase::kUnknown, 0.4}};
  lines[1].where.file = Untrusted("train.py");
  placeUnexplained(v, lines);
  CHECK_FALSE(v.withheld->at.known());
  lines[1].ratio = 0.41;
  placeUnexplained(v, lines);
  CHECK(v.withheld->at.file == Untrusted("train.py"));
  v.withheld = NoVerdict{NoVerdict::Why::kNoFix, 0.2, 0};
  placeUnexplained(v, lines);
  CHECK_FALSE(v.withheld->at.known());
}

TEST_CASE("a run that computes half of its time mostly computes, whatever its first fix is of") {
  Training t{.workers = 0, .waitTransform = 30, .batchCpu = 30};
  const auto verdict = [&] { return factsOf(t).judge().verdict; };
  t.compute = 31;  // of 61
  CHECK(verdict().boundBy == "transform");
  CHECK(verdict().mostlyComputes());
  t.compute = 29;
  CHECK_FALSE(verdict().mostlyComputes());
  CHECK_FALSE(factsOf(Training{}).judge().verdict.mostlyComputes());  // bound by compute itself
}
