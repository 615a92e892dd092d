// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/facts/analysis.h"

// How a list of a report's fields is written: `fieldsOf(const T*)` returns a list of Field and
// Group for a struct T (report_fields.h). The JSON writer, its schema, the gate's metrics and
// OpenMetrics walk the same lists.
namespace stallprof::report {

enum class Worse : std::uint8_t { kHigher, kLower, kNeither };

inline constexpr std::int64_t kNoMinimum = std::numeric_limits<std::int64_t>::min();

// What is known of a field beside its name, type and value.
struct About {
  const char* text = "";   // what it is; in the schema, and HELP of OpenMetrics
  const char* words = "";  // "window|run": the only values of a string
  const char* label = "";  // of a metric that a gate may compare; empty: none
  Worse worse = Worse::kNeither;
  const char* by = "";            // OpenMetrics: the label that names the members of an object
  bool exported = false;          // to OpenMetrics
  bool sums = false;              // an object that holds only numbers or is null as a whole
  bool optional = false;          // left out where it is null
  bool nullable = false;          // a number that may be not finite, which is null
  std::int64_t minimum = 0;       // of a number
  const char* pattern = nullptr;  // of a string
};

// About::words of the names of an enumeration.
template <const auto& kNames>
inline constexpr auto kJoinedNames = [] {
  constexpr std::size_t kLength = [] {
    std::size_t length = 0;
    for (const std::string_view name : kNames) length += name.size() + 1;
    return length;
  }();
  std::array<char, kLength> joined{};  // ends with a 0 in place of the last '|'
  std::size_t at = 0;
  for (const std::string_view name : kNames) {
    if (at > 0) joined[at++] = '|';
    for (const char c : name) joined[at++] = c;
  }
  return joined;
}();
template <const auto& kNames>
inline constexpr const char* kWordsOf = kJoinedNames<kNames>.data();

// What OpenMetrics has too, and the gate may compare.
constexpr About metric(const char* text, const char* label, Worse worse = Worse::kNeither) {
  return {.text = text, .label = label, .worse = worse, .exported = true};
}
// Shares of one whole: an object, exported by the name of its members.
constexpr About shares(const char* text, const char* by) {
  return {.text = text, .by = by, .exported = true, .sums = true};
}

// `get` is a pointer to a member, or a function of the struct.
template <class Get>
struct Field {
  const char* name;
  Get get;
  About about;
};
template <class Get>
constexpr Field<Get> field(const char* name, Get get, About about = {}) {
  return {name, get, about};
}

// Fields and groups in their order. No std::tuple: that takes twice as long to compile.
template <std::size_t kIndex, class F>
struct ListItem {
  F field;
};
template <class Indices, class... F>
struct ListItems;
template <std::size_t... kIndex, class... F>
struct ListItems<std::index_sequence<kIndex...>, F...> : ListItem<kIndex, F>... {
  template <class Visit>
  constexpr void forEach(Visit&& visit) const {
    (visit(static_cast<const ListItem<kIndex, F>&>(*this).field), ...);
  }
};
template <class... F>
using FieldList = ListItems<std::index_sequence_for<F...>, F...>;
template <class... F>
constexpr FieldList<F...> fieldList(F... fields) {
  return {{fields}...};
}

// An object of fields of the same struct.
template <class Fields>
struct Group {
  const char* name;
  Fields fields;
  About about;
};
template <class... F>
constexpr auto group(const char* name, F... fields) {
  return Group<FieldList<F...>>{name, fieldList(fields...), {}};
}

template <class T>
inline constexpr bool kIsGroup = false;
template <class F>
inline constexpr bool kIsGroup<Group<F>> = true;
template <class T>
inline constexpr bool kIsMaybe = false;
template <class T>
inline constexpr bool kIsMaybe<Maybe<T>> = true;
template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

// Text of which none is null.
struct TextOrNull {
  std::string_view text;
};
// Numbers by a name that is not ours; none is null.
struct NamedRatios {
  const std::vector<std::pair<std::string, double>>* items;
};

// The type of a field's value.
template <class Struct, class Get>
using ValueOf = std::remove_cvref_t<std::invoke_result_t<Get, const Struct&>>;

// What has no list of fields: a value by itself.
template <class T>
inline constexpr bool kIsValue =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Nanos> ||
    std::is_same_v<T, Untrusted> || std::is_same_v<T, TextOrNull> ||
    std::is_same_v<T, NamedRatios> || std::is_convertible_v<const T&, std::string_view>;

template <class Fields, class F>
constexpr void forEach(const Fields& fields, F&& visit) {
  fields.forEach(visit);
}

}  // namespace stallprof::report
