// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stallprof {

// One line on stderr, "stallprof: MESSAGE"; returns `status`, to be returned in turn.
int fail(const std::string& message, int status);

// The status of a command that has printed to stdout: 1 where that did not arrive, which is said.
[[nodiscard]] int afterPrinting(int status);

// `content` to `file`, whole or not at all: written beside it and renamed. "" and "-" are stdout; a
// device or a pipe is written to as it stands. A symbolic link to a file is refused: renaming would
// replace the link, following it would write to a place that nobody named.
[[nodiscard]] Status writeOutput(const std::string& file, std::string_view content);

// The same, of content that is made while it is written: `produce` is handed what takes its bytes,
// and is false where that failed.
using TakeBytes = std::function<bool(std::string_view)>;
[[nodiscard]] Status writeOutputBy(const std::string& file,
                                   const std::function<bool(const TakeBytes&)>& produce);

// The Error where writeOutput() could not write to `file` as things stand now: its directory is not
// there or may not be written to, or what has its name is no file.
[[nodiscard]] Status checkPlace(const std::string& file);

// The Error where writing to `file` would replace what is there: a file that holds something. Not
// for "" and "-", an empty file, as mktemp makes them, and what is no file: a device, a link.
// `instead`: what else the user may do, after the advice to choose another name.
[[nodiscard]] Status wouldReplace(const std::string& file, const char* instead = "");
inline constexpr char kOrForce[] = ", or use --force to replace it";
inline constexpr char kForceHelp[] = "replace the file that -o names, if it exists";

// Whether stdout takes colour: `choice` is "auto", "always" or "never"; auto asks NO_COLOR, then
// FORCE_COLOR and CLICOLOR_FORCE, then the terminal.
[[nodiscard]] bool stdoutColour(const std::string& choice);

// Columns for a report on stdout: COLUMNS, else the terminal's, else 100; within 80 and 120.
[[nodiscard]] int stdoutColumns();

}  // namespace stallprof
