// SPDX-License-Identifier: MIT
#include "sampler/perf_rings/perf_records.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "recording/memory/event_memory.h"
#include "sampler/perf_rings/perf_ring.h"

namespace stallprof {
namespace {

// Since Linux 5.12; older headers lack its name.
constexpr std::uint16_t kBuildIdInside = 1u << 14;
constexpr std::size_t kHeader = sizeof(perf_event_header);
constexpr std::size_t kSampleFields = 40;     // of a sample: address, pid, tid, time, period
constexpr std::size_t kSampleRegisters = 40;  // in a sample: their layout, then one register
constexpr std::size_t kSampleStack = 56;      // behind the register: bytes, then the stack
constexpr std::size_t kMaxStack = 512;        // words
constexpr std::size_t kMapFields = 72;        // of MMAP2, up to its file name
constexpr std::size_t kNameField = 16;        // of COMM
constexpr std::size_t kMaxBuildId = 20;

template <class T>
T valueAt(std::span<const std::uint8_t> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// perf's clocks are the host's, now() is of the time namespace that the recorder is in.
Nanos namespaceOffset() {
  static const Nanos offset = [] {
    std::int64_t offsets[2];
    stallprof_time_offsets(offsets);
    return Nanos(offsets[0]);
  }();
  return offset;
}

Nanos timeAt(std::span<const std::uint8_t> bytes, std::size_t offset) {
  return Nanos(valueAt<std::int64_t>(bytes, offset)) + namespaceOffset();
}

// A name, up to the sample id at the record's end.
std::string textAt(std::span<const std::uint8_t> bytes, std::size_t offset) {
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + offset;
  return {text, ::strnlen(text, bytes.size() - offset - kSampleId)};
}

// As many words as the kernel could copy: it says so behind the room it left for them.
std::vector<std::uint64_t> stackOf(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kSampleStack + 8) return {};
  const auto room = valueAt<std::uint64_t>(bytes, kSampleStack);
  const std::size_t begin = kSampleStack + 8, rest = bytes.size() - begin;
  if (room == 0 || rest < 8 || room > rest - 8) return {};
  const auto copied = valueAt<std::uint64_t>(bytes, begin + room);
  std::vector<std::uint64_t> words(std::min<std::uint64_t>(std::min(room, copied) / 8, kMaxStack));
  std::memcpy(words.data(), bytes.data() + begin, words.size() * 8);
  return words;
}

std::optional<PerfRecord> sample(std::span<const std::uint8_t> bytes, std::uint16_t misc) {
  if (bytes.size() < kSampleFields) return std::nullopt;
  PerfRecord record;
  record.address = valueAt<std::uint64_t>(bytes, 8);
  record.pid = valueAt<std::uint32_t>(bytes, 16);
  record.tid = valueAt<std::uint32_t>(bytes, 20);
  record.at = timeAt(bytes, 24);
  record.period = Nanos(valueAt<std::int64_t>(bytes, 32));
  record.kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  if (bytes.size() >= kSampleRegisters + 16 &&
      valueAt<std::uint64_t>(bytes, kSampleRegisters) == PERF_SAMPLE_REGS_ABI_64) {
    record.userAddress = valueAt<std::uint64_t>(bytes, kSampleRegisters + 8);
    record.stack = stackOf(bytes);
  }
  return record;
}

std::optional<PerfRecord> mapping(std::span<const std::uint8_t> bytes, std::uint16_t misc) {
  if (bytes.size() < kMapFields + kSampleId) return std::nullopt;
  PerfRecord record;
  record.kind = PerfRecord::Kind::kMap;
  record.pid = valueAt<std::uint32_t>(bytes, 8);
  record.tid = valueAt<std::uint32_t>(bytes, 12);
  record.address = valueAt<std::uint64_t>(bytes, 16);
  record.bytes = valueAt<std::uint64_t>(bytes, 24);
  record.offset = valueAt<std::uint64_t>(bytes, 32);
  if ((misc & kBuildIdInside) != 0)
    record.build = hexOf(bytes.subspan(44, std::min<std::size_t>(bytes[40], kMaxBuildId)));
  else
    record.inode = valueAt<std::uint64_t>(bytes, 48);
  record.path = textAt(bytes, kMapFields);
  record.at = timeAt(bytes, bytes.size() - 8);
  return record;
}

std::optional<PerfRecord> task(std::span<const std::uint8_t> bytes, PerfRecord::Kind kind) {
  if (bytes.size() < 32) return std::nullopt;
  PerfRecord record;
  record.kind = kind;
  record.pid = valueAt<std::uint32_t>(bytes, 8);
  record.parentPid = valueAt<std::uint32_t>(bytes, 12);
  record.tid = valueAt<std::uint32_t>(bytes, 16);
  record.parentTid = valueAt<std::uint32_t>(bytes, 20);
  record.at = timeAt(bytes, 24);
  return record;
}

std::optional<PerfRecord> comm(std::span<const std::uint8_t> bytes, std::uint16_t misc) {
  if (bytes.size() < kNameField + kSampleId) return std::nullopt;
  PerfRecord record;
  const bool exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  record.kind = exec ? PerfRecord::Kind::kExec : PerfRecord::Kind::kName;
  record.pid = valueAt<std::uint32_t>(bytes, 8);
  record.tid = valueAt<std::uint32_t>(bytes, 12);
  record.comm = textAt(bytes, kNameField);
  record.at = timeAt(bytes, bytes.size() - 8);
  return record;
}

std::optional<PerfRecord> lost(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 24) return std::nullopt;
  PerfRecord record;
  record.kind = PerfRecord::Kind::kLost;
  record.count = valueAt<std::uint64_t>(bytes, 16);
  return record;
}

}  // namespace

std::optional<PerfRecord> readPerfRecord(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeader) return std::nullopt;
  const auto header = valueAt<perf_event_header>(bytes, 0);
  switch (header.type) {
    case PERF_RECORD_SAMPLE:
      return sample(bytes, header.misc);
    case PERF_RECORD_MMAP2:
      return mapping(bytes, header.misc);
    case PERF_RECORD_FORK:
      return task(bytes, PerfRecord::Kind::kFork);
    case PERF_RECORD_EXIT:
      return task(bytes, PerfRecord::Kind::kExit);
    case PERF_RECORD_COMM:
      return comm(bytes, header.misc);
    case PERF_RECORD_LOST:
      return lost(bytes);
    default:
      return std::nullopt;
  }
}

}  // namespace stallprof
