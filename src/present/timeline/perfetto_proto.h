// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// As much of Protocol Buffers' wire format as a Perfetto trace needs, and the field numbers of its
// messages (google/perfetto, protos/perfetto/trace/). No generated code, no library: an encoder of
// forty lines writes what the schema would.
namespace stallprof::perfetto {

enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// A message being written. Numbers only grow it, so a field can be a message written before.
class Message {
 public:
  Message& number(std::uint32_t field, std::uint64_t value) {
    key(field, Wire::kVarint);
    varint(value);
    return *this;
  }
  Message& integer(std::uint32_t field, std::int64_t value) {  // int32, int64: two's complement
    return number(field, static_cast<std::uint64_t>(value));
  }
  Message& fixed(std::uint32_t field, std::uint64_t value) {
    key(field, Wire::kFixed64);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xff);
    return *this;
  }
  Message& real(std::uint32_t field, double value) {
    std::uint64_t bits = 0;
    static_assert(sizeof bits == sizeof value);
    std::memcpy(&bits, &value, sizeof bits);
    return fixed(field, bits);
  }
  Message& text(std::uint32_t field, std::string_view value) {
    key(field, Wire::kBytes);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(std::uint32_t field, const Message& value) { return text(field, value.bytes_); }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  void key(std::uint32_t field, Wire wire) {
    varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

namespace trace {
inline constexpr std::uint32_t kPacket = 1;
}
namespace packet {
inline constexpr std::uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11,
                               kInternedData = 12, kSequenceFlags = 13, kTrackDescriptor = 60,
                               kCompressed = 50, kCompressedZstd = 133;
inline constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;  // sequence_flags
}  // namespace packet
namespace clock {
inline constexpr std::uint32_t kClocks = 1, kId = 1, kTimestamp = 2;
inline constexpr std::uint64_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;
}  // namespace clock
namespace track {
inline constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5,
                               kCounter = 8;
inline constexpr std::uint32_t kProcessPid = 1, kProcessName = 6;
inline constexpr std::uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
inline constexpr std::uint32_t kCounterUnitName = 6;
}  // namespace track
namespace event {
inline constexpr std::uint32_t kCategoryIid = 3, kAnnotation = 4, kType = 9, kNameIid = 10,
                               kTrack = 11, kName = 23, kCounterInteger = 30, kCounterReal = 44,
                               kFlow = 47, kFlowEnd = 48;
inline constexpr std::uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;  // type
}  // namespace event
namespace annotation {
inline constexpr std::uint32_t kNameIid = 1, kInteger = 4, kReal = 5, kText = 6, kName = 10;
}
namespace interned {
inline constexpr std::uint32_t kCategories = 1, kEventNames = 2, kAnnotationNames = 3;
inline constexpr std::uint32_t kIid = 1, kName = 2;  // of each entry
}  // namespace interned

}  // namespace stallprof::perfetto
