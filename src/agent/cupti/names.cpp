// SPDX-License-Identifier: MIT
#include "agent/cupti/names.h"

#include <sched.h>
#include <string.h>

#include <atomic>

namespace stallprof::agent {
namespace {

constexpr std::uint32_t kNoRoom = STALLPROF_NAME_NUMBERS - 1;

template <class T>
std::atomic_ref<T> shared(T& value) {
  return std::atomic_ref<T>(value);
}

// FNV-1a over words: enough to notice that the text at an address is another one.
std::uint64_t hashOf(const char* text, std::size_t length) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ length;
  for (; length >= 8; length -= 8, text += 8) {
    std::uint64_t word;
    memcpy(&word, text, 8);
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  for (; length != 0; --length, ++text)
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  return hash;
}

bool writeToLog(stallprof_activity_area& area, const stallprof_name& entry) {
  const std::uint64_t head = area.name_head;
  const std::uint64_t whole =
      sizeof entry + ((std::uint64_t{entry.length} + 7) & ~std::uint64_t{7});
  if (head > STALLPROF_NAME_BYTES || whole > STALLPROF_NAME_BYTES - head) return false;
  memcpy(area.names + head, &entry, sizeof entry);
  if (entry.length != 0)
    memcpy(area.names + head + sizeof entry, reinterpret_cast<const void*>(entry.pointer),
           entry.length);
  shared(area.name_head).store(head + whole, std::memory_order_release);
  return true;
}

}  // namespace

std::uint32_t Names::nextBuffer() { return shared(buffers_).fetch_add(1) + 1; }

Names::Entry* Names::find(std::uint64_t pointer) {
  auto at = static_cast<std::uint32_t>((pointer * 0x9e3779b97f4a7c15u) >> 50);
  static_assert(kEntries == 1u << (64 - 50));
  for (std::uint32_t tries = 0; tries < kEntries; ++tries, at = (at + 1) % kEntries) {
    const std::uint64_t there = shared(entries_[at].pointer).load(std::memory_order_acquire);
    if (there == pointer || there == 0) return &entries_[at];
  }
  return nullptr;
}

// Under the lock. There is always room: no more than kMaxUsed texts get a number.
Names::Known& Names::findText(std::uint64_t hash) {
  auto at = static_cast<std::uint32_t>(hash % kEntries);
  while (texts_[at].number != 0 && texts_[at].hash != hash) at = (at + 1) % kEntries;
  return texts_[at];
}

std::uint32_t Names::numberOf(stallprof_activity_area& area, std::uint64_t pointer,
                              std::uint32_t buffer) {
  if (pointer < STALLPROF_NAME_NUMBERS) return 0;  // no name, or no pointer
  Entry* entry = find(pointer);
  if (entry != nullptr && shared(entry->pointer).load(std::memory_order_relaxed) == pointer &&
      shared(entry->buffer).load(std::memory_order_relaxed) == buffer)
    return shared(entry->number).load(std::memory_order_relaxed);
  // No CUPTI call is made under this lock, so that none of its locks can meet ours.
  while (shared(lock_).exchange(1, std::memory_order_acquire) != 0) sched_yield();
  entry = find(pointer);  // somebody may have been faster
  const bool room = entry != nullptr && (entry->pointer == pointer || used_ < kMaxUsed);
  const std::uint32_t number =
      room ? learn(area, *entry, pointer, buffer) : (++area.names_lost, kNoRoom);
  shared(lock_).store(0, std::memory_order_release);
  return number;
}

std::uint32_t Names::learn(stallprof_activity_area& area, Entry& entry, std::uint64_t pointer,
                           std::uint32_t buffer) {
  const auto* text = reinterpret_cast<const char*>(pointer);
  const std::size_t length = strnlen(text, STALLPROF_NAME_LIMIT);
  const std::uint64_t hash = hashOf(text, length);
  if (entry.pointer != pointer || entry.hash != hash) {
    if (entry.pointer != pointer) ++used_;
    entry.hash = hash;
    shared(entry.number)
        .store(numberOfText(area, pointer, hash, static_cast<std::uint32_t>(length)),
               std::memory_order_relaxed);
  }
  shared(entry.buffer).store(buffer, std::memory_order_relaxed);
  shared(entry.pointer).store(pointer, std::memory_order_release);
  return entry.number;
}

// Of a known text only the new address is logged, and not into the last half of the log, which is
// for texts: addresses serve buffers that are never returned alone.
std::uint32_t Names::numberOfText(stallprof_activity_area& area, std::uint64_t pointer,
                                  std::uint64_t hash, std::uint32_t length) {
  Known& known = findText(hash);
  if (known.number != 0) {
    if (area.name_head < STALLPROF_NAME_BYTES / 2) writeToLog(area, {pointer, known.number, 0});
    return known.number;
  }
  if (numbers_ >= kMaxUsed || !writeToLog(area, {pointer, numbers_ + 1, length})) {
    ++area.names_lost;
    return kNoRoom;
  }
  known = {hash, ++numbers_};
  return known.number;
}

void Names::forgetPointers(stallprof_activity_area& area) {
  while (shared(lock_).exchange(1, std::memory_order_acquire) != 0) sched_yield();
  memset(entries_, 0, sizeof entries_);
  used_ = 0;
  writeToLog(area, {0, 0, 0});
  shared(lock_).store(0, std::memory_order_release);
}

}  // namespace stallprof::agent
