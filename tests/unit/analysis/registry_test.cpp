// SPDX-License-Identifier: MIT
#include "analysis/verdict/registry.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "analysis/findings/loader_setting.h"
#include "base/fd.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

// The unit tests of the findings, and the golden reports.
std::string textsOfTests() {
  namespace fs = std::filesystem;
  std::string all;
  const fs::path tests(STALLPROF_TESTS_DIR);
  for (const auto& file : fs::directory_iterator(tests / "unit/analysis"))
    if (file.path().filename() != "registry_test.cpp") all += readFile(file.path()).value();
  for (const auto& folder : fs::directory_iterator(tests / "golden"))
    if (const auto report = folder.path() / "report.json"; fs::exists(report))
      all += readFile(report).value();
  return all;
}

// An advice as it comes out of a rule, with nothing filled in.
std::string sentenceOf(const AdviceDefinition& definition, const FindingDefinition& of) {
  Analysis analysis;
  Finding finding;
  finding.phase = of.phase();
  Advice advice;
  advice.id = definition.id;
  advice.change = {"code", "x", "1", "2"};
  return definition.sentence({analysis, finding, advice, nullptr});
}

}  // namespace

TEST_CASE("every finding of the registry is whole: phase, rule, advice, page") {
  for (const FindingDefinition* each : allFindings()) {
    CAPTURE(each->id);
    const std::string_view phase = each->id.substr(0, each->id.find('.'));
    CHECK(nameOf(each->phase()) == (phase == "host" ? "other" : phase));
    CHECK(each->rule != nullptr);
    CHECK(each->advice[0] != nullptr);
    for (const std::string_view part :
         {each->page.cause, each->page.rule, each->page.fixes, each->page.wrong})
      CHECK_FALSE(part.empty());
    CHECK(findingDefinition(each->id) == each);
  }
  CHECK(findingDefinition("transform.nothing") == nullptr);
}

TEST_CASE("ids are unique, and of a finding so are those of its advice") {
  std::set<std::string_view> ids;
  for (const FindingDefinition* each : allFindings()) {
    CAPTURE(each->id);
    CHECK(ids.insert(each->id).second);
    std::set<std::string_view> advice;
    for (const AdviceDefinition* offered : each->advice)
      if (offered) CHECK(advice.insert(offered->id).second);
  }
}

TEST_CASE("every advice that a finding may offer has a sentence") {
  for (const FindingDefinition* each : allFindings())
    for (const AdviceDefinition* offered : each->advice) {
      if (!offered) continue;
      CAPTURE(each->id, offered->id);
      CHECK(sentenceOf(*offered, *each).size() > 20);
      CHECK(each->offered(offered->id) == offered);
    }
}

TEST_CASE("a finding lies within findings that exist, and never within itself") {
  for (const FindingDefinition* each : allFindings())
    for (const std::string_view parent : each->within) {
      if (parent.empty()) continue;
      CAPTURE(each->id, parent);
      CHECK(findingDefinition(parent) != nullptr);
      CHECK(parent != each->id);
    }
}

TEST_CASE("every finding has a test that fires it, or a golden report") {
  const std::string texts = textsOfTests();
  for (const FindingDefinition* each : allFindings()) {
    CAPTURE(each->id);
    CHECK(texts.find("\"" + std::string(each->id) + "\"") != std::string::npos);
  }
}
