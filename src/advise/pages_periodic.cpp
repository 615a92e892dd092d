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

Fires when: passes without an optimizer step, or what a library is known to call
  evaluation, are over 5 % of the window.

Fixes:
- Evaluate less often, on a subset, or in another job.

When it is wrong: the window holds an unusual number of passes.
)"},
    {"periodic.logging", R"(periodic.logging

Writing logs holds up steps.

Fires when: over 5 % of the looks at the training thread (at the low end of a 90 %
  interval) are in logging, a tracker, a progress bar or a plot. `stallprof explain
  --rules` lists which.

Fixes:
- Log every N steps; buffer; write from a thread.

When it is wrong: the time is a device sync caused by reading the value. The tracker's
  own thread or process is not counted: only what holds up the training thread.
)"},
    {"periodic.gc", R"(periodic.gc

Python's garbage collector stops the step now and then; across ranks the stops add up.

Fires when: the interpreter is collecting in over 1 % of the looks at the training thread
  (at the low end of a 90 % interval).

Fixes:
- gc.freeze() after setup; collect every N steps on all ranks at once.

When it is wrong: memory grows where cycles are never collected.
)"},
};

}  // namespace

std::span<const Page> periodicPages() { return kPages; }

}  // namespace stallprof
