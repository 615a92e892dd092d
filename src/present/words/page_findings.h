// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "present/words/page.h"
#include "present/words/present_options.h"

namespace stallprof {

inline constexpr std::size_t kLabel = 12;  // columns: "STEP TIME   "

// What a page of kTextLines lines has room for: how many items are shown. Items are left out, words
// never, as long as the texts are ours: only beside names of the job's that fill a page are fields
// cut to `fieldLines`.
struct Detail {
  std::size_t rows = 8, unfolded = 3, evidence = 5, evidenceOfOthers = 4, diffLines = 6, advice = 3,
              epochs = 4, trainers = 16, listed = 24, functions = 8, lines = 8, natives = 8,
              fieldLines = kMaxFieldLines;
};

// The report's bottlenecks for a terminal: their table, then the first ones with evidence, change,
// check and risk.
void findings(Page& page, const Analysis& a, const Detail& detail);

// "decode() in ...per/data/aug.py:12", escaped: the end of a path says which file it is.
[[nodiscard]] std::string placeText(const SourceLine& line, std::size_t columns);

}  // namespace stallprof
