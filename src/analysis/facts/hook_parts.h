// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"

namespace stallprof {

// What the hook could not install, or failed in, and so did not report: sources `hook.ADAPTER.PART`
// that are not full (names of a framework that have moved), and `hook.ADAPTER` (an error of the
// hook's own). Of the adapters that concern this trainer: one of a framework whose steps or batches
// another adapter reports, as of a library that is imported and not used, does not.
struct HookParts {
  bool missing = false;  // any
  bool fetches = false;  // no batch could be seen, and none was
  bool checkpoints = false;
  // What the trainer did in its steps is not known by the hook: only stacks, devices and marks of
  // the program show what of it was compute.
  [[nodiscard]] bool stepsUnclear() const { return fetches || checkpoints; }
};

// `loader`: the kind of loader that the trainer's batches came from; "": none was seen.
[[nodiscard]] HookParts missingParts(const Trace& trace, std::string_view loader, bool updates);
[[nodiscard]] HookParts missingParts(const Trace& trace, const TrainerFacts& trainer);

}  // namespace stallprof
