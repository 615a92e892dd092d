// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "present/words/present_options.h"

namespace stallprof {

// The report as one page that needs nothing else: no script, no other file, no network. Every text
// is bounded and every series sampled down, so that it stays below 2 MB. What is drawn of single
// steps, resources, files and stacks comes from `options.picture`; without it those sections are
// left out.
[[nodiscard]] std::string reportHtml(const Analysis& analysis, const PresentOptions& options);

}  // namespace stallprof
