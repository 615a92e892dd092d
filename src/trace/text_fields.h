// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "event/event.h"

// The fields of an event without their types: each kind lists them once (`fields`), and what is
// done with them is then one function for all kinds, and not one of each. Those of a manifest.
namespace stallprof::text {

struct Field {
  enum class Type : std::uint8_t { kNumber, kText, kTime, kBool, kEnum };
  const char* name;
  void* at;  // in the payload
  Type type = Type::kNumber;
  std::uint8_t size;                             // bytes: 1, 2, 4 or 8
  bool negative;                                 // it may be
  std::span<const std::string_view> names = {};  // of an enum's values
};

template <class T>
Field numberField(const char* name, T& field, Field::Type type) {
  static_assert(sizeof(T) <= 8);
  return {name, &field, type, sizeof(T), std::is_signed_v<T>};
}
inline Field fieldOf(const char* name, StringId& field) {
  return numberField(name, field.value, Field::Type::kText);
}
template <class Tag>
Field fieldOf(const char* name, Id<Tag>& field) {
  return numberField(name, field.value, Field::Type::kNumber);
}
inline Field fieldOf(const char* name, Nanos& field) {
  static_assert(sizeof(Nanos) == sizeof(Nanos::rep));
  return {name, &field, Field::Type::kTime, sizeof(Nanos), true};
}
inline Field fieldOf(const char* name, bool& field) {
  return {name, &field, Field::Type::kBool, sizeof(bool), false};
}
template <class T>
requires std::is_integral_v<T> Field fieldOf(const char* name, T& field) {
  return numberField(name, field, Field::Type::kNumber);
}
template <class T>
requires std::is_enum_v<T> Field fieldOf(const char* name, T& field) {
  return {name, &field, Field::Type::kEnum, sizeof(T), false, spellingOf(T{}).known};
}

template <class P>
std::vector<Field> fieldsOf(P& payload) {
  std::vector<Field> fields;
  P::fields(payload,
            [&](const char* name, auto& field) { fields.push_back(fieldOf(name, field)); });
  return fields;
}

// THE list of what a manifest line can say, once, for both directions.
template <class M, class V>
void manifestFields(M& m, V&& v) {
  v("tool", m.toolVersion), v("directory", m.directory), v("started", m.startedMonotonic),
      v("started_realtime", m.startedRealtime), v("front", m.frontPid),
      v("recorder", m.recorderPid), v("hz", m.hz), v("budget", m.budget), v("host", m.host.name),
      v("kernel", m.host.kernel), v("cpu", m.host.cpuModel), v("boot", m.host.bootId),
      v("cores_online", m.host.coresOnline), v("cores_usable", m.host.coresUsable),
      v("memory", m.host.memoryBytes), v("page", m.host.pageBytes),
      v("ticks", m.host.ticksPerSecond);
}

// In quotes, printable ASCII only.
[[nodiscard]] std::string quoted(std::string_view bytes);

}  // namespace stallprof::text
