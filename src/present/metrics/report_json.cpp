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

// One function for every field of a type: a template of each field would be emitted as often.
Json real(double value) {
  return std::isfinite(value) ? Json(value) : Json();  // what is not finite was not measured
}
Json whole(std::int64_t value) { return value; }
Json whole(std::uint64_t value) { return value; }
Json boolean(bool value) { return value; }
Json text(std::string_view value) { return toUtf8(value); }

void put(Json& object, const char* name, const About& about, Json value) {
  if (about.sums && value.is_object()) value = summing(std::move(value));
  if (!about.optional || !value.is_null()) object[name] = std::move(value);
}

template <class T>
Json jsonOf(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return real(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return boolean(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return whole(std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>{value});
  } else if constexpr (std::is_same_v<T, Nanos>) {
    return whole(std::int64_t{value.count()});
  } else if constexpr (std::is_enum_v<T>) {
    return text(nameOf(value));
  } else if constexpr (std::is_same_v<T, Untrusted>) {
    return text(value.raw());
  } else if constexpr (std::is_same_v<T, TextOrNull>) {
    return value.text.empty() ? Json() : text(value.text);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return text(value);
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
    if constexpr (kIsGroup<std::remove_cvref_t<decltype(f)>>)
      put(out, f.name, f.about, objectOf(from, f.fields));
    else
      put(out, f.name, f.about, jsonOf(std::invoke(f.get, from)));
  });
  return out;
}

// A report nests a handful deep; deeper is not ours.
constexpr int kDeepest = 8;

void collect(const Json& json, const std::string& path, int depth,
             std::map<std::string, double>& out) {
  if (json.is_number()) out[path] = json.get<double>();
  if (!json.is_object() || depth == kDeepest) return;
  for (const auto& [name, value] : json.items())
    collect(value, path.empty() ? name : path + "." + name, depth + 1, out);
}

}  // namespace
}  // namespace report

std::string reportJson(const Analysis& a) {
  return report::jsonOf(a).dump(2, ' ', /*ensure_ascii=*/true) + "\n";
}

Result<std::map<std::string, double>> reportNumbers(const std::string& json) {
  const report::Json parsed = report::Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("schema") || !parsed["schema"].is_string())
    return Error{Error::Kind::kDamaged, "not a stallprof report in JSON"};
  const auto schema = parsed["schema"].get<std::string>();
  if (schema != kReportSchema)
    return Error{Error::Kind::kUnsupported, "its schema is '" + escapeTerminal(schema, 64) +
                                                "'; this version reads '" + kReportSchema + "'"};
  std::map<std::string, double> numbers;
  report::collect(parsed, "", 0, numbers);
  return numbers;
}

}  // namespace stallprof
