// SPDX-License-Identifier: MIT
#include "trace/manifest_text.h"

#include <charconv>
#include <limits>
#include <optional>

#include "trace/trace_text.h"

namespace stallprof {
namespace {

// THE list of what a manifest line can say, once, for both directions.
template <class M, class V>
void fields(M& m, V&& v) {
  v("tool", m.toolVersion), v("directory", m.directory), v("started", m.startedMonotonic),
      v("started_realtime", m.startedRealtime), v("front", m.frontPid),
      v("recorder", m.recorderPid), v("hz", m.hz), v("budget", m.budget), v("host", m.host.name),
      v("kernel", m.host.kernel), v("cpu", m.host.cpuModel), v("boot", m.host.bootId),
      v("cores_online", m.host.coresOnline), v("cores_usable", m.host.coresUsable),
      v("memory", m.host.memoryBytes), v("page", m.host.pageBytes),
      v("ticks", m.host.ticksPerSecond);
}

bool assign(std::string& field, const TextWord& word) {
  field = word.value;
  return word.quoted;
}
bool assign(Untrusted& field, const TextWord& word) {
  field = Untrusted(word.value);
  return word.quoted;
}
bool assign(double& field, const TextWord& word) {
  const char* end = word.value.data() + word.value.size();
  const auto [stop, error] = std::from_chars(word.value.data(), end, field);
  return !word.quoted && error == std::errc{} && stop == end;
}
template <class T>
bool assignWide(T& field, const TextWord& word, bool time) {
  const std::optional<Wide> value = word.quoted ? std::nullopt : parseNumber(word.value, time, 0);
  if (!value || *value < Wide{std::numeric_limits<T>::min()} ||
      *value > Wide{std::numeric_limits<T>::max()})
    return false;
  field = static_cast<T>(*value);
  return true;
}
bool assign(Nanos& field, const TextWord& word) {
  Nanos::rep count = 0;
  const bool good = assignWide(count, word, true);
  field = Nanos{count};
  return good;
}
template <class T>
requires std::is_integral_v<T>
bool assign(T& field, const TextWord& word) { return assignWide(field, word, false); }

std::string valueText(const std::string& value) { return quoteText(value); }
std::string valueText(const Untrusted& value) { return quoteText(value.raw()); }
std::string valueText(Nanos value) { return std::to_string(value.count()); }
std::string valueText(double value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  return error == std::errc{} ? std::string(digits, end) : "0";
}
template <class T>
requires std::is_integral_v<T> std::string valueText(T value) { return std::to_string(value); }

}  // namespace

bool readManifest(const TextWord& word, Manifest& manifest) {
  if (word.name == "command") return manifest.command.emplace_back(word.value), word.quoted;
  if (word.name == "map") return manifest.maps.emplace_back(word.value), word.quoted;
  if (word.name == "env") {
    const std::size_t equals = word.value.find('=');
    if (!word.quoted || equals == std::string::npos) return false;
    manifest.environment.emplace_back(word.value.substr(0, equals),
                                      Untrusted(word.value.substr(equals + 1)));
    return true;
  }
  bool good = false;
  fields(manifest, [&](std::string_view name, auto& field) {
    if (word.name == name) good = assign(field, word);
  });
  return good;
}

std::string manifestLines(const Manifest& manifest) {
  const Manifest plain;
  std::vector<std::string> defaults;
  fields(plain, [&](std::string_view, const auto& field) { defaults.push_back(valueText(field)); });
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text.append("manifest ").append(name).append("=").append(value).append("\n");
  };
  for (const Untrusted& word : manifest.command) line("command", quoteText(word.raw()));
  std::size_t i = 0;
  fields(manifest, [&](std::string_view name, const auto& field) {
    const std::string value = valueText(field);
    if (value != defaults[i++]) line(name, value);
  });
  for (const Untrusted& word : manifest.maps) line("map", quoteText(word.raw()));
  for (const auto& [name, value] : manifest.environment)
    line("env", quoteText(name + "=" + value.raw()));
  return text;
}

}  // namespace stallprof
