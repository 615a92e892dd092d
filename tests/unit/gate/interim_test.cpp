// SPDX-License-Identifier: MIT
#include "gate/interim.h"

#include "tests/catch.h"
#include "tests/unit/gate/sample_runs.h"

namespace stallprof {
namespace {

using Interims = std::vector<std::size_t>;

GateResult judgedSides(double base, double head, double noise) {
  auto result = judgeGate(defaultPolicy(), sampleSide(base, noise), sampleSide(head, noise));
  REQUIRE(result.ok());
  return std::move(result).value();
}

}  // namespace

TEST_CASE("interim analyses are planned before the first run, each half as many runs again") {
  CHECK(interimsOf(5, 12, 5) == Interims{5, 8, 12});
  CHECK(interimsOf(8, 16, 5) == Interims{8, 12, 16});
  CHECK(interimsOf(5, 20, 5) == Interims{5, 8, 12, 20});  // 18 would leave two runs for the last
  CHECK(interimsOf(5, 5, 5) == Interims{5});
  CHECK(interimsOf(5, 0, 5) == Interims{5});
}

TEST_CASE("an interim analysis that can give no verdict is left out") {
  CHECK(interimsOf(2, 9, 5) == Interims{5, 9});
  CHECK(interimsOf(2, 4, 5) == Interims{4});
}

TEST_CASE("every interim analysis has its share of alpha") {
  const Policy policy = policyOfInterim(defaultPolicy(), 4);
  CHECK(policy.alpha == defaultPolicy().alpha / 4);
  CHECK(policyOfInterim(defaultPolicy(), 1).alpha == defaultPolicy().alpha);
}

TEST_CASE("more runs are wanted while what can fail is unsure, and for nothing else") {
  CHECK(wantsMore(judgedSides(100, 105, 0.08)));
  CHECK_FALSE(wantsMore(judgedSides(100, 107, 0.01)));
  CHECK_FALSE(wantsMore(judgedSides(100, 100.5, 0.01)));
  GateResult unsure = judgedSides(100, 105, 0.08);
  unsure.checks[0].check.level = Level::kInfo;
  CHECK_FALSE(wantsMore(unsure));
  GateResult failed = judgedSides(100, 105, 0.08);
  failed.outcome = Outcome::kWorkloadFailed;
  CHECK_FALSE(wantsMore(failed));
}

TEST_CASE("the analyses made are named") {
  CHECK(interimText({5, 8, 12}, 2, 0.02) ==
        "Analysed after 5 and 8 runs a side, of at most 12; each of 3 planned analyses tests at "
        "0.67 %, so that all of them keep the policy's 2 %.");
}

}  // namespace stallprof
