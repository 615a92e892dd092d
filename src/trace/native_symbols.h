// SPDX-License-Identifier: MIT
#pragma once

#include "trace/trace.h"

namespace stallprof {

// What became of the files that native samples fell into.
struct SymbolSummary {
  std::size_t files = 0;    // with addresses to resolve
  std::size_t read = 0;     // whose symbols were read, here or by the recorder
  std::size_t missing = 0;  // not here: another host, a container, deleted
  std::size_t changed = 0;  // of another build than the one that ran
};

// Names the functions of a trace's native samples and of their callers, says of which places the
// code draws random numbers and, of programs without an interpreter, what the loop around it does:
// from what the recorder read at the end of the run (NativePlace), and of places that it did not
// name from the files as they lie on this host (machine_code/code_places.h). What cannot be named
// stays as it is, and is said as the source "native_symbols". `debugRoot` is for tests.
SymbolSummary nameNativeSymbols(Trace& trace, const std::string& debugRoot = "/usr/lib/debug");

}  // namespace stallprof
