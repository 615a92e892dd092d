// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

namespace stallprof {

// The pages of one phase, in the order of the design's table.
struct Page {
  std::string_view id, text;
};
[[nodiscard]] std::span<const Page> extractPages();
[[nodiscard]] std::span<const Page> transformPages();
[[nodiscard]] std::span<const Page> loadPages();
[[nodiscard]] std::span<const Page> computePages();
[[nodiscard]] std::span<const Page> commPages();
[[nodiscard]] std::span<const Page> periodicPages();
[[nodiscard]] std::span<const Page> hostPages();

}  // namespace stallprof
