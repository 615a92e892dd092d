// SPDX-License-Identifier: MIT
#include "present/metrics/report_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "present/metrics/report_fields_device.h"

namespace stallprof {
namespace report {
namespace {

using Json = nlohmann::ordered_json;

template <class Struct, class Fields>
Json objectOf(const Struct& from, const Fields& fields);

// An object that sums holds only numbers or is null as a whole.
Json summing(Json object) {
  for (const auto& [name, value] : object.items())
    if (value.is_null()) return {};
  return object;
}

Json jsonOf(const NamedRatios& ratios) {
  Json out;  // null: none was measured
  for (const auto& [name, ratio] : *ratios.items)
    out[toUtf8(name)] = std::isfinite(ratio) ? Json(ratio) : Json();
  return summing(std::move(out));
}

template <class T>
Json jsonOf(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(value) ? Json(value) : Json();  // what is not finite was not measured
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (std::is_same_v<T, Nanos>) {
    return value.count();
  } else if constexpr (std::is_enum_v<T>) {
    return nameOf(value);
  } else if constexpr (std::is_same_v<T, Untrusted>) {
    return toUtf8(value.raw());
  } else if constexpr (std::is_same_v<T, TextOrNull>) {
    return value.text.empty() ? Json() : Json(toUtf8(value.text));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return toUtf8(value);
  } else if constexpr (kIsMaybe<T> || std::is_pointer_v<T>) {
    return value ? jsonOf(*value) : Json();
  } else if constexpr (kIsList<T>) {
    Json out = Json::array();
    for (const auto& item : value) out.push_back(jsonOf(item));
    return out;
  } else {
    return objectOf(value, fieldsOf(static_cast<const T*>(nullptr)));
  }
}

template <class Struct, class Fields>
Json objectOf(const Struct& from, const Fields& fields) {
  Json out = Json::object();
  forEach(fields, [&](const auto& f) {
    if constexpr (kIsGroup<std::remove_cvref_t<decltype(f)>>) {
      out[f.name] = objectOf(from, f.fields);
    } else {
      Json value = jsonOf(std::invoke(f.get, from));
      if (f.about.sums && value.is_object()) value = summing(std::move(value));
      if (!f.about.optional || !value.is_null()) out[f.name] = std::move(value);
    }
  });
  return out;
}

}  // namespace
}  // namespace report

std::string reportJson(const Analysis& a) {
  return report::jsonOf(a).dump(2, ' ', /*ensure_ascii=*/true) + "\n";
}

}  // namespace stallprof
