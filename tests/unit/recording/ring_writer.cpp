// SPDX-License-Identifier: MIT
#include "ring_writer.h"

#include <sys/mman.h>

#include <cstring>

#include "tests/unit/recording/map_shared.h"

namespace stallprof::testing {

RingWriter::RingWriter(const std::string& path) {
  header_ = static_cast<stallprof_memory_header*>(mapShared(path, STALLPROF_MEMORY_BYTES));
  slots_ = reinterpret_cast<stallprof_slot*>(header_ + 1);
}

RingWriter::~RingWriter() { ::munmap(header_, STALLPROF_MEMORY_BYTES); }

void RingWriter::claim(std::uint32_t pid, std::uint64_t startTicks, std::size_t index) {
  slots_[index].owner = pid;
  slots_[index].start_ticks = startTicks;
  __atomic_add_fetch(&header_->claims, 1, __ATOMIC_RELEASE);
}

std::string RingWriter::record(std::uint16_t kind, std::uint64_t at,
                               const std::vector<Value>& values, std::uint32_t tid) {
  std::string body;
  for (const Value& value : values) {
    const auto* text = std::get_if<std::string>(&value);
    const std::int64_t number =
        text != nullptr ? static_cast<std::int64_t>(text->size()) : std::get<std::int64_t>(value);
    body.append(reinterpret_cast<const char*>(&number), 8);
    if (text != nullptr) body += *text;
    body.resize((body.size() + 7) / 8 * 8);
  }
  const stallprof_record header{static_cast<std::uint32_t>(sizeof(stallprof_record) + body.size()),
                                kind,
                                static_cast<std::uint16_t>(values.size()),
                                tid,
                                0,
                                at};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body;
}

bool RingWriter::reserve(std::size_t size, std::size_t index) {
  stallprof_slot& slot = slots_[index];
  const std::size_t at = slot.head % STALLPROF_RING_BYTES, toEnd = STALLPROF_RING_BYTES - at;
  const std::size_t padding = size > toEnd ? toEnd : 0;
  const std::uint64_t tail = __atomic_load_n(&slot.tail, __ATOMIC_ACQUIRE);
  if (size + padding > STALLPROF_RING_BYTES - (slot.head - tail)) return false;
  if (padding > 0) {
    const stallprof_record pad{static_cast<std::uint32_t>(padding), 0, 0, 0, 0, 0};
    std::memcpy(slot.data + at, &pad, std::min(padding, sizeof pad));
    slot.head += padding;
  }
  return true;
}

bool RingWriter::put(std::uint16_t kind, std::uint64_t at, const std::vector<Value>& values,
                     std::uint32_t tid, std::size_t index) {
  const std::string bytes = record(kind, at, values, tid);
  if (!reserve(bytes.size(), index)) {
    ++slots_[index].dropped;
    return false;
  }
  putRaw(bytes, index);
  return true;
}

void RingWriter::putRaw(const std::string& bytes, std::size_t index) {
  stallprof_slot& slot = slots_[index];
  std::memcpy(slot.data + slot.head % STALLPROF_RING_BYTES, bytes.data(), bytes.size());
  __atomic_store_n(&slot.head, slot.head + bytes.size(), __ATOMIC_RELEASE);
}

}  // namespace stallprof::testing
