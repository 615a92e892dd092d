// SPDX-License-Identifier: MIT
#include "base/text.h"

namespace stallprof {
namespace {

struct Rune {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8 here
};

// Strict decoder: rejects overlong forms, surrogates and values past U+10FFFF (RFC 3629).
Rune decode(std::string_view s) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || s.size() < length) return {};
  std::uint32_t code = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

bool hostile(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
         c == 0x2029 || c == 0x061C || c == 0xFEFF || (c >= 0x2060 && c <= 0x2064) ||
         (c >= 0xE0000 && c <= 0xE007F) || (c >= 0xFDD0 && c <= 0xFDEF) ||
         (c & 0xFFFE) == 0xFFFE;  // no characters: XML has none of the last two kinds
}

void appendHex(std::string& out, unsigned char byte) { out += "\\x" + hexOf({&byte, 1}); }

// The inside of $'...': there a backslash and a quote need a backslash of their own.
std::string escapeQuoted(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const Rune rune = decode(bytes);
    const std::size_t length = rune.bytes == 0 ? 1 : rune.bytes;
    const bool keep = rune.bytes != 0 && !hostile(rune.code);
    if (rune.code == '\\' || rune.code == '\'') out += '\\';
    for (const char c : bytes.substr(0, length))
      keep ? void(out += c) : appendHex(out, static_cast<unsigned char>(c));
    bytes.remove_prefix(length);
  }
  return out;
}

template <class Keep>
std::string escape(std::string_view bytes, std::size_t limit, Keep keep) {
  std::string out;
  while (!bytes.empty()) {
    const Rune rune = decode(bytes);
    const std::size_t length = rune.bytes == 0 ? 1 : rune.bytes;
    const bool kept = rune.bytes != 0 && keep(rune.code);
    if (out.size() + length * (kept ? 1 : 4) > limit) return out + "...";
    if (kept)
      out.append(bytes.substr(0, length));
    else
      for (std::size_t i = 0; i < length; ++i) appendHex(out, static_cast<unsigned char>(bytes[i]));
    bytes.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string escapeTerminal(std::string_view bytes, std::size_t limit) {
  return escape(bytes, limit, [](std::uint32_t c) { return !hostile(c); });
}

std::string inQuotes(std::string_view bytes, std::size_t limit) {
  return "'" + escapeTerminal(bytes, limit) + "'";
}

std::string escapeMarkup(std::string_view bytes, std::size_t limit) {
  std::string out;
  for (const char c : escapeTerminal(bytes, limit)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escapeMarkdown(std::string_view bytes, std::size_t limit) {
  std::string out;
  for (const char c : escapeTerminal(bytes, limit)) {
    if (std::string_view("\\`*_[]#|~!@").find(c) != std::string_view::npos) out += '\\';
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return out;
}

std::string toUtf8(std::string_view bytes) {
  return escape(bytes, std::string_view::npos - 8, [](std::uint32_t) { return true; });
}

std::string hexOf(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string quoteShell(std::string_view bytes) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  // zsh takes =ls for the path of ls.
  if (!bytes.empty() && bytes[0] != '=' &&
      bytes.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(bytes);
  if (escapeTerminal(bytes, std::string_view::npos - 8) == bytes) {
    std::string out = "'";
    for (const char c : bytes) c == '\'' ? out += "'\\''" : out += c;
    return out + "'";
  }
  return "$'" + escapeQuoted(bytes) + "'";
}

std::string asOperand(const std::string& path) {
  return path.starts_with('-') ? "./" + path : path;
}

std::string joinShell(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += quoteShell(word);
  }
  return line;
}

}  // namespace stallprof
