// SPDX-License-Identifier: MIT
#pragma once

namespace stallprof {

// The recorder's own name, limits and priority; the job's stay as they are. On a host whose CPUs
// are all busy it gets less of them than the job's threads (nice 5 more), but soon: a round of
// samples takes 0.1 ms, and one that waits for a CPU samples at the wrong times and not often
// enough.
void becomeBackground();

}  // namespace stallprof
