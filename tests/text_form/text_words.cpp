// SPDX-License-Identifier: MIT
#include "tests/text_form/text_words.h"

#include <array>
#include <cstdint>
#include <limits>

namespace stallprof {
namespace {

constexpr Wide kGreatest = std::numeric_limits<std::uint64_t>::max();

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Reads an escape after its backslash; false: no such escape.
bool readEscape(std::string_view& rest, std::string& into) {
  if (rest.empty()) return false;
  const char kind = rest[0];
  rest.remove_prefix(1);
  if (kind == '"' || kind == '\\') return into.push_back(kind), true;
  if (kind != 'x' || rest.size() < 2) return false;
  const int high = hexDigit(rest[0]), low = hexDigit(rest[1]);
  if (high < 0 || low < 0) return false;
  rest.remove_prefix(2);
  into.push_back(static_cast<char>(high * 16 + low));
  return true;
}

// Reads quoted text after its opening quote.
bool readQuoted(std::string_view& rest, std::string& into) {
  while (!rest.empty()) {
    const char c = rest[0];
    rest.remove_prefix(1);
    if (c == '"') return true;
    if (c != '\\')
      into.push_back(c);
    else if (!readEscape(rest, into))
      return false;
  }
  return false;
}

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool readWord(std::string_view& rest, TextWord& word) {
  while (!rest.empty() && !blank(rest[0]) && rest[0] != '=') {
    word.name.push_back(rest[0]);
    rest.remove_prefix(1);
  }
  if (rest.empty() || rest[0] != '=') return true;
  rest.remove_prefix(1);
  if (!rest.empty() && rest[0] == '"') {
    word.quoted = true;
    rest.remove_prefix(1);
    return readQuoted(rest, word.value);
  }
  while (!rest.empty() && !blank(rest[0])) {
    word.value.push_back(rest[0]);
    rest.remove_prefix(1);
  }
  return true;
}

std::optional<Wide> unitOf(std::string_view name) {
  if (name.empty() || name == "ns") return 1;
  if (name == "us") return 1'000;
  if (name == "ms") return 1'000'000;
  if (name == "s") return 1'000'000'000;
  if (name == "m") return Wide{60} * 1'000'000'000;
  return std::nullopt;
}

bool digit(char c) { return c >= '0' && c <= '9'; }

// Digits at the front of `text`, at most 20: more cannot be a 64-bit value.
std::optional<Wide> takeDigits(std::string_view& text, std::size_t& count) {
  Wide value = 0;
  for (count = 0; count < text.size() && digit(text[count]); ++count) {
    if (count == 20) return std::nullopt;
    value = value * 10 + (text[count] - '0');
  }
  text.remove_prefix(count);
  return value;
}

std::optional<Wide> parsePlain(std::string_view text, bool time) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  std::size_t count = 0, fractionDigits = 0;
  const std::optional<Wide> whole = takeDigits(text, count);
  if (!whole || count == 0) return std::nullopt;
  Wide fraction = 0, fractionOf = 1;
  if (time && !text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    const std::optional<Wide> digits = takeDigits(text, fractionDigits);
    if (!digits || fractionDigits == 0 || fractionDigits > 9) return std::nullopt;
    fraction = *digits;
    for (std::size_t i = 0; i < fractionDigits; ++i) fractionOf *= 10;
  }
  if (!time && !text.empty()) return std::nullopt;
  const std::optional<Wide> unit = unitOf(text);
  if (!unit) return std::nullopt;
  const Wide value = *whole * *unit + fraction * *unit / fractionOf;
  if (value > kGreatest) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace

std::optional<std::vector<TextWord>> splitWords(std::string_view line) {
  std::vector<TextWord> words;
  while (true) {
    while (!line.empty() && blank(line[0])) line.remove_prefix(1);
    if (line.empty() || line[0] == '#') return words;
    if (!readWord(line, words.emplace_back())) return std::nullopt;
  }
}

std::optional<Wide> parseNumber(std::string_view text, bool time, std::int64_t round) {
  const std::size_t plus = text.find('+');
  if (plus == std::string_view::npos) return parsePlain(text, time);
  if (!text.ends_with("*i")) return std::nullopt;
  const std::optional<Wide> start = parsePlain(text.substr(0, plus), time);
  const std::optional<Wide> step = parsePlain(text.substr(plus + 1, text.size() - plus - 3), time);
  if (!start || !step) return std::nullopt;
  const Wide value = *start + *step * round;
  if (value > kGreatest || value < -kGreatest) return std::nullopt;
  return value;
}

}  // namespace stallprof
