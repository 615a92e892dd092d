// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "gate/policy.h"
#include "gate/run.h"

namespace stallprof {

struct Sides {
  std::vector<GateRun> base, head;
  std::vector<std::string> notes;  // about a stored baseline; ready to print
};

// The directory of the policy's own baseline; empty: it has none.
[[nodiscard]] std::string baselineOf(const Policy& policy);

// The runs of both sides. A directory with an index of a baseline stands for its runs; no base at
// all means the policy's baseline, if it has one. The Error's message names the path.
[[nodiscard]] Result<Sides> readSides(const Policy& policy, const std::vector<std::string>& base,
                                      const std::vector<std::string>& head);

// `places` is DIR RUN...: keeps the runs' reports in DIR. `replace` allows a baseline to be there.
// The value is the exit status; everything is said.
[[nodiscard]] int keepBaseline(bool replace, const std::vector<std::string>& places);

}  // namespace stallprof
