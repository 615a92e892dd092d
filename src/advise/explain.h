// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stallprof {

inline constexpr std::string_view kStepsPage = "steps";

// The page of a finding id, plain text: what it means, the rule of evidence, fixes, and when it is
// wrong; of "steps", how steps are found and shown. nullopt for an id that does not exist.
[[nodiscard]] std::optional<std::string> explain(std::string_view id);

// Every id of the registry, in its order, and "steps".
[[nodiscard]] std::span<const std::string_view> explainedIds();

}  // namespace stallprof
