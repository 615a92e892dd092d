// SPDX-License-Identifier: MIT
#include "classify/rule_table.h"

#include <set>

#include "classify/own_rules.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

std::string complaintAbout(const std::string& toml) {
  const auto rules = parseRules(toml, "my.toml");
  REQUIRE(!rules.ok());
  CHECK(rules.error().kind == Error::Kind::kUsage);
  return rules.error().message;
}

const char* const kGood =
    "library = \"Mine\"\n"
    "source = \"mine 1.0\"\n"
    "[[rule]]\n"
    "id = \"mine.decode\"\n"
    "phase = \"transform\"\n"
    "modules = [\"mine/codec.py\"]\n"
    "functions = [\"Codec.decode\"]\n"
    "waits = true\n";

}  // namespace

TEST_CASE("the built-in rules parse, and every id is there once") {
  std::set<std::string> ids;
  for (const PhaseRule& rule : RuleTable::builtIn().rules()) {
    CHECK(ids.insert(rule.id).second);
    CHECK(!rule.note.empty());
    CHECK(!rule.source.empty());
    CHECK(!rule.users);
  }
  CHECK(ids.size() > 100);
  for (const OwnRule& own : ownRules()) CHECK(ids.count(std::string(own.id)) == 0);
}

TEST_CASE("a rule file becomes rules with file, line and family") {
  const auto rules = parseRules(kGood, "my.toml");
  REQUIRE(rules.ok());
  REQUIRE(rules.value().size() == 1);
  const PhaseRule& rule = rules.value()[0];
  CHECK(rule.id == "mine.decode");
  CHECK(rule.phase == Phase::kTransform);
  CHECK(rule.family == "Mine");
  CHECK(rule.source == "mine 1.0");
  CHECK(rule.waits);
  CHECK(rule.covers == PhaseRule::Covers::kNothing);
  CHECK(rule.file == "my.toml");
  CHECK(rule.line == 3);
}

TEST_CASE("what is wrong in a rule file is said with file and line") {
  const std::string head = "[[rule]]\nid = \"a\"\n", load = head + "phase = \"load\"\n",
                    right = load + "modules = [\"x.py\"]\n";
  CHECK(complaintAbout(head + "phase = \"transform\"\nmodule = [\"x.py\"]\n") ==
        "my.toml:4: 'module' is no key of a rule");
  CHECK(complaintAbout(head + "phase = \"decode\"\nmodules = [\"x.py\"]\n").substr(0, 35) ==
        "my.toml:3: 'decode' is no phase; th");
  CHECK(complaintAbout(head + "phase = \"unknown\"\nmodules = [\"x.py\"]\n").substr(0, 32) ==
        "my.toml:3: 'unknown' is no phase");
  CHECK(complaintAbout(load).find("matches nothing") != std::string::npos);
  CHECK(complaintAbout(head + "modules = [\"x.py\"]\n").find("neither phase nor context") !=
        std::string::npos);
  CHECK(complaintAbout(load + "modules = []\n") ==
        "my.toml:4: modules takes a list of 1 to 256 texts");
  CHECK(complaintAbout(load + "modules = \"x.py\"\n") ==
        "my.toml:4: modules takes a list of 1 to 256 texts");
  CHECK(complaintAbout(right + "overhead = \"gc\"\n") ==
        "my.toml:1: rule 'a' has an overhead, but is not periodic");
  CHECK(complaintAbout(
            head + "phase = \"periodic\"\nmodules = [\"x.py\"]\noverhead = \"compilation\"\n") ==
        "my.toml:1: rule 'a' is about compilation, but not compute");
  CHECK(complaintAbout(right + "waits = 1\n") == "my.toml:5: waits is true or false");
  CHECK(complaintAbout(right + "covers = \"some\"\n") ==
        "my.toml:5: covers is true, false or \"library\"");
  CHECK(complaintAbout(right + "context = \"both\"\n") ==
        "my.toml:5: 'both' is no context; there are producer, trainer and any");
  CHECK(complaintAbout("[[rule]]\nid = \"A b\"\nphase = \"load\"\nmodules = [\"x\"]\n")
            .find("id 'A b' takes") != std::string::npos);
  CHECK(complaintAbout("rules = 1\n") == "my.toml:1: 'rules' is not library, source or [[rule]]");
  CHECK(complaintAbout("[rule]\nid = \"a\"\n").find("my.toml:1: ") == 0);
  CHECK(complaintAbout("a = \n").find("my.toml:1: ") == 0);
}

TEST_CASE("an id used twice is said with both lines") {
  const std::string rule = "[[rule]]\nid = \"a\"\nphase = \"load\"\nmodules = [\"x.py\"]\n";
  CHECK(complaintAbout(rule + rule) == "my.toml:5: rule 'a' is already in line 1");
}

TEST_CASE("a hostile rule file is refused, not obeyed") {
  CHECK(complaintAbout(std::string((1u << 20) + 1, '#')) == "my.toml:1: larger than 1 MiB");
  CHECK(complaintAbout("[[rule]]\nid = \"\\u001b[31m\"\nphase = \"load\"\nmodules = [\"x\"]\n")
            .find('\x1b') == std::string::npos);
  for (const char* header :
       {"[[[", "[]", "[[", "[ ", "[[rule]", "[=]", "[[\"", "[.a]", "[rule.x]"}) {
    INFO(header);
    CHECK(complaintAbout(std::string("a = 1\n  ") + header + "\n").find("my.toml:2: ") == 0);
  }
  CHECK(complaintAbout(std::string(100'000, '[')).find("my.toml:1: ") == 0);
  CHECK(complaintAbout("library = " + std::string(100'000, '[')).find("my.toml:1: ") == 0);
  CHECK(complaintAbout("[[rule]]\nid = {a = " + std::string(5000, '{') + "\n").find("my.toml:") ==
        0);
}

TEST_CASE("users' rules go first, and may not take a built-in id") {
  const auto table = RuleTable::withUsers(kGood, "my.toml");
  REQUIRE(table.ok());
  CHECK(table.value().rules()[0].id == "mine.decode");
  CHECK(table.value().rules()[0].users);
  CHECK(table.value().find("torch.collate") != nullptr);
  const auto clash = RuleTable::withUsers(
      "[[rule]]\nid = \"torch.collate\"\nphase = \"load\"\nmodules = [\"x\"]\n", "my.toml");
  REQUIRE(!clash.ok());
  CHECK(clash.error().message ==
        "my.toml:1: rule 'torch.collate' is a built-in one (torch.toml); choose another id");
}
