// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "present/words/page.h"
#include "present/words/page_detail.h"
#include "present/words/present_options.h"

namespace stallprof {

// The report's bottlenecks for a terminal: their table, then the first ones with evidence, change,
// check and risk.
void findings(Page& page, const Analysis& a, const PresentOptions& options, const Detail& detail);

// "decode() in ...per/data/aug.py:12", escaped: the end of a path says which file it is.
[[nodiscard]] std::string placeText(const SourceLine& line, std::size_t columns);

}  // namespace stallprof
