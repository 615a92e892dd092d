// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/line_table.h"

namespace stallprof::python {
namespace {

using Table = std::span<const std::uint8_t>;

std::uint32_t credible(std::int64_t line) {
  return line > 0 && line < (1 << 30) ? static_cast<std::uint32_t>(line) : 0;
}

std::uint32_t lnotab(Table table, std::int64_t line, std::int64_t index) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    begin += table[i];
    if (begin > index) break;
    line += static_cast<std::int8_t>(table[i + 1]);
  }
  return credible(line);
}

std::uint32_t linetable(Table table, std::int64_t line, std::int64_t index) {
  constexpr std::int8_t kNone = -128;
  std::int64_t end = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto delta = static_cast<std::int8_t>(table[i + 1]);
    end += table[i];
    if (delta != kNone) line += delta;
    if (end > index) return delta == kNone ? 0 : credible(line);
  }
  return 0;
}

// The variable-length integers of a location table: six bits a byte, least significant first.
class Locations {
 public:
  explicit Locations(Table table) : table_(table) {}
  [[nodiscard]] bool atEnd() const { return next_ >= table_.size(); }
  std::uint8_t byte() { return atEnd() ? 0 : table_[next_++]; }
  void skip(std::size_t bytes) { next_ += bytes; }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 6) {
      const std::uint8_t part = byte();
      if (shift < 36) value |= std::uint64_t{part & 63u} << shift;
      if ((part & 64) == 0 || atEnd()) return value;
    }
  }
  std::int64_t signedNumber() {
    const std::uint64_t value = number();
    const auto half = static_cast<std::int64_t>(value >> 1);
    return (value & 1) != 0 ? -half : half;
  }

 private:
  Table table_;
  std::size_t next_ = 0;
};

// Kinds of entry, Objects/locations.md: 0-9 short, 10-12 one line with a delta of kind - 10.
constexpr unsigned kOneLine = 10, kNoColumns = 13, kLongEntry = 14, kNoLocation = 15;

std::uint32_t locations(Table table, std::int64_t line, std::int64_t index) {
  Locations in(table);
  for (std::int64_t begin = 0; !in.atEnd();) {
    const std::uint8_t head = in.byte();
    const unsigned kind = (head >> 3) & 15u;
    const std::int64_t end = begin + (head & 7) + 1;
    if (kind == kLongEntry) {
      line += in.signedNumber();
      for (int i = 0; i < 3; ++i) in.number();  // end line, columns
    } else if (kind == kNoColumns) {
      line += in.signedNumber();
    } else if (kind >= kOneLine && kind < kNoColumns) {
      line += kind - kOneLine;
      in.skip(2);
    } else if (kind < kOneLine) {
      in.skip(1);
    }
    if (index < end) return kind == kNoLocation ? 0 : credible(line);
    begin = end;
  }
  return 0;
}

}  // namespace

std::uint32_t lineOf(LineFormat format, Table table, std::uint32_t firstLine, std::int64_t index) {
  if (index < 0) return credible(firstLine);
  switch (format) {
    case LineFormat::kLnotab:
      return lnotab(table, firstLine, index);
    case LineFormat::kLinetable:
      return linetable(table, firstLine, index);
    case LineFormat::kLocations:
      return locations(table, firstLine, index);
  }
  return 0;
}

}  // namespace stallprof::python
