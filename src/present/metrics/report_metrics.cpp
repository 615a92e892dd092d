// SPDX-License-Identifier: MIT
#include "present/metrics/report_metrics.h"

#include "present/metrics/report_fields_device.h"

namespace stallprof {
namespace report {
namespace {

// The names of fields end in their unit; the members of an object have the object's.
std::string_view unitOf(std::string_view path) {
  for (const std::string_view unit : {"bytes_per_s", "per_s", "bytes", "ratio", "ns"}) {
    if (path.ends_with("_" + std::string(unit)) || path.ends_with("." + std::string(unit)))
      return unit;
  }
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? "count" : unitOf(path.substr(0, dot));
}

template <class Struct, class Fields>
void collect(const std::string& prefix, const Fields& fields, std::vector<MetricKind>& out);

template <class T>
void collectValue(const std::string& path, const About& about, std::vector<MetricKind>& out) {
  if constexpr (kIsMaybe<T>)
    collectValue<typename T::value_type>(path, about, out);
  else if constexpr (!kIsValue<T> && !kIsList<T> && !std::is_pointer_v<T>)
    collect<T>(path + ".", fieldsOf(static_cast<const T*>(nullptr)), out);
  else if (about.label[0] != '\0')
    out.push_back({path, about.label, unitOf(path), about.worse});
}

template <class Struct, class Fields>
void collect(const std::string& prefix, const Fields& fields, std::vector<MetricKind>& out) {
  forEach(fields, [&](const auto& f) {
    using F = std::remove_cvref_t<decltype(f)>;
    if constexpr (kIsGroup<F>)
      collect<Struct>(prefix + f.name + ".", f.fields, out);
    else
      collectValue<ValueOf<Struct, decltype(F::get)>>(prefix + f.name, f.about, out);
  });
}

}  // namespace
}  // namespace report

std::span<const MetricKind> metricKinds() {
  static const std::vector<MetricKind> kinds = [] {
    std::vector<MetricKind> out;
    report::collectValue<Analysis>("", {}, out);
    for (MetricKind& kind : out) kind.path.erase(0, 1);
    return out;
  }();
  return kinds;
}

}  // namespace stallprof
