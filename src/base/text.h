// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stallprof {

// Text that came from the job, a path or a recording: it may hold any byte. It has no implicit
// conversion, so it reaches a sink only through that sink's escape below.
class Untrusted {
 public:
  Untrusted() = default;
  explicit Untrusted(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] const std::string& raw() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  friend bool operator==(const Untrusted&, const Untrusted&) = default;
  friend auto operator<=>(const Untrusted&, const Untrusted&) = default;

 private:
  std::string bytes_;
};

// For a terminal or a log line: C0, DEL, C1, bidirectional and zero-width controls and invalid
// UTF-8 become \xNN (CVE-2024-58251 is what happens otherwise); at most `limit` bytes, then "...".
[[nodiscard]] std::string escapeTerminal(std::string_view bytes, std::size_t limit = 4096);
// The same between '': how a message names a path or a word of the user's.
[[nodiscard]] std::string inQuotes(std::string_view bytes, std::size_t limit = 400);

// As text or an attribute's value in HTML and XML: what escapeTerminal escapes, and & < > " '.
[[nodiscard]] std::string escapeMarkup(std::string_view bytes, std::size_t limit = 4096);

// Text that means itself in Markdown and HTML: controls escaped as for a terminal, punctuation
// backslashed, angle brackets and ampersands as entities. An @ names nobody.
[[nodiscard]] std::string escapeMarkdown(std::string_view bytes, std::size_t limit = 4096);

// Valid UTF-8 for a JSON string value: each byte that is not part of valid UTF-8 becomes U+FFFD
// written as its escape \xNN in the text. The JSON library does the quoting.
[[nodiscard]] std::string toUtf8(std::string_view bytes);

// As lower-case hex digits, two a byte.
[[nodiscard]] std::string hexOf(std::span<const std::uint8_t> bytes);

// The parts with `between` between each two; `parts`: a range of strings or views.
template <class Parts>
[[nodiscard]] std::string joined(const Parts& parts, std::string_view between) {
  std::string out;
  for (const auto& part : parts) {
    if (!out.empty()) out += between;
    out += part;
  }
  return out;
}

// One shell word: quoted only when it must be. Control bytes are escaped as $'\xNN'. bash, zsh and
// ksh read the very bytes back.
[[nodiscard]] std::string quoteShell(std::string_view bytes);
// A path that no command takes for an option: "-x" becomes "./-x".
[[nodiscard]] std::string asOperand(const std::string& path);
// A whole command line: each word quoted, one space between.
[[nodiscard]] std::string joinShell(const std::vector<std::string>& words);

}  // namespace stallprof
