// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "present/words/present_options.h"

namespace stallprof {

// The report as GitHub-flavoured Markdown: the text report's content, nothing cut or folded.
[[nodiscard]] std::string reportMarkdown(const Analysis& analysis, const PresentOptions& options);

}  // namespace stallprof
