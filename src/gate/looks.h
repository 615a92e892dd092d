// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gate/policy.h"
#include "gate/verdict.h"

// A gate that may ask for more runs while it is unsure. To look again and again until something
// shows would find something in any noise: so when to look is fixed before the first run, and each
// look tests at its part of alpha (Bonferroni), which holds whatever the looks have in common.
namespace stallprof {

// After how many runs a side the gate looks: `runs`, then half as many again each time, at last
// `most`. Looks with fewer than `least` runs, which give no verdict, are left out; never empty.
[[nodiscard]] std::vector<std::size_t> looksOf(std::size_t runs, std::size_t most,
                                               std::size_t least);

// The policy of each of so many looks.
[[nodiscard]] Policy policyOfALook(Policy policy, std::size_t looks);

// More runs could change what the gate does: it is unsure of something that can fail, and nothing
// has failed already.
[[nodiscard]] bool wantsMore(const GateResult& result);

// One sentence on the looks taken of those that were planned, at the policy's whole alpha.
[[nodiscard]] std::string looksText(const std::vector<std::size_t>& looks, std::size_t taken,
                                    double alpha);

}  // namespace stallprof
