// SPDX-License-Identifier: MIT
#pragma once

#include "trace/trace.h"

namespace stallprof {

// Bytes a second by which a process's private memory (resident, less what it shares with files and
// shared memory) grows steadily; 0 where it does not, or too little was seen. Its first third and
// all before `settled` are left out: imports, caches and buffers are filled there. The rest is
// compared in thirds, by their medians: growth must go on in the last at half the pace or more, and
// exceed how the first third varies, as batches come and go. Of one process only: workers that are
// started again begin with nothing. Pages that a fork shares with its parent are resident from the
// start; that they are copied later is not seen.
[[nodiscard]] double steadyGrowth(const ProcessLife& process, Nanos settled);

}  // namespace stallprof
