// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"

// How the report in JSON says what it holds. For the files that write it alone: its header is
// heavy. A namespace of their own: other pages have a `number` too.
namespace stallprof::json_values {

using Json = nlohmann::ordered_json;

// A number that is not finite was not measured.
inline Json number(double v) { return std::isfinite(v) ? Json(v) : Json(); }
inline Json number(const Maybe<double>& v) { return v ? number(*v) : Json(); }
inline Json text(std::string_view bytes) { return toUtf8(bytes); }
inline Json maybeText(const Maybe<std::string>& bytes) { return bytes ? text(*bytes) : Json(); }
inline Json textOrNull(std::string_view bytes) { return bytes.empty() ? Json() : text(bytes); }
template <class T>
Json orNull(const Maybe<T>& v) {
  return v ? Json(*v) : Json();
}

template <class T, class F>
Json list(const std::vector<T>& items, F&& one) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(one(item));
  return out;
}

// An object that sums holds only numbers or is null as a whole.
inline Json summing(Json object) {
  for (const auto& [name, value] : object.items())
    if (value.is_null()) return {};
  return object;
}

[[nodiscard]] Json device(const DeviceInfo& d);  // report_json_device.cpp

}  // namespace stallprof::json_values
