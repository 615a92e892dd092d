// SPDX-License-Identifier: MIT
#include "advise/pages.h"

namespace stallprof {
namespace {

constexpr Page kPages[] = {
    {"comm.collective_bound", R"(comm.collective_bound

Ranks spend their time in collectives that nothing hides.

Fires when: over 5 % of the traced time the device runs nothing but collectives (and copies
  beside them).

Fixes:
- Overlap with the backward pass, larger buckets, compression.
- Faster links between hosts.

When it is wrong: a collective's time holds the wait for the rank that comes last. Ranks of
  one recording are compared (comm.straggler_rank); those on other hosts are not seen.
)"},
    {"comm.straggler_rank", R"(comm.straggler_rank

One rank comes last to the collectives: every step waits for it.

Fires when: of the ranks in one recording, one spends less than half as much of its time in
  collectives as each of the others, by 5 % of the window or more: they wait in theirs for it. With
  a device that is the time it ran nothing else, without one the looks that found the thread in a
  collective, or blocked in backward with no thread of its process at work; where those are under
  30, how much longer than the least its thread was blocked in its steps.

Fixes:
- Look at that rank alone: its batches, its device's clocks, its cores.
- Even shards.

When it is wrong: ranks take turns, or the slow one is on another host.
)"},
    {"comm.rank_imbalance", R"(comm.rank_imbalance

Some rank is late in each step, a different one each time.

Fires when: of several ranks in one recording, without a device, evening them out would save over
  5 % of the steps' time, and none is the late one in 80 % of the steps in which one was waited for.
  A step counts when the others stood in collectives 5 % of it longer than the last one did, and
  longer than one and a half looks.

Fixes:
- Balance batches by cost (bucket by length).
- Faster data loading on every rank.

When it is wrong: a single rank dominates: comm.straggler_rank. Differences below two looks (20 ms
  at 100 Hz) are not seen, nor is it looked for where ranks have devices.
)"},
    {"comm.data_parallel", R"(comm.data_parallel

DataParallel drives several devices from one process, which becomes the limit.

Fires when: one process works on more than one device, and looks at the training thread found
  torch.nn.DataParallel scattering or gathering.

Fixes:
- DistributedDataParallel: one process a device.

When it is wrong: the model is so large that compute hides it.
)"},
};

}  // namespace

std::span<const Page> commPages() { return kPages; }

}  // namespace stallprof
