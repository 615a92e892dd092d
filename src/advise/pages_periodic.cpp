// SPDX-License-Identifier: MIT
#include "advise/pages.h"

namespace stallprof {
namespace {

constexpr Page kPages[] = {
    {"periodic.checkpoint", R"(periodic.checkpoint

The training stands still while its state is written.

Fires when: saving on the trainer's thread takes over 5 % of the window.

Fixes:
- Copy the state, write it in the background.
- Save less often.
- Save to local storage, copy from there.

When it is wrong: the window is short and holds one save by chance: look at the count.
  Saves from another thread or process are not counted.
)"},
    {"periodic.evaluation", R"(periodic.evaluation

Evaluation passes take a large part of the time.

Fires when: amortised, they are over 5 % of the window.

Fixes:
- Evaluate less often, on a subset, or in another job.

When it is wrong: the window holds an unusual number of passes.

This version does not look for it yet. Evaluation is part of `periodic` in the
  breakdown.
)"},
    {"periodic.logging", R"(periodic.logging

Writing logs holds up steps.

Fires when: amortised, logging is over 5 % of the window.

Fixes:
- Log every N steps; buffer; write from a thread.

When it is wrong: the time is a device sync caused by reading the value.

This version does not look for it yet.
)"},
    {"periodic.gc", R"(periodic.gc

Python's garbage collector stops the step now and then; across ranks the stops add up.

Fires when: collections take over 1 % of the window.

Fixes:
- gc.freeze() after setup; collect every N steps on all ranks at once.

When it is wrong: memory grows where cycles are never collected.

This version does not look for it yet.
)"},
};

}  // namespace

std::span<const Page> periodicPages() { return kPages; }

}  // namespace stallprof
