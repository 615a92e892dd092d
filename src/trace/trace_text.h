// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "event/event.h"
#include "event/strings.h"
#include "recording/manifest.h"

// Events as plain text: the language of stallprof-dump, and of the tests, which read it
// (tests/text_form/trace_form.h). One event a line:
//
//   AT KIND FIELD=VALUE ...       1500000000 fetch thread=1 duration=12000000 batch=3
//
// KIND and FIELD are the names in event.h; a field that has its default is left out. Times are
// nanoseconds. Strings are quoted, with \" \\ and \xNN. Ids are plain numbers, enumerators their
// spelling in vocabulary.h, bools 0 or 1. Beside events:
//
//   manifest NAME=VALUE ...       what the manifest says; `command` and `env` may be repeated
//   clean_end                     the recording was closed whole
namespace stallprof {

// One event as its line, without the newline. Printable ASCII only, whatever the job's names hold.
[[nodiscard]] std::string eventLine(const Event& event, const Strings& strings);

// The manifest as its lines.
[[nodiscard]] std::string manifestLines(const Manifest& manifest);

}  // namespace stallprof
