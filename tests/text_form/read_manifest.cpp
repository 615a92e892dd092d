// SPDX-License-Identifier: MIT
#include "tests/text_form/read_manifest.h"

#include <charconv>
#include <limits>
#include <optional>

#include "trace/text_fields.h"

namespace stallprof {
namespace {

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
  text::manifestFields(manifest, [&](std::string_view name, auto& field) {
    if (word.name == name) good = assign(field, word);
  });
  return good;
}

}  // namespace stallprof
