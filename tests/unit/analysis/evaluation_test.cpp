// SPDX-License-Identifier: MIT
// periodic.evaluation of a loop of the program's own: from eval() to train().
#include <cmath>

#include "tests/unit/analysis/found.h"

using namespace stallprof;

namespace {

// 200 updates of 50 ms, and before each 20th half a second that `span` names.
Analysis evaluating(const std::string& span) {
  std::string text = test::kTrainer;
  for (int i = 0; i < 10; ++i) {
    const int at = 1000 + 1500 * i;
    text += std::to_string(at) +
            "ms span thread=1 duration=500ms phase=periodic source=hook name=\"" + span +
            "\" file=\"train.py\" line=30\n";
    text += "repeat 20 every 50ms\n" + std::to_string(at + 540) +
            "ms optimizer thread=1 duration=5ms optimizer=1\n" + std::to_string(at + 500) +
            "ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\nend\n";
  }
  return analyze(test::traceOf(text));
}

}  // namespace

TEST_CASE("what lies between eval() and train() is evaluation, at the line of the eval()") {
  const Analysis a = evaluating("evaluation");
  REQUIRE(a.breakdown.phase);
  CHECK(std::abs(a.breakdown.phase->periodic - 0.33) < 0.03);
  REQUIRE(!a.findings.empty());
  const Finding& f = a.findings[0];
  CHECK(f.id == "periodic.evaluation");
  CHECK(f.where.line == 30);
  CHECK(std::abs(f.shareRatio - a.breakdown.phase->periodic) < 0.001);
  CHECK(a.verdict.boundBy == "periodic");
  CHECK(test::find(a, "periodic.checkpoint") == nullptr);
}

TEST_CASE("another span of the hook's is a checkpoint, not evaluation") {
  const Analysis a = evaluating("torch.save");
  CHECK(test::find(a, "periodic.evaluation") == nullptr);
  CHECK(test::find(a, "periodic.checkpoint") != nullptr);
}
