// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stallprof {

// A file of tools/stallprof/manual or tools/stallprof/guide, in Markdown as manual_markdown.h reads
// it; scripts/embed_text.cmake puts them into the program.
struct ManualPage {
  std::string_view file;  // "guide/run.md"
  std::string_view text;
};
[[nodiscard]] std::span<const ManualPage> manualPages();

// What the page of a command has beside its options (manual/COMMAND.md); "" is the page of the
// program itself. Empty if there is none.
[[nodiscard]] std::string_view proseOf(std::string_view command);

// A manual page that is of no command: manual/NAME.SECTION.md for files that a user writes (section
// 5) and for findings (section 7); guide/NAME.md, which is stallprof-guide-NAME(7). Tables that the
// program knows (keys, metrics, rules, findings) are inserted.
struct ManualTopic {
  std::string name;  // "stallprof-rules"
  int section = 5;
  std::string summary;
  std::string text;  // Markdown
};
[[nodiscard]] const std::vector<ManualTopic>& manualTopics();

}  // namespace stallprof
