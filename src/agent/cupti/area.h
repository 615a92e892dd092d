// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "recording/memory/activity_memory.h"

namespace stallprof::agent {

// This process's part of the activity memory. Mapped once, never unmapped: CUPTI keeps pointers.
struct Area {
  stallprof_activity_header* header = nullptr;
  stallprof_activity_area* area = nullptr;  // null: none
};

// Maps the memory named `path` and claims a free area of it; nothing else stays mapped.
Area claimArea(const char* path);

// In a forked child: private zeros over the parent's area, which CUPTI, inherited, would write to.
void shadowArea(const Area& area);

void publishState(stallprof_activity_area& area, stallprof_agent_state state);
// Notes a switch, if it is one; the entry is whole before the reader can see it.
void publishOn(stallprof_activity_area& area, std::uint32_t on);
void publishClock(stallprof_activity_area& area, const stallprof_clock_pair& pair);

}  // namespace stallprof::agent
