// SPDX-License-Identifier: MIT
#include "settings/toml_file.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>

#include "base/text.h"

namespace stallprof {
namespace {

std::uint32_t lineOf(const toml::node& node) { return node.source().begin.line; }

TomlTable copyOf(const toml::table& table);

TomlValue copyOf(const toml::node& node) {
  TomlValue::Content content;
  if (const auto* text = node.as_string()) {
    content = text->get();
  } else if (const auto* whole = node.as_integer()) {
    content = whole->get();
  } else if (const auto* number = node.as_floating_point()) {
    content = number->get();
  } else if (const auto* flag = node.as_boolean()) {
    content = flag->get();
  } else if (const auto* date = node.as_date()) {
    content = TomlValue::Date{date->get().year, date->get().month, date->get().day};
  } else if (const auto* list = node.as_array()) {
    TomlValue::List values;
    for (const toml::node& each : *list) values.push_back(copyOf(each));
    content = std::move(values);
  } else if (const auto* table = node.as_table()) {
    content = copyOf(*table);
  }
  return {lineOf(node), std::move(content)};
}

TomlTable copyOf(const toml::table& table) {
  TomlTable copy;
  copy.line = lineOf(table);
  for (const auto& [key, node] : table) copy.entries.emplace_back(key.str(), copyOf(node));
  return copy;
}

// The first line that begins with [ and is no header that `known` takes; 0: none.
std::uint32_t strangeHeader(std::string_view text,
                            const std::function<bool(std::string_view)>& known) {
  for (std::uint32_t line = 1; !text.empty(); ++line) {
    std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(row.size() + 1, text.size()));
    row.remove_prefix(std::min(row.find_first_not_of(" \t"), row.size()));
    if (row.starts_with('[') && !known(row)) return line;
  }
  return 0;
}

}  // namespace

const TomlValue* TomlTable::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

std::string TomlValue::text() const {
  const auto* text = as<std::string>();
  return text == nullptr ? "" : *text;
}

Error TomlFile::complain(std::uint32_t line, const std::string& why) const {
  return {Error::Kind::kUsage,
          escapeTerminal(file_, 400) + ":" + std::to_string(line) + ": " + why};
}

Result<TomlTable> TomlFile::parse(std::string_view text, const Limits& limits) const {
  if (text.size() > limits.bytes) return complain(1, std::string(limits.tooLarge));
  if (const std::uint32_t line = strangeHeader(text, limits.knownHeader))
    return complain(line, std::string(limits.strangeHeader));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return complain(parsed.error().source().begin.line,
                    escapeTerminal(parsed.error().description(), 300));
  return copyOf(parsed.table());
}

}  // namespace stallprof
