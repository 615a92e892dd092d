// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "analysis/facts/analysis.h"
#include "trace/trace.h"

namespace stallprof {

using WhichProcesses = std::function<bool(const ProcessLife&)>;

inline constexpr double kSomeReads = 0.05;  // that are not counted: a share with them is wrong

// What the producers' waits for data are for is counted in read_bytes when it comes from storage.
// What does not block comes from memory: there nothing is to be counted.
[[nodiscard]] bool waitsAreCounted(const Trace& trace, const WhichProcesses& makers, Nanos begin,
                                   Nanos end);

// Of the files that the producers were seen to wait for.
[[nodiscard]] Maybe<double> sizesWaitedFor(const Trace& trace, const WhichProcesses& makers);

}  // namespace stallprof
