// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/facts/tuned.h"

namespace stallprof {

// "num_workers=4, prefetch_factor=4, 1 thread"
[[nodiscard]] std::string settingText(const TunedSetting& setting);
// The setting to use, as the user makes it, what it gains and costs; or that nothing gains, and
// why. Sentences.
[[nodiscard]] std::vector<std::string> tuningSummary(const Tuned& tuned);
// Indices of the settings by workers, prefetch and threads, not in the order of their runs; what
// there is to say of one: "as it is", "best", "failed".
[[nodiscard]] std::vector<std::size_t> tuningOrder(const Tuned& tuned);
[[nodiscard]] std::string tuningNote(const Tuned& tuned, std::size_t index);
// The summary, then each setting with its pace, as a bar chart of 80 columns.
[[nodiscard]] std::vector<std::string> tuningLines(const Tuned& tuned);

}  // namespace stallprof
