// SPDX-License-Identifier: MIT
#pragma once

namespace stallprof {

// The recorder's own name, limits and priority, never real-time; the job's stay as they are. Its
// slice is the usual one: with 0.1 or 0.3 ms instead of 3 it waits for a CPU about as long (5 ms
// beside two busy processes a CPU, 30 to 50 ms beside eight), and is interrupted within a round of
// samples, which then is of no one instant.
void becomeBackground();

}  // namespace stallprof
