// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace stallprof {

class TomlValue;

// A table: its keys in alphabetical order, and the line where it begins.
struct TomlTable {
  std::uint32_t line = 1;
  std::vector<std::pair<std::string, TomlValue>> entries;

  [[nodiscard]] const TomlValue* find(std::string_view key) const;  // null: none
};

// A value of a TOML file with its line. What is not of the type asked for is empty: an integer is
// no number with a fraction, and nothing is converted.
class TomlValue {
 public:
  struct Date {
    unsigned year = 0, month = 0, day = 0;
  };
  using List = std::vector<TomlValue>;
  // Monostate: a time, which nobody here asks for.
  using Content =
      std::variant<std::monostate, std::string, std::int64_t, double, bool, Date, List, TomlTable>;

  TomlValue(std::uint32_t line, Content content) : line_(line), content_(std::move(content)) {}

  [[nodiscard]] std::uint32_t line() const { return line_; }
  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&content_);
  }
  [[nodiscard]] std::string text() const;  // "" where it is no text

 private:
  std::uint32_t line_;
  Content content_;
};

// A file that a person writes, on its way to something: the first complaint ends it. Readers of one
// kind of file derive from it. Complaints are Error::Kind::kUsage, "FILE:LINE: why".
class TomlFile {
 public:
  struct Limits {
    std::size_t bytes = 1u << 20;
    std::string_view tooLarge;
    // Whether a line that begins with '[' is a header that this kind of file knows; the complaint
    // where it is not. The parser beneath takes for granted that a name follows the brackets.
    std::function<bool(std::string_view row)> knownHeader;
    std::string_view strangeHeader;
  };

 protected:
  explicit TomlFile(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] Result<TomlTable> parse(std::string_view text, const Limits& limits) const;
  [[nodiscard]] Error complain(std::uint32_t line, const std::string& why) const;
  void fail(std::uint32_t line, const std::string& why) {
    if (!wrong_) wrong_ = complain(line, why);
  }
  void fail(const TomlValue& at, const std::string& why) { fail(at.line(), why); }

  const std::string file_;
  std::optional<Error> wrong_;
};

}  // namespace stallprof
