// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace stallprof {

// Prints the phase rule `id`, or lists all where it is "": those of `file` ("" for none) first. The
// exit status.
[[nodiscard]] int explainRules(const std::string& file, const std::string& id);

}  // namespace stallprof
