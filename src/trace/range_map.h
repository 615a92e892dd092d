// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/range_names.h"
#include "trace/trace.h"

namespace stallprof {

// What `--map NAME=MEANING` says of ranges (NVTX) whose name is NAME, or begins with it where NAME
// ends in `*`. MEANING is a phase, `step` (a step of the training), or `none`: it says nothing,
// though it is named like one.
struct RangeMeaning {
  enum class Is : std::uint8_t { kNothing, kPhase, kStep };
  std::string name = {};  // without the `*`
  bool prefix = false;
  Is is = Is::kNothing;
  Phase phase = Phase::kUnknown;
  [[nodiscard]] bool fits(std::string_view range) const;
};

// The Error names the word and what may stand there.
[[nodiscard]] Result<RangeMeaning> parseRangeMeaning(std::string_view word);

// Gives `trace.spans` and `trace.steps` what the ranges mean: the steps, and the phases that
// `words` (as parseRangeMeaning takes them; of two that fit the later counts) map. Words that are
// none change nothing. To be called once, with the tables sorted; they stay so.
void readRanges(Trace& trace, const std::vector<Untrusted>& words);

}  // namespace stallprof
