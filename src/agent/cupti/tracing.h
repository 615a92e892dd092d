// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "recording/memory/activity_memory.h"

namespace stallprof::agent {

// Attaches to CUPTI: subscribes, sets attributes, registers the buffer callbacks and enables what
// `on` says. Called within cuInit, and on the agent's own thread when it takes CUPTI back.
// False: refused, and the area says why.
bool attach(std::uint32_t on);

// Switches to `on` and says that it traces: the first window of one that attached with nothing on.
void record(std::uint32_t on);

// Has every call of the program that would be recorded called back, or no more than health needs:
// shortly before the first window, to know which threads use CUDA.
void hearAll(bool all);

// Flushes, disables everything and unsubscribes, so that another tool can have CUPTI. The buffers
// stay: CUPTI may still return some.
void detach();

// The same, and CUPTI leaves the process until attach(): what it has once recorded costs every
// launch as long as it is there. Only where it can (Cupti::finalize), where we are its only
// subscriber, no other thread is within CUDA, and nothing is under way on the devices.
void leave();

// Unsubscribes alone: what is enabled, and the buffers, are another tool's by now.
void letGo();

// Switches what is recorded to `on` (STALLPROF_ON_...), and says so in the area: a kind counts as
// on only from when it is, and until it no longer is.
void switchTo(std::uint32_t on);

// A flush and a clock pair, which is returned (zeros: CUPTI has no clock, or gave up): what has
// ended before the call is in the area after it.
stallprof_clock_pair flush(std::uint32_t flag);

}  // namespace stallprof::agent
