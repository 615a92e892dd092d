// SPDX-License-Identifier: MIT
#include "activity_writer.h"

#include <sys/mman.h>

#include <cstring>
#include <initializer_list>
#include <stdexcept>

#include "tests/unit/recording/map_shared.h"

namespace stallprof::testing {
namespace {

template <class T>
void put(std::uint8_t* record, std::size_t offset, T value) {
  std::memcpy(record + offset, &value, sizeof value);
}
// Numbers of 32 bits one after the other.
void putRow(std::uint8_t* record, std::size_t offset, std::initializer_list<std::uint32_t> row) {
  for (const std::uint32_t number : row) {
    put(record, offset, number);
    offset += sizeof number;
  }
}
void putTimes(std::uint8_t* record, std::size_t offset, CuptiBytes::Times when) {
  put(record, offset, when.start);
  put(record, offset + 8, when.end);
}
// What copies and sets have in common.
void putMoved(std::uint8_t* record, CuptiBytes::Times when, std::uint64_t bytes,
              std::uint32_t device) {
  put(record, 8, bytes);
  putTimes(record, 16, when);
  putRow(record, 32, {device, 1 + device, 7});
}

}  // namespace

// Sizes of the structs in cupti_activity.h of 11.8 (18), 12.0 (19), 12.8 (26) and 13.0 (130000).
std::uint32_t CuptiBytes::sizeOf(std::uint32_t kind, std::uint32_t version) {
  const bool from12 = version >= 19, from128 = version >= 26, from13 = version >= 130000;
  switch (kind) {
    case 1:
      return from128 ? 96 : 88;
    case 2:
      return 88;
    case 3:
    case 10:
      return from13 ? 216 : from12 ? 208 : 200;
    case 4:
    case 5:
      return 40;
    case 8:
      return from128 ? 184 : 176;
    case 17:
    case 38:
      return from128 ? 56 : 40;
    case 22:
      return 96;
    case 51:
      return from128 ? 56 : 48;
    default:
      return 0;
  }
}

std::uint8_t* CuptiBytes::add(std::uint32_t kind) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + sizeOf(kind, version_), '\x5a');
  auto* record = reinterpret_cast<std::uint8_t*>(bytes_.data() + at);
  put(record, 0, kind);
  return record;
}

CuptiBytes& CuptiBytes::kernel(Times when, std::uint64_t name, std::uint32_t stream,
                               std::uint32_t device, std::uint32_t correlation,
                               std::uint32_t blocks) {
  std::uint8_t* record = add(10);
  putTimes(record, 16, when);
  putRow(record, 40, {device, 1 + device, stream});
  const std::int32_t sides[6] = {static_cast<std::int32_t>(blocks), 1, 1, 128, 2, 1};
  std::memcpy(record + 52, sides, sizeof sides);
  put(record, 92, correlation);
  put(record, 104, name);
  return *this;
}

CuptiBytes& CuptiBytes::copy(Times when, std::uint64_t bytes, std::uint8_t kind,
                             std::uint8_t hostMemory, std::uint32_t device) {
  std::uint8_t* record = add(1);
  record[4] = kind;
  record[5] = kind == 1 ? hostMemory : 3;
  record[6] = kind == 2 ? hostMemory : 3;
  putMoved(record, when, bytes, device);
  put(record, 44, std::uint32_t{9});
  return *this;
}

CuptiBytes& CuptiBytes::peerCopy(Times when, std::uint64_t bytes, std::uint32_t device) {
  std::uint8_t* record = add(22);
  record[4] = 10;
  putMoved(record, when, bytes, device);
  put(record, 60, std::uint32_t{9});
  return *this;
}

CuptiBytes& CuptiBytes::set(Times when, std::uint64_t bytes, std::uint32_t device) {
  std::uint8_t* record = add(2);
  putMoved(record, when, bytes, device);
  put(record, 44, std::uint32_t{9});
  return *this;
}

CuptiBytes& CuptiBytes::call(Times when, std::uint32_t cbid, std::uint32_t thread, bool driver,
                             std::uint32_t correlation) {
  std::uint8_t* record = add(driver ? 4 : 5);
  put(record, 4, cbid);
  putTimes(record, 8, when);
  putRow(record, 24, {42, thread, correlation, 0});
  return *this;
}

CuptiBytes& CuptiBytes::sync(Times when, std::uint32_t type) {
  std::uint8_t* record = add(38);
  put(record, 4, type);
  putTimes(record, 8, when);
  putRow(record, 24, {9, 1, 7});
  return *this;
}

