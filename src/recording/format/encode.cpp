// SPDX-License-Identifier: MIT
#include "recording/format/encode.h"

#include <array>
#include <type_traits>

#include "event/event.h"
#include "recording/format/byte_io.h"
#include "recording/format/format.h"

namespace stallprof {
namespace {

constexpr std::size_t kBodyLimit = 512, kMaxFields = 256;

// The fields of an event as the numbers that are written as varints.
struct FieldNumbers {
  std::array<std::uint64_t, kMaxFields> values;
  std::size_t count = 0;
  std::span<const std::uint32_t> localStrings;

  void operator()(const char*, StringId id) {
    const bool known = !id.none() && id.value <= localStrings.size();
    values[count++] = known ? localStrings[id.value - 1] : 0;
  }
  template <class Tag>
  void operator()(const char*, Id<Tag> id) {
    values[count++] = id.value;
  }
  void operator()(const char*, Nanos time) { values[count++] = zigzag(time.count()); }
  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void operator()(const char*, T value) {
    if constexpr (std::is_signed_v<T>)
      values[count++] = zigzag(value);
    else
      values[count++] = static_cast<std::uint64_t>(value);
  }
};

template <class P>
FieldNumbers numbersOf(const P& payload, std::span<const std::uint32_t> localStrings) {
  FieldNumbers numbers;  // not zeroed: this runs for each event
  numbers.localStrings = localStrings;
  P::fields(payload, numbers);
  return numbers;
}

void appendRecord(std::uint8_t kind, std::size_t length, std::string& out) {
  std::uint8_t head[1 + kVarintLimit] = {kind};
  const std::uint8_t* end = putVarint(head + 1, length);
  out.append(reinterpret_cast<const char*>(head), static_cast<std::size_t>(end - head));
}

// Wrapping, so that no pair of times can overflow; the reader wraps back.
std::int64_t difference(Nanos a, Nanos b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a.count()) -
                                   static_cast<std::uint64_t>(b.count()));
}

}  // namespace

void encodeEvent(const Event& event, Nanos previous, std::span<const std::uint32_t> localStrings,
                 std::string& out) {
  std::visit(
      [&]<class P>(const P& payload) {
        // A varint takes at most twice its field: 2 bytes for 1, 10 for 8.
        static_assert(kVarintLimit + 2 * sizeof(P) <= kBodyLimit && sizeof(P) <= kMaxFields);
        static const FieldNumbers kDefaults = numbersOf(P{}, {});
        FieldNumbers numbers = numbersOf(payload, localStrings);
        // Fields at the end that are at their defaults are left out: the reader has them.
        while (numbers.count > 0 &&
               numbers.values[numbers.count - 1] == kDefaults.values[numbers.count - 1])
          --numbers.count;
        std::uint8_t body[kBodyLimit];
        std::uint8_t* end = putVarint(body, zigzag(difference(event.at, previous)));
        for (std::size_t i = 0; i < numbers.count; ++i) end = putVarint(end, numbers.values[i]);
        const auto length = static_cast<std::size_t>(end - body);
        appendRecord(P::kKind, length, out);
        out.append(reinterpret_cast<const char*>(body), length);
      },
      event.payload);
}

void encodeString(std::uint32_t local, std::string_view text, std::string& out) {
  std::uint8_t id[kVarintLimit];
  const auto idLength = static_cast<std::size_t>(putVarint(id, local) - id);
  appendRecord(format::kStringRecord, idLength + text.size(), out);
  out.append(reinterpret_cast<const char*>(id), idLength);
  out.append(text);
}

}  // namespace stallprof
