// SPDX-License-Identifier: MIT
#include "agent/event_slot.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "agent/system.h"
#include "recording/event_memory.h"

namespace stallprof::agent {
namespace {

// A record takes well under a microsecond to write; beyond this many tries its writer is off its
// CPU, and waiting for it would cost the job.
constexpr int kTries = 200;
// With all slots taken, a free one is looked for again only so often (puts).
constexpr std::uint32_t kRetry = 1024;

stallprof_memory_header* memory;
std::atomic<stallprof_slot*> slot;
std::atomic<bool> writing;
std::uint32_t putsToSkip;

stallprof_slot* claim() {
  auto* slots = reinterpret_cast<stallprof_slot*>(memory + 1);
  const auto pid = static_cast<std::uint32_t>(getpid());
  for (std::uint32_t i = 0; i < STALLPROF_MEMORY_SLOTS; ++i) {
    stallprof_slot& s = slots[(pid + i) % STALLPROF_MEMORY_SLOTS];
    std::uint32_t none = 0;
    if (!std::atomic_ref<std::uint32_t>(s.owner).compare_exchange_strong(none, pid)) continue;
    s.start_ticks = startTicks();
    return &s;
  }
  return nullptr;
}

bool lock() {
  for (int i = 0; i < kTries; ++i) {
    if (!writing.load(std::memory_order_relaxed) &&
        !writing.exchange(true, std::memory_order_acquire))
      return true;
  }
  return false;
}

bool isOpen() {
  return memory != nullptr && std::atomic_ref<std::uint32_t>(memory->closed).load() == 0;
}

// With the lock held.
stallprof_slot* ownSlot() {
  stallprof_slot* mine = slot.load(std::memory_order_relaxed);
  if (mine != nullptr) return mine;
  if (putsToSkip != 0) return --putsToSkip, nullptr;
  mine = claim();
  if (mine == nullptr) putsToSkip = kRetry;
  slot = mine;
  return mine;
}

std::uint32_t padded(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + 7) & ~std::uint64_t{7});
}

std::uint8_t* copy(std::uint8_t* to, const void* from, std::size_t bytes) {
  memcpy(to, from, bytes);
  return to + bytes;
}

// Where `size` bytes fit in one piece; `head` is moved behind them. Null: no room.
std::uint8_t* reserve(stallprof_slot& s, std::uint32_t size, std::uint64_t& head) {
  const std::uint64_t tail = std::atomic_ref<std::uint64_t>(s.tail).load(std::memory_order_acquire);
  const std::uint64_t used = head - tail;
  const auto at = static_cast<std::uint32_t>(head % STALLPROF_RING_BYTES);
  const std::uint32_t toEnd = STALLPROF_RING_BYTES - at;
  const std::uint32_t padding = size > toEnd ? toEnd : 0;
  if (used > STALLPROF_RING_BYTES || size + padding > STALLPROF_RING_BYTES - used) return nullptr;
  if (padding != 0) {  // of what may be less than a header, its first word: size and kind 0
    stallprof_record pad{};
    pad.size = padding;
    memcpy(s.data + at, &pad, padding < sizeof pad ? padding : sizeof pad);
  }
  head += padding + size;
  return padding != 0 ? s.data : s.data + at;
}

bool write(stallprof_slot& s, stallprof_record record, const Value* values) {
  for (int i = 0; i < record.values; ++i)
    record.size += 8 + (values[i].text != nullptr ? padded(values[i].number) : 0);
  std::uint64_t head = s.head;
  std::uint8_t* out = reserve(s, record.size, head);
  if (out == nullptr) return false;
  out = copy(out, &record, sizeof record);
  for (int i = 0; i < record.values; ++i) {
    out = copy(out, &values[i].number, 8);
    if (values[i].text == nullptr) continue;
    const std::uint32_t whole = padded(values[i].number);
    if (whole != 0) memset(out + whole - 8, 0, 8);
    memcpy(out, values[i].text, values[i].number);
    out += whole;
  }
  std::atomic_ref<std::uint64_t>(s.head).store(head, std::memory_order_release);
  return true;
}

}  // namespace

bool openEvents() {
  if (memory != nullptr) return true;
  const char* path = getenv(STALLPROF_MEMORY_VARIABLE);
  if (path == nullptr) return false;
  auto* m = static_cast<stallprof_memory_header*>(mapShared(path, STALLPROF_MEMORY_BYTES));
  if (m == nullptr || m->magic != STALLPROF_MEMORY_MAGIC ||
      m->version != STALLPROF_MEMORY_VERSION || m->slots != STALLPROF_MEMORY_SLOTS ||
      m->ring_bytes != STALLPROF_RING_BYTES)
    return false;
  memory = m;
  return true;
}

void putEvent(std::uint16_t kind, std::uint64_t at, std::uint32_t tid, const Value* values,
              std::uint16_t count) {
  if (!isOpen()) return;
  if (!lock()) return dropEvent();
  stallprof_slot* mine = ownSlot();
  stallprof_record record{};
  record.size = sizeof record;
  record.kind = kind;
  record.values = count;
  record.tid = tid;
  record.at = at;
  const bool written = mine != nullptr && write(*mine, record, values);
  writing.store(false, std::memory_order_release);
  if (!written) dropEvent();
}

void dropEvent() {
  stallprof_slot* mine = slot.load(std::memory_order_relaxed);
  if (mine != nullptr) std::atomic_ref<std::uint64_t>(mine->dropped).fetch_add(1);
}

void forgetEvents() {
  slot = nullptr;
  writing = false;
  putsToSkip = 0;
}

}  // namespace stallprof::agent
