// SPDX-License-Identifier: MIT
#include "agent/cupti/buffers.h"

#include <string.h>

#include "agent/cupti/agent.h"
#include "agent/cupti/callers.h"
#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

using StateRef = std::atomic_ref<std::uint32_t>;
using CountRef = std::atomic_ref<std::uint64_t>;

// For a CUPTI before 12.9, which crashes when it gets no buffer, and in a forked child: writes to
// it go nowhere. Many threads may write to it at one time; nobody reads it.
alignas(4096) std::uint8_t nowhere[256u * 1024u];

std::atomic<std::uint32_t> nextTry;                              // where the last free buffer was
std::atomic<std::uint64_t> takenAt[STALLPROF_ACTIVITY_BUFFERS];  // CLOCK_MONOTONIC

std::uint8_t* takeBuffer(stallprof_activity_area& area) {
  const std::uint32_t first = nextTry.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < STALLPROF_ACTIVITY_BUFFERS; ++i) {
    const std::uint32_t n = (first + i) % STALLPROF_ACTIVITY_BUFFERS;
    StateRef state(area.buffer[n].state);
    std::uint32_t expected = STALLPROF_BUFFER_FREE;
    if (state.load(std::memory_order_relaxed) != expected ||
        !state.compare_exchange_strong(expected, STALLPROF_BUFFER_TAKEN))
      continue;
    takenAt[n].store(monotonicNs(), std::memory_order_release);
    nextTry.store(n + 1, std::memory_order_relaxed);
    return area.data[n];
  }
  return nullptr;
}

// Which buffer of the area this is; -1: none of them.
int indexOf(const stallprof_activity_area& area, const std::uint8_t* buffer) {
  const auto* first = &area.data[0][0];
  if (buffer < first || buffer >= first + sizeof area.data) return -1;
  return static_cast<int>((buffer - first) / STALLPROF_ACTIVITY_BUFFER_BYTES);
}

struct Walk {
  std::uint64_t kernels = 0, invalid = 0, calls = 0;
};

void learnStride(stallprof_activity_area& area, std::uint32_t kind, std::size_t bytes) {
  if (kind >= STALLPROF_ACTIVITY_KINDS) return;
  StateRef stride(area.stride[kind]);
  if (stride.load(std::memory_order_relaxed) != bytes)
    stride.store(static_cast<std::uint32_t>(bytes), std::memory_order_relaxed);
}

bool isKernel(std::uint32_t kind) {
  return kind == cupti::kConcurrentKernel || kind == cupti::kKernel;
}

// How long records are, only the library knows: it walks. A record's length is where the next one
// begins.
Walk numberNames(stallprof_activity_area& area, std::uint8_t* buffer, std::size_t valid) {
  Walk walk;
  const std::uint32_t generation = agent.names.nextBuffer();
  void* record = nullptr;
  const std::uint8_t* last = nullptr;
  CuptiResult result = kCuptiSuccess;
  while ((result = agent.cupti.nextRecord(buffer, valid, &record)) == kCuptiSuccess) {
    auto* at = static_cast<cupti::KernelRecord*>(record);
    if (last != nullptr)
      learnStride(area, *reinterpret_cast<const std::uint32_t*>(last),
                  static_cast<std::size_t>(static_cast<std::uint8_t*>(record) - last));
    last = static_cast<std::uint8_t*>(record);
    if (isKernel(at->kind)) {
      at->name = agent.names.numberOf(area, at->name, generation);
      ++walk.kernels;
      walk.invalid += at->start == 0 || at->end < at->start;
    } else if (at->kind == cupti::kDevice) {
      auto* device = static_cast<cupti::DeviceRecord*>(record);
      device->name = agent.names.numberOf(area, device->name, generation);
    } else if (at->kind == cupti::kRuntime || at->kind == cupti::kDriver) {
      noteCaller(static_cast<const cupti::CallRecord*>(record)->thread);
      ++walk.calls;
    }
  }
  // Where the walk broke off, what follows the last is not its own.
  if (last != nullptr && result == kCuptiNoMoreRecords)
    learnStride(area, *reinterpret_cast<const std::uint32_t*>(last),
                static_cast<std::size_t>(buffer + valid - last));
  return walk;
}

}  // namespace

Held heldBuffers(std::uint64_t before) {
  stallprof_activity_area& area = *agent.memory.area;
  Held held{0, before};
  for (std::uint32_t n = 0; n < STALLPROF_ACTIVITY_BUFFERS; ++n) {
    if (StateRef(area.buffer[n].state).load(std::memory_order_acquire) != STALLPROF_BUFFER_TAKEN)
      continue;
    const std::uint64_t taken = takenAt[n].load(std::memory_order_acquire);
    if (taken >= before) continue;
    ++held.count;
    if (taken < held.since) held.since = taken;
  }
  return held;
}

void takeBack() {
  stallprof_activity_area& area = *agent.memory.area;
  for (std::uint32_t n = 0; n < STALLPROF_ACTIVITY_BUFFERS; ++n) {
    StateRef state(area.buffer[n].state);
    if (state.load(std::memory_order_acquire) != STALLPROF_BUFFER_TAKEN) continue;
    memset(area.data[n], 0, sizeof area.data[n]);
    state.store(STALLPROF_BUFFER_FREE, std::memory_order_release);
  }
}

void countDropped() {
  std::size_t dropped = 0;
  if (agent.cupti.droppedRecords(nullptr, 0, &dropped) == kCuptiSuccess && dropped != 0)
    CountRef(agent.memory.area->dropped).fetch_add(dropped, std::memory_order_relaxed);
}

void requestBuffer(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords) {
  *maxRecords = 0;
  const bool off = agent.off.load(std::memory_order_relaxed);
  if (!off) {
    *size = STALLPROF_ACTIVITY_BUFFER_BYTES;
    if ((*buffer = takeBuffer(*agent.memory.area)) != nullptr) {
      agent.taken.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    CountRef(agent.memory.area->starved).fetch_add(1, std::memory_order_relaxed);
  }
  *buffer = off || agent.cupti.version < cupti::k12_9 ? nowhere : nullptr;
  *size = *buffer != nullptr ? sizeof nowhere : 0;
}

void completeBuffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (agent.off.load(std::memory_order_relaxed)) return;
  stallprof_activity_area& area = *agent.memory.area;
  const int n = indexOf(area, buffer);
  if (n < 0) return;
  if (valid > STALLPROF_ACTIVITY_BUFFER_BYTES) valid = STALLPROF_ACTIVITY_BUFFER_BYTES;
  const Walk walk = numberNames(area, buffer, valid);
  agent.kernels.fetch_add(walk.kernels, std::memory_order_relaxed);
  agent.invalid.fetch_add(walk.invalid, std::memory_order_relaxed);
  agent.calls.fetch_add(walk.calls, std::memory_order_relaxed);
  agent.delivered.fetch_add(valid != 0, std::memory_order_relaxed);
  area.buffer[n].bytes = valid;
  StateRef(area.buffer[n].state)
      .store(valid != 0 ? STALLPROF_BUFFER_FULL : STALLPROF_BUFFER_FREE, std::memory_order_release);
  countDropped();
}

}  // namespace stallprof::agent
