// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gate/policy.h"
#include "gate/verdict.h"

// A gate that may ask for more runs while it is unsure. To test again and again until something
// shows would find something in any noise: so the interim analyses are planned before the first
// run, and each tests at an equal share of alpha (Bonferroni), which holds however they depend on
// each other.
namespace stallprof {

// After how many runs a side the gate is judged: `runs`, then half as many again each time, at last
// `maximum`. Analyses of fewer than `minimum` runs, which give no verdict, are left out; never
// empty.
[[nodiscard]] std::vector<std::size_t> interimsOf(std::size_t runs, std::size_t maximum,
                                                  std::size_t minimum);

// The policy of each of so many interim analyses: a share of alpha.
[[nodiscard]] Policy policyOfInterim(Policy policy, std::size_t interims);

// More runs could change what the gate does: it is unsure of something that can fail, and nothing
// has failed already.
[[nodiscard]] bool wantsMore(const GateResult& result);

// One sentence on the analyses made of those that were planned, at the policy's whole alpha.
[[nodiscard]] std::string interimText(const std::vector<std::size_t>& interims, std::size_t taken,
                                      double alpha);

}  // namespace stallprof
