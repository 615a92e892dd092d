// SPDX-License-Identifier: MIT
// What present/timeline/perfetto_proto.h writes, read back.
#pragma once

#include "present/timeline/perfetto_proto.h"

namespace stallprof::perfetto {

struct Field {
  std::uint32_t number = 0;
  Wire wire = Wire::kVarint;
  std::uint64_t value = 0;  // of a number
  std::string_view bytes;   // of text or a message
};

// The fields of a message, one by one, out of untrusted bytes; never past their end.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : left_(bytes) {}
  // False at the end, and where the bytes are no message: then `broken`.
  bool next(Field& field) {
    field = {};
    if (left_.empty() || broken_) return false;
    const std::uint64_t key = varint();
    field.number = static_cast<std::uint32_t>(key >> 3);
    field.wire = static_cast<Wire>(key & 7);
    if (key >> 3 == 0 || key >> 32 != 0) broken_ = true;
    switch (field.wire) {
      case Wire::kVarint:
        field.value = varint();
        break;
      case Wire::kFixed64:
        field.value = fixed(8);
        break;
      case Wire::kFixed32:
        field.value = fixed(4);
        break;
      case Wire::kBytes:
        field.bytes = take(varint());
        break;
      default:
        broken_ = true;  // groups: no message of Perfetto's has one
    }
    return !broken_;
  }
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    broken_ = true;
    return 0;
  }
  std::uint64_t fixed(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::string_view taken = take(bytes);
    for (std::size_t i = 0; i < taken.size(); ++i)
      value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(taken[i])) << (8 * i);
    return value;
  }
  std::string_view take(std::uint64_t count) {
    if (count > left_.size()) broken_ = true;
    if (broken_) return {};
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  std::string_view left_;
  bool broken_ = false;
};

}  // namespace stallprof::perfetto
