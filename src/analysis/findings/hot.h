// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/evidence.h"

namespace stallprof {

// A function and the looks at it: all lines of it together, with the user's line most looks came
// from.
struct HotFunction {
  SourceLine hot, where;
  std::string rule;
  double looks = 0;
  std::uint32_t processes = 0;
};

// Which looks count.
struct HotQuery {
  Side side = Side::kTrainer;
  Maybe<Phase> phase;
  Maybe<Chore> chore;
  enum class Of { kAll, kRunning, kBlocked, kOwnPython, kLockWaits } of = Of::kAll;
};
[[nodiscard]] Maybe<HotFunction> hottest(const Evidence& e, const HotQuery& query);

// "PIL/Image.py:Image.resize called from train.py:31 __getitem__", "train.py:31 __getitem__".
[[nodiscard]] std::string nameOf(const HotFunction& function);
void point(Finding& to, const HotFunction& function);

// Gives every finding without them the function its phase's time goes to, and the user's line.
void nameFunctions(const Evidence& e, std::vector<Finding>& findings);

// Evidence: how sure a share is, and from how many looks; `where` follows ("in 2 processes").
void tellInterval(Finding& f, const Share& share, double looks, const std::string& where = {});

}  // namespace stallprof
