// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

namespace stallprof {

// A file of tools/stallprof/manual or tools/stallprof/guide, in Markdown as manual_markdown.h reads
// it; scripts/embed_text.cmake puts them into the program.
struct ManualPage {
  std::string_view file;  // "guide/run.md"
  std::string_view text;
};
[[nodiscard]] std::span<const ManualPage> manualPages();

}  // namespace stallprof
