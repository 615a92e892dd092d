// SPDX-License-Identifier: MIT
#include "recording/format/decode.h"

#include <limits>
#include <type_traits>

#include "event/event.h"
#include "recording/format/byte_io.h"
#include "recording/format/format.h"

namespace stallprof {
namespace {

// Interned text one recording may make its reader hold; the writer's own budget is half of it.
// kStringCost: what a table entry costs beside its bytes (string object, map node, bucket).
constexpr std::size_t kStringBudget = 64u << 20, kStringCost = 112;
constexpr std::string_view kOther = "(other)", kLost = "(lost)";

struct FieldReader {
  ByteReader& in;
  std::span<const StringId> local;
  Strings& strings;

  // No bytes left: an older writer did not know this field, its default stays.
  template <class T>
  void operator()(const char*, T& field) const {
    if (!in.empty()) read(field);
  }

 private:
  void read(StringId& field) const {
    const std::uint64_t number = in.varint();
    if (number != 0) field = number <= local.size() ? local[number - 1] : strings.intern(kLost);
  }
  template <class Tag>
  void read(Id<Tag>& field) const {
    const std::uint64_t id = in.varint();
    field.value = static_cast<std::uint32_t>(std::min<std::uint64_t>(id, format::kIdentityLimit));
  }
  void read(Nanos& field) const { field = Nanos(unzigzag(in.varint())); }
  void read(bool& field) const { field = in.varint() != 0; }
  template <class T>
  requires std::is_integral_v<T>
  void read(T& field) const {  // saturates: a value too large for its field is damage, not a wrap
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_signed_v<T>) {
      const std::int64_t value = unzigzag(in.varint());
      field = value < Limits::min()   ? Limits::min()
              : value > Limits::max() ? Limits::max()
                                      : static_cast<T>(value);
    } else {
      const std::uint64_t value = in.varint();
      field = value > Limits::max() ? Limits::max() : static_cast<T>(value);
    }
  }
  template <class T>
  requires std::is_enum_v<T>
  void read(T& field) const {  // a value this version does not know leaves the default
    const std::uint64_t value = in.varint();
    if (value < knownValues(field)) field = static_cast<T>(value);
  }
};

using DecodeFields = void (*)(const FieldReader&, Payload&);

struct MakeDecode {
  template <class P>
  constexpr DecodeFields operator()() const {
    return [](const FieldReader& reader, Payload& payload) {
      P::fields(payload.emplace<P>(), reader);
    };
  }
};
constexpr auto kDecode = tableByKind<DecodeFields>(MakeDecode{});

}  // namespace

void Decoder::beginSegment(std::size_t bytes) {
  local_.clear();
  localLimit_ = bytes / 3;  // a string record takes at least three bytes
}

bool Decoder::define(std::span<const std::uint8_t> body, Lost& lost) {
  ByteReader in(body);
  const std::uint64_t local = in.varint();
  if (in.bad() || local == 0 || local > localLimit_ || in.left() > format::kStringLimit)
    return false;
  const auto bytes = in.bytes(in.left());
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (strings_.bytes() + strings_.size() * kStringCost > kStringBudget) {
    text = kOther;
    ++lost.stringsOver;
  }
  // Numbers skipped here were defined in frames that are lost.
  if (local > local_.size()) local_.resize(local, strings_.intern(kLost));
  local_[local - 1] = strings_.intern(text);
  return true;
}

Decoder::Lost Decoder::frame(std::span<const std::uint8_t> payload) {
  Lost lost;
  ByteReader in(payload);
  std::uint64_t at = 0;
  while (!in.empty()) {
    const std::uint8_t kind = in.bytes(1)[0];
    const std::uint64_t length = in.varint();
    const auto body = in.bytes(length);
    if (in.bad()) {  // the shape of the frame is lost with this record's length
      ++lost.damaged;
      break;
    }
    if (kind == format::kStringRecord) {
      if (!define(body, lost)) ++lost.damaged;
      continue;
    }
    ByteReader fields(body);
    at += static_cast<std::uint64_t>(unzigzag(fields.varint()));
    event_.at = Nanos(static_cast<std::int64_t>(at));
    if (const DecodeFields decode = kDecode[kind]; decode == nullptr) {
      ++lost.unknownKinds;
    } else {
      decode(FieldReader{fields, local_, strings_}, event_.payload);
      if (fields.bad())
        ++lost.damaged;
      else
        take_(event_);
    }
  }
  return lost;
}

}  // namespace stallprof
