// SPDX-License-Identifier: MIT
#include "advise/explain.h"

#include <algorithm>
#include <string>

#include "analysis/verdict/registry.h"
#include "tests/catch.h"

using namespace stallprof;

TEST_CASE("every finding has a page with its rule, fixes and limits") {
  for (const auto id : explainedIds()) {
    CAPTURE(id);
    const auto page = explain(id);
    REQUIRE(page);
    CHECK(page->starts_with(id));
    const auto lines = std::count(page->begin(), page->end(), '\n');
    CHECK(lines >= 8);
    CHECK(lines <= 20);
    if (id == kStepsPage) continue;
    CHECK(page->find("Fires when:") != std::string_view::npos);
    CHECK(page->find("Fixes:") != std::string_view::npos);
    CHECK(page->find("When it is wrong:") != std::string_view::npos);
  }
}

TEST_CASE("pages fit a terminal of 100 columns in plain ASCII") {
  for (const auto id : explainedIds()) {
    CAPTURE(id);
    const std::string page(explain(id).value_or(""));
    std::size_t column = 0, widest = 0;
    bool plain = true;
    for (const char c : page) {
      column = c == '\n' ? 0 : column + 1;
      widest = std::max(widest, column);
      plain = plain && (c == '\n' || (c >= ' ' && c <= '~'));
    }
    CHECK(widest <= 100);
    CHECK(plain);
  }
}

TEST_CASE("the pages are those of the registry, in its order, and the one on steps") {
  REQUIRE(explainedIds().size() == allFindings().size() + 1);
  CHECK(explainedIds().back() == kStepsPage);
  for (std::size_t i = 0; i < allFindings().size(); ++i)
    CHECK(explainedIds()[i] == allFindings()[i]->id);
}

TEST_CASE("an unknown id has no page") {
  CHECK_FALSE(explain("transform.nothing"));
  CHECK_FALSE(explain(""));
}
