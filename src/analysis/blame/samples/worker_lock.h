// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/facts/facts.h"

namespace stallprof {

// What the workers of a loader wait for each other's locks, by the samples taken while they made
// `works` in `window`: `flock`, a semaphore or a mutex in shared memory. A wait counts where no
// other thread of the worker's own process was at work, for that may have held the lock.
[[nodiscard]] WorkerLock findWorkerLock(const Trace& trace, const std::vector<BatchWork>& works,
                                        const Interval& window);

}  // namespace stallprof
