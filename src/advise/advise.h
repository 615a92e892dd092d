// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/facts/analysis.h"

namespace stallprof {

struct AdviseOptions {
  std::string recording;       // path as the user gave it; "" leaves verify commands without it
  Maybe<double> pricePerHour;  // `--price`: fills Analysis::cost
};

// Writes the words of every advice in `analysis`: text, diff, what is missing of its risk, and the
// command that checks it. Changes no number but `cost`. Pure; call once, after `analyze`.
void advise(Analysis& analysis, const AdviseOptions& options = {});

}  // namespace stallprof
