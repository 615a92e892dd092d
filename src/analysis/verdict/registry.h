// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "analysis/findings/definition.h"

namespace stallprof {

// Every finding there is, by phase along the pipeline; where two are ranked alike the earlier goes
// first.
[[nodiscard]] std::span<const FindingDefinition* const> allFindings();

// Null for an id that does not exist.
[[nodiscard]] const FindingDefinition* findingDefinition(std::string_view id);

}  // namespace stallprof
