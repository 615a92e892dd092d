// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "recording/memory/activity_memory.h"

namespace stallprof {

// A copy of what precedes the names and buffers of an area, as it was at one reading. Untrusted.
struct AreaControl {
  std::uint32_t owner = 0, state = 0;
  std::uint64_t startTicks = 0;
  std::uint32_t cuptiVersion = 0, driverVersion = 0;
  std::int32_t error = 0;
  std::uint32_t reserved0 = 0;
  char why[256] = {};
  std::uint64_t flushed = 0, dropped = 0, starved = 0, nameHead = 0, namesLost = 0, clockHead = 0,
                switchHead = 0, agentCpu = 0;
  std::uint32_t stride[STALLPROF_ACTIVITY_KINDS] = {};
  stallprof_activity_buffer buffer[STALLPROF_ACTIVITY_BUFFERS] = {};
  stallprof_clock_pair clock[STALLPROF_ACTIVITY_CLOCKS] = {};
  stallprof_switch onoff[STALLPROF_ACTIVITY_SWITCHES] = {};
};
// The bytes of an area's control part, of which AreaControl is the copy, byte for byte.
inline constexpr std::size_t kAreaControlBytes = sizeof(AreaControl);
static_assert(offsetof(AreaControl, startTicks) == offsetof(stallprof_activity_area, start_ticks));
static_assert(offsetof(AreaControl, why) == offsetof(stallprof_activity_area, why));
static_assert(offsetof(AreaControl, flushed) == offsetof(stallprof_activity_area, flushed));
static_assert(offsetof(AreaControl, agentCpu) == offsetof(stallprof_activity_area, agent_cpu));
static_assert(offsetof(AreaControl, stride) == offsetof(stallprof_activity_area, stride));
static_assert(offsetof(AreaControl, buffer) == offsetof(stallprof_activity_area, buffer));
static_assert(offsetof(AreaControl, clock) == offsetof(stallprof_activity_area, clock));
static_assert(offsetof(AreaControl, onoff) == offsetof(stallprof_activity_area, onoff));
static_assert(kAreaControlBytes <= offsetof(stallprof_activity_area, names));

}  // namespace stallprof
