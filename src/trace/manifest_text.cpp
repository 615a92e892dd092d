// SPDX-License-Identifier: MIT
#include "trace/manifest_text.h"

#include <charconv>
#include <type_traits>
#include <vector>

#include "trace/text_fields.h"
#include "trace/trace_text.h"

namespace stallprof {
namespace {

std::string valueText(const std::string& value) { return text::quoted(value); }
std::string valueText(const Untrusted& value) { return text::quoted(value.raw()); }
std::string valueText(Nanos value) { return std::to_string(value.count()); }
std::string valueText(double value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  return error == std::errc{} ? std::string(digits, end) : "0";
}
template <class T>
requires std::is_integral_v<T> std::string valueText(T value) { return std::to_string(value); }

}  // namespace

std::string manifestLines(const Manifest& manifest) {
  const Manifest plain;
  std::vector<std::string> defaults;
  text::manifestFields(
      plain, [&](std::string_view, const auto& field) { defaults.push_back(valueText(field)); });
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out.append("manifest ").append(name).append("=").append(value).append("\n");
  };
  for (const Untrusted& word : manifest.command) line("command", text::quoted(word.raw()));
  std::size_t i = 0;
  text::manifestFields(manifest, [&](std::string_view name, const auto& field) {
    const std::string value = valueText(field);
    if (value != defaults[i++]) line(name, value);
  });
  for (const Untrusted& word : manifest.maps) line("map", text::quoted(word.raw()));
  for (const auto& [name, value] : manifest.environment)
    line("env", text::quoted(name + "=" + value.raw()));
  return out;
}

}  // namespace stallprof
