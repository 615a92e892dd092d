// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/analyze.h"
#include "present/timeline/chrome_trace_json.h"

// Tables for spreadsheets and data frames: RFC 4180, a head of names, CRLF. An empty cell is what
// was not measured or does not apply. Text is quoted, without control characters, and never begins
// as a formula does.
namespace stallprof {

// A row a step of every trainer, warm-up included, by trainer, then by time; times in ns,
// `begin_ns` since Trace::begin. compute_ns to other_ns sum to wall_ns, the blame_ ones to
// data_wait_ns. False where `write` was.
[[nodiscard]] bool writeStepsCsv(const Trace& trace, const Analyzed& analyzed,
                                 const WriteBytes& write);

// A row a finding by rank, with its first advice.
[[nodiscard]] std::string findingsCsv(const Analysis& analysis);

}  // namespace stallprof
