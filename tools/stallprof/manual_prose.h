// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

namespace stallprof {

// A section of a manual page. Blank lines part paragraphs; lines that begin with two spaces are
// printed as they stand.
struct ManualSection {
  std::string_view heading, text;
};

// What a page says beside what the options' tables say; "" is the page of the program itself.
[[nodiscard]] const std::vector<ManualSection>& proseOf(std::string_view verb);

}  // namespace stallprof
