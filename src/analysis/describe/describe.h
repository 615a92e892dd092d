// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"
#include "analysis/steps/roles.h"
#include "trace/trace.h"

// The blocks of the report that restate what was established, without judging it.
namespace stallprof {

// What befell the run from outside: a control group without memory, clocks, sleep.
[[nodiscard]] std::vector<std::string> remarksOf(const Trace& trace);
// Whether `option` of `run`, or one that begins so, changed it from outside.
[[nodiscard]] bool askedFor(const RunInfo& run, std::string_view option);
// Whether a command that ended so was ended by TERM after --steps or --for, which are of its
// `overrides`: no failure. A shell makes 128 + 15 of the signal. Null: not of that kind, not known.
[[nodiscard]] bool endedAsAsked(const std::vector<Untrusted>& overrides,
                                Maybe<std::int64_t> exitCode, Maybe<std::int64_t> exitSignal);
// What no share is of, where that is most of the run and a minute or more: a sentence. Else empty.
[[nodiscard]] std::string outsideWindow(const Trace& trace, const TrainerFacts& trainer,
                                        const RunInfo& run);
[[nodiscard]] RunInfo describeRun(const Trace& trace);
[[nodiscard]] CoverageInfo describeCoverage(const Trace& trace);
// The report's numbers of training epochs (EpochInfo::index), by those of `Step::epoch`.
[[nodiscard]] std::map<std::uint32_t, std::int64_t> epochNumbers(const TrainerFacts& trainer);
[[nodiscard]] StepsInfo describeSteps(const Trace& trace, const TrainerFacts& trainer);
[[nodiscard]] Breakdown describeBreakdown(const TrainerFacts& trainer);

// What `run --set` and the like changed in the command, into `run`.
void describeOverrides(const Trace& trace, RunInfo& run);

// Sentences for the head of the report: what was changed, and what that changes in the training
// beside its pace. Empty where nothing was.
[[nodiscard]] std::vector<std::string> overrideCaveats(const Trace& trace, const RunInfo& run);

// Of a replay, or of a loader alone, the pace itself is a ceiling, measured; what the model says of
// a training is then not asked for.
void measureCeiling(Analysis& analysis);

// What the CPUs' counters say of [begin, end), over all of the job; nullopt where none counted.
// Counters that took turns are scaled to all of the time.
[[nodiscard]] Maybe<CountersInfo> measureCounters(const Trace& trace, Nanos begin, Nanos end);

// What sampling cost this trainer, as README.md defines it: from the pauses in its window that can
// be compared with the time around them. Null where there is none.
[[nodiscard]] Maybe<Slowdown> measureSlowdown(const Trace& trace, const TrainerFacts& trainer);

// What samples of native code in the window of `facts` say: the table of libraries and functions of
// the whole job for `analysis.native`, and under each Python function of its table and its findings
// the native function that most of that one's CPU time went to. A finding without any Python
// function gets the hottest of its side. Does nothing where no sample is.
void addNative(const Trace& trace, const Roles& roles, const TrainerFacts& facts,
               Analysis& analysis);

}  // namespace stallprof
