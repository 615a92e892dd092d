// SPDX-License-Identifier: MIT
#include "present/words/page.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace stallprof {
namespace {

// Longest text taken in at once: no line of a report says more, and a hostile name stays bounded.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kMaxCommandLines = 6;

struct Rune {
  char32_t code;
  std::size_t bytes;
};

// Of text that went through escapeTerminal, so valid UTF-8.
Rune firstRune(std::string_view s) {
  const auto lead = static_cast<unsigned char>(s[0]);
  const std::size_t bytes = std::min<std::size_t>(s.size(), lead >= 0xF0   ? 4
                                                            : lead >= 0xE0 ? 3
                                                            : lead >= 0xC0 ? 2
                                                                           : 1);
  char32_t code = bytes == 1 ? lead : lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i)
    code = code << 6 | (static_cast<unsigned char>(s[i]) & 0x3Fu);
  return {code, bytes};
}

// Unicode's wide characters among the narrow symbols (East_Asian_Width=W below U+2C00).
constexpr std::pair<char32_t, char32_t> kWideSymbols[] = {
    {0x231A, 0x231B}, {0x23E9, 0x23EC}, {0x23F0, 0x23F0}, {0x23F3, 0x23F3}, {0x25FD, 0x25FE},
    {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267F, 0x267F}, {0x2693, 0x2693}, {0x26A1, 0x26A1},
    {0x26AA, 0x26AB}, {0x26BD, 0x26BE}, {0x26C4, 0x26C5}, {0x26CE, 0x26CE}, {0x26D4, 0x26D4},
    {0x26EA, 0x26EA}, {0x26F2, 0x26F3}, {0x26F5, 0x26F5}, {0x26FA, 0x26FA}, {0x26FD, 0x26FD},
    {0x2705, 0x2705}, {0x270A, 0x270B}, {0x2728, 0x2728}, {0x274C, 0x274C}, {0x274E, 0x274E},
    {0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797}, {0x27B0, 0x27B0}, {0x27BF, 0x27BF},
    {0x2B1B, 0x2B1C}, {0x2B50, 0x2B50}, {0x2B55, 0x2B55}};

