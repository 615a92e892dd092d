// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace stallprof {

// One line on stderr, prefixed "stallprof: ". The only thing `run` itself ever prints. Never stops
// us (a background job on a terminal with tostop: with SIGTTOU blocked it may write) and never
// blocks on a reader that went to sleep: then the line is lost.
void printLine(std::string_view line);

// On stderr as it is, without a trace of where it could not be written to: SIGPIPE and SIGXFSZ of
// it would end what this process becomes. Allocates nothing.
void writeError(std::string_view bytes);

}  // namespace stallprof
