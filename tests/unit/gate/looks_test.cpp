// SPDX-License-Identifier: MIT
#include "gate/looks.h"

#include "tests/catch.h"
#include "tests/unit/gate/sample_runs.h"

namespace stallprof {
namespace {

using Looks = std::vector<std::size_t>;

GateResult judged(double base, double head, double noise) {
  auto result = judgeGate(defaultPolicy(), sampleSide(base, noise), sampleSide(head, noise));
  REQUIRE(result.ok());
  return std::move(result).value();
}

}  // namespace

TEST_CASE("looks are planned before the first run, each half as many runs again") {
  CHECK(looksOf(5, 12, 5) == Looks{5, 8, 12});
  CHECK(looksOf(8, 16, 5) == Looks{8, 12, 16});
  CHECK(looksOf(5, 20, 5) == Looks{5, 8, 12, 20});  // 18 would leave two runs for a look
  CHECK(looksOf(5, 5, 5) == Looks{5});
  CHECK(looksOf(5, 0, 5) == Looks{5});
}

TEST_CASE("a look that can give no verdict is none") {
  CHECK(looksOf(2, 9, 5) == Looks{5, 9});
  CHECK(looksOf(2, 4, 5) == Looks{4});
}

TEST_CASE("every look has its part of alpha") {
  const Policy policy = policyOfALook(defaultPolicy(), 4);
  CHECK(policy.alpha == defaultPolicy().alpha / 4);
  CHECK(policyOfALook(defaultPolicy(), 1).alpha == defaultPolicy().alpha);
}

TEST_CASE("more runs are wanted while what can fail is unsure, and for nothing else") {
  CHECK(wantsMore(judged(100, 105, 0.08)));
  CHECK_FALSE(wantsMore(judged(100, 107, 0.01)));
  CHECK_FALSE(wantsMore(judged(100, 100.5, 0.01)));
  GateResult unsure = judged(100, 105, 0.08);
  unsure.checks[0].check.level = Level::kInfo;
  CHECK_FALSE(wantsMore(unsure));
  GateResult failed = judged(100, 105, 0.08);
  failed.outcome = Outcome::kWorkloadFailed;
  CHECK_FALSE(wantsMore(failed));
}

TEST_CASE("what was looked at is said") {
  CHECK(looksText({5, 8, 12}, 2, 0.02) ==
        "Looked after 5 and 8 runs a side, of at most 12; each of 3 planned looks tests at 0.67 %, "
        "so that all of them keep the policy's 2 %.");
}

}  // namespace stallprof
