// SPDX-License-Identifier: MIT
#include "trace/trace_text.h"

#include <charconv>
#include <cstring>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/text.h"
#include "trace/text_fields.h"

namespace stallprof {
namespace {

using text::Field;
using text::fieldsOf;
using text::quoted;

using Wide = __int128;  // holds every 64-bit value, signed or not

Wide valueOf(const Field& field) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, field.at, field.size);  // little-endian, as all hosts of the recorder
  const unsigned unused = 64 - 8u * field.size;
  if (!field.negative) return Wide{bits};
  return Wide{static_cast<std::int64_t>(bits << unused) >> unused};
}

std::string written(const Field& field, const Strings& strings) {
  const Wide value = valueOf(field);
  if (field.type == Field::Type::kText)
    return quoted(strings.at(StringId{static_cast<std::uint32_t>(value)}));
  if (field.type == Field::Type::kEnum)
    return std::string(field.names[static_cast<std::size_t>(value)]);
  return value < 0 ? std::to_string(static_cast<std::int64_t>(value))
                   : std::to_string(static_cast<std::uint64_t>(value));
}

std::string fieldsLine(const char* kind, const std::vector<Field>& fields,
                       const std::vector<Field>& defaults, const Strings& strings) {
  const Strings none;
  std::string line = kind;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string value = written(fields[i], strings);
    if (value != written(defaults[i], none))
      line.append(" ").append(fields[i].name).append("=").append(value);
  }
  return line;
}

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

template <class P>
std::string payloadLine(P payload, const Strings& strings) {
  P plain{};
  return fieldsLine(P::kName, fieldsOf(payload), fieldsOf(plain), strings);
}

}  // namespace

std::string text::quoted(std::string_view bytes) {
  std::string out = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (byte >= 0x20 && byte < 0x7f) {
      out.push_back(c);
    } else {
      out += "\\x" + hexOf({&byte, 1});
    }
  }
  return out + "\"";
}

std::string eventLine(const Event& event, const Strings& strings) {
  return std::to_string(event.at.count()) + " " +
         std::visit([&](const auto& p) { return payloadLine(p, strings); }, event.payload);
}

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
