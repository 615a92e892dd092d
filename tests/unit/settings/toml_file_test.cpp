// SPDX-License-Identifier: MIT
#include "settings/toml_file.h"

#include "tests/catch.h"

using namespace stallprof;

namespace {

// A file of tables [NAME] and [[NAME]] that begin with a letter.
class AnyFile : TomlFile {
 public:
  AnyFile() : TomlFile("a\nb.toml") {}
  Result<TomlTable> read(std::string_view text) {
    const Limits limits = {1000, "too large",
                           [](std::string_view row) {
                             const std::size_t name = row.find_first_not_of('[');
                             return name < row.size() && row[name] >= 'a' && row[name] <= 'z';
                           },
                           "no such table"};
    return parse(text, limits);
  }
};

std::string complaint(std::string_view text) {
  const auto top = AnyFile().read(text);
  return top.ok() ? "" : top.error().message;
}

}  // namespace

TEST_CASE("values keep their type and their line, keys their order") {
  const auto read = AnyFile().read(
      "b = 'text'\na = 3\nc = 2.5\nd = true\ne = 2026-12-31\n[t]\nlist = [1, 'x']\n");
  REQUIRE(read.ok());
  const TomlTable& top = read.value();
  REQUIRE(top.entries.size() == 6);
  CHECK(top.entries[0].first == "a");
  CHECK(*top.find("a")->as<std::int64_t>() == 3);
  CHECK(top.find("a")->as<double>() == nullptr);
  CHECK(top.find("a")->text().empty());
  CHECK(top.find("a")->line() == 2);
  CHECK(top.find("b")->text() == "text");
  CHECK(*top.find("c")->as<double>() == 2.5);
  CHECK(*top.find("d")->as<bool>());
  CHECK(top.find("e")->as<TomlValue::Date>()->month == 12);
  const auto* table = top.find("t")->as<TomlTable>();
  REQUIRE(table != nullptr);
  CHECK(table->line == 6);
  const auto* list = table->find("list")->as<TomlValue::List>();
  REQUIRE(list != nullptr);
  CHECK(list->size() == 2);
  CHECK(list->back().text() == "x");
  CHECK(top.find("none") == nullptr);
}

TEST_CASE("a complaint names the file, escaped, and the line") {
  CHECK(complaint("a = 1\n  [ x]\n").ends_with("b.toml:2: no such table"));
  CHECK(complaint("[]\n").ends_with(":1: no such table"));
  CHECK(complaint("a = 1\na = = 2\n").find(":2: ") != std::string::npos);
  CHECK(complaint("a = '\n").find('\n') == std::string::npos);
  CHECK(complaint(std::string(1001, ' ')).ends_with(":1: too large"));
  CHECK(complaint("[ok]\na = [1]\n") == "");
}

TEST_CASE("a key of thousands of parts, at each of which a parser would call itself, is refused") {
  const auto parts = [](int count, const std::string& between) {
    std::string key;
    for (int i = 0; i < count; ++i) key += "a" + between;
    return key;
  };
  CHECK(complaint("x = 1\n" + parts(100, ".") + "b = 1\n")
            .ends_with(":2: a key has more than 64 parts"));
  CHECK(complaint("x = { " + parts(70, " . ") + "b = 1 }\n").ends_with("more than 64 parts"));
  CHECK(complaint(parts(70, "\t.\"a b\".") + "b = 1\n").ends_with("more than 64 parts"));
  CHECK(complaint(parts(60, ".") + "b = 1\n").empty());
  CHECK(
      complaint("x = '" + parts(100, " b. ") + "'\ny = '" + std::string(200, '.') + "'\n").empty());
}
