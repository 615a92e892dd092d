// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stallprof {

// The page of a finding id, plain text: what it means, the rule of evidence, fixes, and when it is
// wrong. nullopt for an id that does not exist.
[[nodiscard]] std::optional<std::string> explain(std::string_view id);

// Every id of the registry, in its order.
[[nodiscard]] std::span<const std::string_view> explainedIds();

}  // namespace stallprof
