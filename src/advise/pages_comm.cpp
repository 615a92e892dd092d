// SPDX-License-Identifier: MIT
#include "advise/pages.h"

namespace stallprof {
namespace {

constexpr Page kPages[] = {
    {"comm.collective_bound", R"(comm.collective_bound

Ranks spend their time in collectives that nothing hides.

Fires when: exposed waits in collectives are a large share of the step.

Fixes:
- Overlap with the backward pass, larger buckets, compression.
- Faster links between hosts.

When it is wrong: one rank is late and the others wait for it.

This version does not look for it yet.
)"},
    {"comm.straggler_rank", R"(comm.straggler_rank

One rank is always the last: every step waits for it.

Fires when: the same rank arrives last at collectives.

Fixes:
- Check that host: clocks, cores, neighbours.
- Even shards.

When it is wrong: ranks take turns: comm.rank_imbalance.

This version does not look for it yet.
)"},
    {"comm.rank_imbalance", R"(comm.rank_imbalance

Some rank is late in each step, a different one each time.

Fires when: the slowest rank changes, and steps take the time of the slowest.

Fixes:
- Balance batches by cost (bucket by length).
- Faster data loading on every rank.

When it is wrong: a single rank dominates: comm.straggler_rank.

This version does not look for it yet.
)"},
    {"comm.data_parallel", R"(comm.data_parallel

DataParallel drives several devices from one process, which becomes the limit.

Fires when: torch.nn.DataParallel runs over more than one device.

Fixes:
- DistributedDataParallel: one process a device.

When it is wrong: the model is so large that compute hides it.

This version does not look for it yet.
)"},
};

}  // namespace

std::span<const Page> commPages() { return kPages; }

}  // namespace stallprof
