// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"

namespace stallprof {

// Gives each batch what its slow samples took beyond the median, and names the slowest. The clock
// ran while the thread had no CPU or waited for storage, too: all of that in the batch is
// subtracted, and a sample that was not slow without it is none. It is not the sample that makes
// storage slow.
[[nodiscard]] SlowSampleFacts findSlowSamples(const Trace& trace, std::vector<BatchWork>& works);

}  // namespace stallprof
