// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stallprof {

// A manual page that is of no command: files that a user writes (section 5), what reports speak of
// (section 7). Texts as in ManualSection; what the program knows of itself is put in from its
// tables.
struct ManualTopic {
  std::string name;  // "stallprof-rules"
  int section = 5;
  std::string summary;
  std::vector<std::pair<std::string, std::string>> sections;  // heading, text
};
[[nodiscard]] const std::vector<ManualTopic>& manualTopics();

}  // namespace stallprof
