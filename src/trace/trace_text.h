// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "event/event.h"
#include "event/strings.h"
#include "trace/trace.h"

// A Trace as plain text: the language of stallprof-dump, of tests and of goldens. One event a line:
//
//   AT KIND FIELD=VALUE ...       1.5s fetch thread=1 duration=12ms batch=3 worker=0
//
// KIND and FIELD are the names in event.h; a field left out has its default, and is left out on
// output. Times are nanoseconds, or carry a unit: ns us ms s (12.5ms). Strings are quoted, with
// \" \\ and \xNN. Ids are plain numbers, enumerators their spelling in vocabulary.h, bools 0 or 1.
// `#` begins a comment. Beside events:
//
//   manifest NAME=VALUE ...       what the manifest says; `command` and `env` may be repeated
//   clean_end                     the recording was closed whole
//   repeat N every TIME           the lines up to `end`, N times, each time TIME later; in them a
//   end                           value may grow: `batch=4+2*i` or `cpu=0+20ms*i`, i = 0 .. N-1
namespace stallprof {

// `text` as a Trace; the Error names the line.
[[nodiscard]] Result<Trace> parseTrace(std::string_view text);

// One event as its line, without the newline. Printable ASCII only, whatever the job's names hold.
[[nodiscard]] std::string eventLine(const Event& event, const Strings& strings);

// The manifest as its lines.
[[nodiscard]] std::string manifestLines(const Manifest& manifest);

// Manifest, events by time (those at one instant in the order of the list of kinds), clean end.
// parseTrace(traceText(t)) equals t.
[[nodiscard]] std::string traceText(const Trace& trace);

}  // namespace stallprof
