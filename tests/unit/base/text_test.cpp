// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <array>
#include <cstdio>

#include "tests/catch.h"

namespace stallprof {
namespace {

// What bash makes of a word: its bytes, through a pipe.
std::string readByShell(const std::string& word) {
  const std::string script = "printf %s " + word;
  std::string quoted = "bash -c '";
  for (const char c : script) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  FILE* pipe = ::popen((quoted + "'").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string bytes;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) bytes += static_cast<char>(c);
  ::pclose(pipe);
  return bytes;
}

bool safeOnTerminal(const std::string& text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  return true;
}

TEST_CASE("each of the 256 bytes is safe on a terminal") {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = escapeTerminal(std::string(1, static_cast<char>(byte)));
    INFO("byte " << byte);
    CHECK(safeOnTerminal(text));
    const bool printable = byte >= 0x20 && byte < 0x7F;
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(byte));
    CHECK(text == (printable ? std::string(1, static_cast<char>(byte)) : escaped));
  }
}

TEST_CASE("letters of all scripts stay as they are") {
  const std::string text = "Grüße, 世界, 🙂, naïve";
  CHECK(escapeTerminal(text) == text);
  CHECK(toUtf8(text) == text);
}

TEST_CASE("valid UTF-8 that steers a terminal or hides is escaped byte by byte") {
  CHECK(escapeTerminal("\xC2\x9B") == "\\xc2\\x9b");                    // C1: CSI
  CHECK(escapeTerminal("\xE2\x80\xAE") == "\\xe2\\x80\\xae");           // right-to-left override
  CHECK(escapeTerminal("\xE2\x81\xA6") == "\\xe2\\x81\\xa6");           // isolate
  CHECK(escapeTerminal("\xE2\x80\x8B") == "\\xe2\\x80\\x8b");           // zero width space
  CHECK(escapeTerminal("\xEF\xBB\xBF") == "\\xef\\xbb\\xbf");           // byte order mark
  CHECK(escapeTerminal("\xEF\xBF\xBF") == "\\xef\\xbf\\xbf");           // no character, nor in XML
  CHECK(escapeTerminal("\xF3\xA0\x81\x81") == "\\xf3\\xa0\\x81\\x81");  // tag letter
  CHECK(escapeTerminal("a\x1B]0;x\x07") == "a\\x1b]0;x\\x07");
}

TEST_CASE("bytes that are not UTF-8 are escaped") {
  CHECK(toUtf8("\xC0\xAF") == "\\xc0\\xaf");                    // overlong /
  CHECK(toUtf8("\xE0\x80\xAF") == "\\xe0\\x80\\xaf");           // overlong in three
  CHECK(toUtf8("\xF0\x80\x80\xAF") == "\\xf0\\x80\\x80\\xaf");  // overlong in four
  CHECK(toUtf8("\xED\xA0\x80") == "\\xed\\xa0\\x80");           // surrogate
  CHECK(toUtf8("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // past U+10FFFF
  CHECK(toUtf8("\xF5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");
  CHECK(toUtf8("\xE4\xB8") == "\\xe4\\xb8");  // cut off
  CHECK(toUtf8("\xE4x") == "\\xe4x");
  CHECK(toUtf8("\x80") == "\\x80");
  CHECK(toUtf8("tab\tand\nline") == "tab\tand\nline");  // JSON's library quotes these
}

TEST_CASE("long text is cut between characters") {
  CHECK(escapeTerminal("abcdef", 3) == "abc...");
  CHECK(escapeTerminal("ab世界", 4) == "ab...");
  CHECK(escapeTerminal("abc", 3) == "abc");
  CHECK(escapeTerminal("a\x01\x01", 5) == "a\\x01...");
}

TEST_CASE("a shell reads back the bytes of a quoted word") {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& word :
       {std::string("plain-word.py"), std::string("two words"), std::string(""),
        std::string("it's"), std::string("back\\slash"), std::string("\\n and \n and \\x41"),
        std::string("'\x01\\'"), std::string("$HOME `id` \"x\" *"), std::string("\x1B[31m9"),
        std::string("Grüße 世界"), std::string("=ls"), all}) {
    INFO(quoteShell(word));
    CHECK(readByShell(quoteShell(word)) == word);
    CHECK(safeOnTerminal(quoteShell(word)));
  }
}

TEST_CASE("a command line quotes only what needs it") {
  CHECK(joinShell({"python", "train.py", "--name=a b", "it's"}) ==
        "python train.py '--name=a b' 'it'\\''s'");
  CHECK(joinShell({"=ls", "a=b"}) == "'=ls' a=b");  // zsh's =ls is a path
  CHECK(joinShell({}) == "");
  CHECK(joinShell({""}) == "''");
}

TEST_CASE("Markdown text cannot become markup") {
  CHECK(escapeMarkdown("<b>&[x](y)|`*_") == "&lt;b&gt;&amp;\\[x\\](y)\\|\\`\\*\\_");
  CHECK(escapeMarkdown("by @someone") == "by \\@someone");
  CHECK(escapeMarkdown("a\x1b[2Jb") == "a\\\\x1b\\[2Jb");
}

}  // namespace
}  // namespace stallprof
