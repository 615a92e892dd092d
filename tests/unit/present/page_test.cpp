// SPDX-License-Identifier: MIT
#include "present/words/page.h"

#include "tests/catch.h"

namespace stallprof {

TEST_CASE("columns are counted by characters, wide ones twice, combining ones not at all") {
  CHECK(columnsOf("abc") == 3);
  CHECK(columnsOf("na\xc3\xafve") == 5);
  CHECK(columnsOf("\xe6\x95\xb0\xe6\x8d\xae") == 4);
  CHECK(columnsOf("e\xcc\x81") == 1);
  CHECK(columnsOf("\xe2\x9a\xa1\xe2\x9c\x85") == 4);  // emoji among the symbols
  CHECK(columnsOf("\xe2\x9c\x93") == 1);
}

TEST_CASE("cutting says so and never splits a character") {
  CHECK(cut("short", 10) == "short");
  CHECK(cut("a longer text", 8) == "a lon...");
  CHECK(cut("\xe6\x95\xb0\xe6\x8d\xae\xe6\x95\xb0\xe6\x8d\xae", 6) == "\xe6\x95\xb0...");
  CHECK(cut("abcdef", 2) == "..");
}

TEST_CASE("folding breaks at spaces, breaks long words, and ends in dots when lines run out") {
  CHECK(fold("one two three four", 9, 9) == std::vector<std::string>{"one two", "three", "four"});
  CHECK(fold("aaaaaaaaaaaaaaaaaaaa", 8, 9) ==
        std::vector<std::string>{"aaaaaaaa", "aaaaaaaa", "aaaa"});
  CHECK(fold("one two three four", 9, 2) == std::vector<std::string>{"one two", "three..."});
  CHECK(fold("   ", 9, 9).empty());
}

TEST_CASE("a page holds no control byte and no line wider than itself") {
  Page page(80, false);
  std::string bytes(200, 'w');
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  page.line(bytes);
  page.field(bytes, 12, bytes);
  page.flow(bytes, 12, {bytes, "short", bytes}, " | ");
  page.command("check", 12, bytes, bytes);
  std::size_t from = 0, lines = 0;
  for (std::size_t to; (to = page.text().find('\n', from)) != std::string::npos; from = to + 1) {
    CHECK(columnsOf(page.text().substr(from, to - from)) <= 80);
    ++lines;
  }
  CHECK(lines == page.lines());
  for (const char c : page.text()) CHECK((c == '\n' || (c >= 0x20 && c != 0x7f) || c < 0));
}

TEST_CASE("parts flow side by side and break between each other") {
  Page page(40, false);
  page.flow("USE", 6, {"one part here", "another part", "the last part"}, "   ");
  CHECK(page.text() == "USE   one part here   another part\n      the last part\n");
}

TEST_CASE("parts that the lines do not hold are left out whole, and counted") {
  const std::vector<std::string> parts = {"one part here", "another part", "the last part"};
  Page page(40, false, 1);
  page.flow("USE", 6, parts, "   ");
  CHECK(page.text() == "USE   one part here   and 2 more\n");
  Page two(40, false, 2);
  two.flow("USE", 6, {"first", std::string(60, 'w'), "last"}, " | ");
  CHECK(two.text() == "USE   first | and 2 more\n");
}

TEST_CASE("a shell command stays a shell command however it is folded") {
  Page page(40, false);
  page.command("check", 8, "stallprof run -- python 'my  train.py' --batch-size 64", "");
  CHECK(page.text() ==
        "check   stallprof run -- python \\\n"
        "        'my  train.py' --batch-size 64\n");
}

TEST_CASE("a word of a command that fits in no line is not broken: it can be copied") {
  Page page(40, false);
  const std::string path(100, 'x');
  page.command("check", 8, "python " + path + " --lr 1", "");
  CHECK(page.text() == "check   python \\\n        " + path + " \\\n        --lr 1\n");
}

TEST_CASE("a command that cannot be shown whole is replaced, never cut") {
  Page page(40, false);
  std::string words = "python";
  for (int i = 0; i < 7; ++i) words += " " + std::string(20, 'x');
  page.command("check", 8, words, "too long");
  CHECK(page.text() == "check   too long\n");
}

TEST_CASE("colour adds nothing but escapes") {
  Page plain(80, false), coloured(80, true);
  for (Page* page : {&plain, &coloured}) {
    page->line("HEAD", Tone::kHeading);
    page->field("label", 8, "text", Tone::kQuiet);
  }
  std::string stripped = coloured.text();
  for (std::size_t at; (at = stripped.find('\x1b')) != std::string::npos;)
    stripped.erase(at, stripped.find('m', at) - at + 1);
  CHECK(stripped == plain.text());
  CHECK(coloured.text() != plain.text());
}

}  // namespace stallprof