CuptiBytes& CuptiBytes::graph(Times when, std::uint32_t device) {
  std::uint8_t* record = add(51);
  put(record, 4, std::uint32_t{9});
  putTimes(record, 8, when);
  putRow(record, 24, {device, 3, 1, 7});
  return *this;
}

CuptiBytes& CuptiBytes::overhead(Times when, std::uint32_t kind, std::uint32_t thread) {
  std::uint8_t* record = add(17);
  putRow(record, 4, {kind, 2, 42, thread});
  putTimes(record, 24, when);
  return *this;
}

CuptiBytes& CuptiBytes::device(std::uint32_t ordinal, std::uint64_t name, std::uint8_t uuidByte,
                               bool mig) {
  std::uint8_t* record = add(8);
  put(record, 16, std::uint64_t{80} << 30);
  put(record, 44, std::uint32_t{132});
  putRow(record, 104, {9, 0, ordinal});
  std::memset(record + 120, uuidByte, 16);
  put(record, 136, name);
  record[145] = mig;
  std::memset(record + 160, mig ? uuidByte + 1 : 0, 16);
  return *this;
}

AreaWriter::AreaWriter(const std::string& path) {
  header_ = static_cast<stallprof_activity_header*>(mapShared(path, STALLPROF_ACTIVITY_BYTES));
  areas_ = reinterpret_cast<stallprof_activity_area*>(header_ + 1);
}

AreaWriter::~AreaWriter() { ::munmap(header_, STALLPROF_ACTIVITY_BYTES); }

void AreaWriter::claim(std::uint32_t pid, std::uint64_t startTicks, std::uint32_t version,
                       std::size_t index) {
  stallprof_activity_area& mine = area(index);
  mine.owner = pid;
  mine.start_ticks = startTicks;
  mine.cupti_version = version;
  mine.state = STALLPROF_AGENT_TRACING;
}

void AreaWriter::pair(std::uint64_t monotonic, std::uint64_t device, std::size_t index) {
  stallprof_activity_area& mine = area(index);
  mine.clock[mine.clock_head % STALLPROF_ACTIVITY_CLOCKS] = {monotonic, device, 100};
  __atomic_store_n(&mine.clock_head, mine.clock_head + 1, __ATOMIC_RELEASE);
}

void AreaWriter::turn(std::uint64_t monotonic, std::uint32_t on, std::size_t index) {
  stallprof_activity_area& mine = area(index);
  mine.onoff[mine.switch_head % STALLPROF_ACTIVITY_SWITCHES] = {monotonic, on, 0};
  __atomic_store_n(&mine.switch_head, mine.switch_head + 1, __ATOMIC_RELEASE);
}

std::uint32_t AreaWriter::name(std::uint64_t pointer, std::string_view text, std::size_t index) {
  stallprof_activity_area& mine = area(index);
  std::uint32_t number = 1;
  for (std::uint64_t at = 0; at < mine.name_head; ++number) {
    stallprof_name header{};
    std::memcpy(&header, mine.names + at, sizeof header);
    at += sizeof header + (header.length + 7) / 8 * 8;
  }
  const stallprof_name header{pointer, number, static_cast<std::uint32_t>(text.size())};
  std::memcpy(mine.names + mine.name_head, &header, sizeof header);
  std::memcpy(mine.names + mine.name_head + sizeof header, text.data(), text.size());
  mine.name_head += sizeof header + (text.size() + 7) / 8 * 8;
  return number;
}

std::size_t AreaWriter::put(const CuptiBytes& records, std::uint32_t state, std::size_t index) {
  stallprof_activity_area& mine = area(index);
  for (std::uint32_t kind = 0; kind < STALLPROF_ACTIVITY_KINDS; ++kind)
    if (CuptiBytes::sizeOf(kind, records.version()) != 0)
      mine.stride[kind] = CuptiBytes::sizeOf(kind, records.version());
  for (std::size_t i = 0; i < STALLPROF_ACTIVITY_BUFFERS; ++i) {
    if (mine.buffer[i].state != STALLPROF_BUFFER_FREE) continue;
    std::memcpy(mine.data[i], records.bytes().data(), records.bytes().size());
    mine.buffer[i].bytes = state == STALLPROF_BUFFER_FULL ? records.bytes().size() : 0;
    __atomic_store_n(&mine.buffer[i].state, state, __ATOMIC_RELEASE);
    return i;
  }
  throw std::runtime_error("no free buffer");
}

std::size_t AreaWriter::full(const CuptiBytes& records, std::size_t index) {
  return put(records, STALLPROF_BUFFER_FULL, index);
}
std::size_t AreaWriter::taken(const CuptiBytes& records, std::size_t index) {
  return put(records, STALLPROF_BUFFER_TAKEN, index);
}

}  // namespace stallprof::testing
