// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace stallprof {

// A script that completes every command and every option of this program.
[[nodiscard]] std::string bashCompletion();
[[nodiscard]] std::string zshCompletion();
[[nodiscard]] std::string fishCompletion();

}  // namespace stallprof