// Unicode's East Asian wide blocks and emoji, coarsely; combining marks of Latin scripts.
std::size_t widthOf(char32_t c) {
  if (c >= 0x300 && c <= 0x36F) return 0;
  if (std::any_of(std::begin(kWideSymbols), std::end(kWideSymbols),
                  [&](const auto& range) { return range.first <= c && c <= range.second; }))
    return 2;
  const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                    (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                    (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                    (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) ||
                    (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

// Bytes of `text` that fit into `columns`.
std::size_t bytesWithin(std::string_view text, std::size_t columns) {
  std::size_t at = 0, used = 0;
  while (at < text.size()) {
    const Rune rune = firstRune(text.substr(at));
    if (used + widthOf(rune.code) > columns) break;
    used += widthOf(rune.code);
    at += rune.bytes;
  }
  return at;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Bytes of the first shell word: spaces inside quotes belong to it.
std::size_t shellWord(std::string_view text) {
  char quote = 0;
  bool escapes = false;  // inside $'...', where a backslash shields the next character
  std::size_t at = 0;
  for (; at < text.size() && (quote != 0 || text[at] != ' '); ++at) {
    const char c = text[at];
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      escapes = c == '"' || (at > 0 && text[at - 1] == '$');
    } else if (quote != 0 && escapes && c == '\\') {
      ++at;
    } else if (c == quote) {
      quote = 0;
    }
  }
  return std::min(at, text.size());
}

const char* codeOf(Tone tone) {
  constexpr const char* kCodes[] = {"", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[31m"};
  return kCodes[static_cast<std::size_t>(tone)];
}

}  // namespace

std::size_t columnsOf(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Rune rune = firstRune(text);
    columns += widthOf(rune.code);
    text.remove_prefix(rune.bytes);
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columnsOf(text) <= columns) return std::string(text);
  if (columns <= 3) return std::string(columns, '.');
  std::string_view kept = text.substr(0, bytesWithin(text, columns - 3));
  while (kept.ends_with(' ')) kept.remove_suffix(1);
  return std::string(kept) + "...";
}

std::string cutLeft(std::string_view text, std::size_t columns) {
  std::size_t used = columnsOf(text);
  if (used <= columns) return std::string(text);
  if (columns <= 3) return std::string(columns, '.');
  while (used > columns - 3) {
    const Rune rune = firstRune(text);
    used -= widthOf(rune.code);
    text.remove_prefix(rune.bytes);
  }
  return "..." + std::string(text);
}

std::string padded(std::string_view text, std::size_t columns) {
  std::string out = cut(text, columns);
  out.append(columns - std::min(columns, columnsOf(out)), ' ');
  return out;
}

std::string rightAligned(const std::string& text, std::size_t columns) {
  return std::string(columns - std::min(columns, text.size()), ' ') + text;
}

std::vector<std::string> fold(std::string_view text, std::size_t columns, std::size_t lines) {
  std::vector<std::string> out;
  columns = std::max<std::size_t>(columns, 8);
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    if (out.size() + 1 == lines) {
      out.push_back(cut(text, columns));
      break;
    }
    std::size_t bytes = bytesWithin(text, columns);
    if (bytes < text.size() && text[bytes] != ' ') {
      const std::size_t space = text.substr(0, bytes).rfind(' ');
      if (space != std::string_view::npos) {
        const std::string_view word = text.substr(space + 1, text.find(' ', space + 1) - space - 1);
        // A path that fits a line stays whole, to be copied. One that does not is broken rather
        // than leaving the line nearly empty.
        if (columnsOf(word) <= columns || columnsOf(text.substr(0, space)) > columns / 2)
          bytes = space;
      }
    }
    out.emplace_back(trimmed(text.substr(0, bytes)));
    text.remove_prefix(bytes);
  }
  return out;
}

void Page::put(std::string_view label, Tone labelTone, std::string_view text, Tone tone) {
  const auto toned = [&](std::string_view part, Tone t) {
    const bool on = colour_ && t != Tone::kPlain && !part.empty();
    if (on) text_ += codeOf(t);
    text_ += part;
    if (on) text_ += "\x1b[0m";
  };
  while (text.ends_with(' ')) text.remove_suffix(1);
  toned(label, labelTone);
  toned(text, tone);
  text_ += '\n';
  ++lines_;
  blank_ = false;
}

void Page::line(std::string_view text, Tone tone) {
  put({}, Tone::kPlain, cut(escapeTerminal(text, kLongestText), width_), tone);
}

void Page::blank() {
  if (blank_) return;
  text_ += '\n';
  ++lines_;
  blank_ = true;
}

void Page::field(std::string_view label, std::size_t labelColumns, std::string_view text,
                 Tone labelTone, Tone tone) {
  std::string name = padded(escapeTerminal(label, kLongestText), labelColumns);
  const std::size_t rest = width_ > labelColumns ? width_ - labelColumns : 1;
  for (const std::string& row : fold(escapeTerminal(text, kLongestText), rest, fieldLines_)) {
    put(name, labelTone, row, tone);
    name.assign(labelColumns, ' ');
  }
}

std::vector<std::string> Page::flowRows(const std::vector<std::string>& parts,
                                        std::string_view between, std::size_t columns) const {
  std::vector<std::string> rows;
  for (const std::string& part : parts) {
    const std::size_t needed = columnsOf(between) + columnsOf(part);
    if (!rows.empty() && columnsOf(rows.back()) + needed < columns) {
      rows.back().append(between).append(part);
      continue;
    }
    if (!rows.empty() && between.starts_with(',')) rows.back() += ',';
    // A part longer than a line is folded in its place; what follows it begins a line, too.
    for (std::string& row : fold(part, columns, fieldLines_)) rows.push_back(std::move(row));
  }
  return rows;
}

void Page::flow(std::string_view label, std::size_t labelColumns,
                const std::vector<std::string>& parts, std::string_view between, Tone labelTone) {
  const std::size_t rest = width_ > labelColumns ? width_ - labelColumns : 1;
  std::vector<std::string> safe;
  for (const std::string& part : parts) safe.push_back(escapeTerminal(part, kLongestText));
  std::vector<std::string> rows = flowRows(safe, between, rest);
  if (rows.size() > fieldLines_ && safe.size() > 1) {
    const auto rowsOf = [&](std::size_t kept) {
      std::vector<std::string> some(safe.begin(), safe.begin() + static_cast<std::ptrdiff_t>(kept));
      some.push_back("and " + std::to_string(safe.size() - kept) + " more");
      return flowRows(some, between, rest);
    };
    // As many whole parts as the lines hold, and the first in any case.
    std::size_t kept = 1, over = safe.size();
    while (over - kept > 1) {
      const std::size_t middle = (kept + over) / 2;
      (rowsOf(middle).size() > fieldLines_ ? over : kept) = middle;
    }
    rows = rowsOf(kept);
  }
  if (rows.size() > fieldLines_) {
    rows.resize(fieldLines_);
    rows.back() = cut(rows.back(), rest - 4) + " ...";
  }
  std::string name = padded(escapeTerminal(label, kLongestText), labelColumns);
  for (const std::string& row : rows) {
    put(name, labelTone, row, Tone::kPlain);
    name.assign(labelColumns, ' ');
  }
}

void Page::command(std::string_view label, std::size_t labelColumns, std::string_view text,
                   std::string_view instead) {
  const std::string safe = escapeTerminal(text, kLongestText);
  const std::size_t rest = width_ > labelColumns + 2 ? width_ - labelColumns - 2 : 1;
  std::vector<std::string> rows(1);
  std::string_view left = trimmed(safe);
  while (!left.empty()) {
    const std::string_view word = left.substr(0, shellWord(left));
    if (!rows.back().empty() && columnsOf(rows.back()) + 1 + columnsOf(word) > rest)
      rows.emplace_back();
    if (!rows.back().empty()) rows.back() += ' ';
    rows.back() += word;
    left = trimmed(left.substr(word.size()));
  }
  if (rows.size() > kMaxCommandLines || safe != text)
    return field(label, labelColumns, instead, Tone::kQuiet);
  std::string name = padded(label, labelColumns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    put(name, Tone::kQuiet, i + 1 < rows.size() ? rows[i] + " \\" : rows[i], Tone::kPlain);
    name.assign(labelColumns, ' ');
  }
}

}  // namespace stallprof
