// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/source_lines.h"
#include "analysis/findings/build.h"

namespace stallprof {

// A function and its samples: all lines of it together, with the user's line that most of them
// came from.
struct HotFunction {
  SourceLine hot, where;
  std::string rule;
  double samples = 0;
  std::uint32_t processes = 0;
  double reading = 0, handing = 0;  // of `samples`, those of extract and of load
};

// Which samples count.
struct HotQuery {
  Side side = Side::kTrainer;
  Maybe<Phase> phase;
  Maybe<OverheadKind> overhead;
  enum class Of {
    kAll,
    kRunning,
    kBlocked,
    kOwnPython,
    kLockWaits,
    kBlockedInOwn,
    kWhileIdle
  } of = Of::kAll;
  std::string_view rule = {};  // empty: any
  std::vector<FunctionSamples> StackFacts::*functions = &StackFacts::functions;
};
[[nodiscard]] Maybe<HotFunction> hottest(const Evidence& e, const HotQuery& query);
[[nodiscard]] double counted(const FunctionSamples& function, const HotQuery& query);
[[nodiscard]] double allOf(const Evidence& e, const HotQuery& query);  // samples of all functions

// "PIL/Image.py:Image.resize called from train.py:31 __getitem__", "train.py:31 __getitem__".
[[nodiscard]] std::string nameOf(const HotFunction& function);
// How sure a share of time is that rests on samples of the trainer alone, with no model.
[[nodiscard]] Confidence shareConfidence(const Evidence& e);

void point(Finding& to, const HotFunction& function);

// Gives a finding that has none the function where its phase's time goes, and the user's line.
void nameFunction(const Evidence& e, Finding& f);

// Evidence: how sure a share is, and from how many samples; `where` follows ("in 2 processes").
void addIntervalEvidence(Finding& f, const Share& share, double samples,
                         const std::string& where = {});

}  // namespace stallprof
