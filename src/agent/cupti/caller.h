// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace stallprof::agent {

// After cuInit one thread alone, the caller, calls CUPTI; everybody else asks it and waits no
// longer than a deadline. A call that does not come back is found that way, and nothing is asked
// of CUPTI any more (STALLPROF_AGENT_HUNG). A second thread, the ticker, asks for a flush a second.

enum class Order : std::uint32_t { kFlush, kTurn, kRelease, kRetake, kFinish };

// Starts both threads, once; from the first context's creation, since a process that only asks
// what there is should not get threads.
void startCaller();

// Asks, and waits. False: not done within `ns` (then CUPTI is given up), or not possible. Time in
// which the whole process is stopped does not count. kFinish is the last that is asked: a tick
// during the process's exit handlers would call into a CUPTI that is being taken down.
bool ask(Order order, std::uint64_t ns);

// Asks for a flush without waiting.
void flushSoon();

}  // namespace stallprof::agent
