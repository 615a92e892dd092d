// SPDX-License-Identifier: MIT
#include "agent/cupti/area.h"

#include <sys/mman.h>

#include <atomic>

#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

using OwnerRef = std::atomic_ref<std::uint32_t>;
using HeadRef = std::atomic_ref<std::uint64_t>;

bool isOurs(const stallprof_activity_header& h) {
  return h.magic == STALLPROF_ACTIVITY_MAGIC && h.version == STALLPROF_ACTIVITY_VERSION &&
         h.areas == STALLPROF_ACTIVITY_AREAS && h.closed == 0;
}

stallprof_activity_area* claim(stallprof_activity_area* areas) {
  const std::uint32_t pid = processId();
  for (std::uint32_t i = 0; i < STALLPROF_ACTIVITY_AREAS; ++i) {
    std::uint32_t none = 0;
    if (!OwnerRef(areas[i].owner).compare_exchange_strong(none, pid)) continue;
    areas[i].start_ticks = startTicks();
    return &areas[i];
  }
  return nullptr;
}

// The address space of a job under a limit (ulimit -v) is its own: 17 MiB of 272 stay.
void unmapOthers(stallprof_activity_area* areas, const stallprof_activity_area* mine) {
  const auto before = static_cast<std::size_t>(mine - areas);
  const std::size_t after = STALLPROF_ACTIVITY_AREAS - before - 1;
  if (before != 0) munmap(areas, before * sizeof *areas);
  if (after != 0) munmap(areas + before + 1, after * sizeof *areas);
}

}  // namespace

Area claimArea(const char* path) {
  void* at = mapShared(path, STALLPROF_ACTIVITY_BYTES);
  if (at == nullptr) return {};
  auto* header = static_cast<stallprof_activity_header*>(at);
  auto* areas = reinterpret_cast<stallprof_activity_area*>(header + 1);
  stallprof_activity_area* mine = isOurs(*header) ? claim(areas) : nullptr;
  if (mine == nullptr) {
    if (isOurs(*header)) OwnerRef(header->turned_away).fetch_add(1);
    munmap(at, STALLPROF_ACTIVITY_BYTES);
    return {};
  }
  unmapOthers(areas, mine);
  return {header, mine};
}

void shadowArea(const Area& area) {
  if (area.area != nullptr)
    mmap(area.area, sizeof *area.area, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void publishState(stallprof_activity_area& area, stallprof_agent_state state) {
  OwnerRef(area.state).store(state, std::memory_order_release);
}

void publishOn(stallprof_activity_area& area, std::uint32_t on) {
  const std::uint64_t head = area.switch_head;
  if (head != 0 && area.onoff[(head - 1) % STALLPROF_ACTIVITY_SWITCHES].on == on) return;
  area.onoff[head % STALLPROF_ACTIVITY_SWITCHES] = {monotonicNs(), on, 0};
  HeadRef(area.switch_head).store(head + 1, std::memory_order_release);
}

void publishClock(stallprof_activity_area& area, const stallprof_clock_pair& pair) {
  const std::uint64_t head = area.clock_head;
  area.clock[head % STALLPROF_ACTIVITY_CLOCKS] = pair;
  HeadRef(area.clock_head).store(head + 1, std::memory_order_release);
}

}  // namespace stallprof::agent
