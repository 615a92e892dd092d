// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "recording/memory/event_memory.h"

namespace stallprof::agent {

// This process's own slot of the event memory (recording/memory/event_memory.h); the hook has
// another. Many threads may put: they take turns, and one that would have to wait longer than a
// moment drops its record and counts it.

// Whether events have somewhere to go: maps the memory named by the environment, once.
bool openEvents();

using Value = stallprof_value;

// Puts a record of `kind` that thread `tid` made at `at` (CLOCK_MONOTONIC, ns).
void putEvent(std::uint16_t kind, std::uint64_t at, std::uint32_t tid, const Value* values,
              std::uint16_t count);

// Counts a record that was not even tried.
void dropEvent();

void forgetEvents();  // in a forked child: the parent's slot is not ours

}  // namespace stallprof::agent
