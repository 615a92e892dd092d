// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/trace.h"
#include "trace/trace_text.h"

// A Trace as plain text: the language of tests and goldens. Lines are as stallprof-dump writes them
// (trace/trace_text.h); beside that:
//
//   1.5s fetch thread=1 duration=12ms batch=3 worker=0
//
// A field left out has its default. Times may carry a unit: ns us ms s m (12.5ms). `#` begins a
// comment.
//
//   repeat N every TIME           the lines up to `end`, N times, each time TIME later; in them a
//   end                           value may grow: `batch=4+2*i` or `cpu=0+20ms*i`, i = 0 .. N-1
namespace stallprof {

// `text` as a Trace; the Error names the line.
[[nodiscard]] Result<Trace> parseTrace(std::string_view text);

// Manifest, events by time (those at one instant in the order of the list of kinds), clean end.
// parseTrace(traceText(t)) equals t.
[[nodiscard]] std::string traceText(const Trace& trace);

}  // namespace stallprof
