// SPDX-License-Identifier: MIT
#pragma once

namespace stallprof {

// The recorder's own name, limits and time slice; never real-time, and of the job's own priority.
// Where all CPUs are busy, a sampler that waits for one gets it when a thread of the job blocks,
// and sees too much of the job waiting: of steps of 12 ms that waited 53 % for data on two full
// CPUs the report said 5.9 points more with nice 5 (ten runs, 2 to 10), 1.8 more with this priority
// and slice (ten, -3 to 7), 2.9 with the kernel's slice of 3 ms (six, -1 to 6). Beside eight busy
// processes a CPU a round waited for 12 ms, and waits for 3.
void becomeBackground();

}  // namespace stallprof
