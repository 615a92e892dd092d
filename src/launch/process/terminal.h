// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace stallprof {

// One line on stderr, prefixed "stallprof: ". The only thing `run` itself ever prints. Never stops
// us (a background job on a terminal with tostop) and never blocks on a reader that went to sleep:
// then the line is lost.
void printLine(std::string_view line);

}  // namespace stallprof
