// SPDX-License-Identifier: MIT
#include "recording/memory/ring_record.h"

#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include "event/kind_table.h"
#include "recording/memory/event_memory.h"

namespace stallprof {
namespace {

static_assert(sizeof(stallprof_record) == 24);

// Only what is reported from inside: a job cannot forge what is seen from outside.
constexpr bool writableByJob(std::uint16_t kind) {
  return (kind >= 30 && kind < 40) || kind == SettingChanged::kKind || kind == Range::kKind ||
         kind == SourceState::kKind || kind == Loss::kKind;
}

// Reads values in order. A record with fewer leaves the tail at its defaults; `bad` once a value
// runs past the record's end.
struct ValueReader {
  std::span<const std::uint8_t> left;
  std::uint16_t values;
  std::uint32_t tid;
  const RecordOwner& owner;
  EventOut& out;
  bool bad = false;

  void operator()(const char*, ProcessId& field) { field = owner.process; }
  void operator()(const char*, ThreadId& field) { field = owner.thread(owner.process, tid); }
  void operator()(const char*, StackId&) {}  // seen from outside alone
  void operator()(const char*, StringId& field) {
    std::uint64_t length = 0;
    if (next(length)) field = out.intern(text(length));
  }
  void operator()(const char*, Nanos& field) {
    std::uint64_t value = 0;
    if (next(value)) field = Nanos(static_cast<std::int64_t>(value));
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(const char*, T& field) {
    std::uint64_t value = 0;
    if (next(value) && value < knownValues(field)) field = static_cast<T>(value);
  }
  template <class T>
  requires std::is_integral_v<T>
  void operator()(const char*, T& field) {
    std::uint64_t value = 0;
    if (next(value)) field = clamp<T>(value);
  }

 private:
  template <class T>
  static T clamp(std::uint64_t value) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_same_v<T, bool>) return value != 0;
    if constexpr (std::is_signed_v<T>) {
      const auto number = static_cast<std::int64_t>(value);
      return number < Limits::min()   ? Limits::min()
             : number > Limits::max() ? Limits::max()
                                      : static_cast<T>(number);
    }
    return value > static_cast<std::uint64_t>(Limits::max()) ? Limits::max()
                                                             : static_cast<T>(value);
  }

  bool next(std::uint64_t& value) {
    if (bad || values == 0) return false;
    --values;
    if (left.size() < sizeof value) return !(bad = true);
    std::memcpy(&value, left.data(), sizeof value);
    left = left.subspan(sizeof value);
    return true;
  }

  std::string_view text(std::uint64_t length) {
    const std::uint64_t padded = (length + 7) & ~std::uint64_t{7};
    if (length > STALLPROF_TEXT_LIMIT || padded > left.size()) {
      bad = true;
      return {};
    }
    const std::string_view found(reinterpret_cast<const char*>(left.data()), length);
    left = left.subspan(padded);
    return found;
  }
};

using ReadValues = void (*)(ValueReader&, Payload&);
struct MakeRead {
  template <class P>
  constexpr ReadValues operator()() const {
    return [](ValueReader& reader, Payload& payload) { P::fields(payload.emplace<P>(), reader); };
  }
};
constexpr auto kRead = tableByKind<ReadValues>(MakeRead{});

}  // namespace

bool putRecord(std::span<const std::uint8_t> record, const RecordOwner& owner, EventOut& out) {
  stallprof_record header{};
  std::memcpy(&header, record.data(), std::min(record.size(), sizeof header));
  if (header.kind == 0) return true;  // padding, which may be as short as its first word
  if (record.size() < sizeof header || header.kind >= kRead.size() || !writableByJob(header.kind))
    return false;
  const ReadValues read = kRead[header.kind];
  if (read == nullptr || header.at > static_cast<std::uint64_t>(Nanos::max().count())) return false;
  Event event;
  event.at = Nanos(static_cast<std::int64_t>(header.at));
  ValueReader reader{record.subspan(sizeof header), header.values, header.tid, owner, out};
  read(reader, event.payload);
  if (reader.bad) return false;
  out.put(event);
  return true;
}

}  // namespace stallprof
