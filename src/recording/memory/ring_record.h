// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "event/event_out.h"

namespace stallprof {

// Whose records a slot holds; `thread` as in EventMemory::Identities.
struct RecordOwner {
  ProcessId process;
  const std::function<ThreadId(ProcessId process, std::uint32_t tid)>& thread;
};

// Puts the event of one record of the event memory (event_memory.h) into `out`; padding is nothing.
// `record` is a private copy, untrusted, of `size` bytes as its first word says. False, and nothing
// put: it cannot be what it claims, or is of a kind the job may not write.
[[nodiscard]] bool putRecord(std::span<const std::uint8_t> record, const RecordOwner& owner,
                             EventOut& out);

}  // namespace stallprof
