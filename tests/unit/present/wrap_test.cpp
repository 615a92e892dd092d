// SPDX-License-Identifier: MIT
// Text of a report wraps in its column and is never cut, on pages of any width: all golden traces.
#include <algorithm>
#include <sstream>

#include "advise/advise.h"
#include "present/words/page.h"
#include "present/words/page_findings.h"
#include "present/words/report_text.h"
#include "present/words/wording.h"
#include "tests/catch.h"
#include "tests/unit/present/export_sample.h"
#include "tests/unit/present/sample_analysis.h"

namespace stallprof {
namespace {

Analysis analysisOf(const std::string& golden) {
  Analysis analysis = samples::sampleOf(samples::goldenText(golden)).analyzed.analysis;
  advise(analysis, "before.stallprof");
  return analysis;
}

std::string pageOf(const Analysis& analysis, int width) {
  PresentOptions options;
  options.width = width;
  options.recording = "before.stallprof";
  return reportText(analysis, options);
}

std::vector<std::string> wordsOf(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Words with one space between, so that where a line ends makes no difference.
std::string unwrapped(const std::string& text) {
  std::string out = " ";
  for (const std::string& word : wordsOf(text)) out += word + " ";
  return out;
}

// `flat` is a page, unwrapped.
void checkWhole(const std::string& flat, const std::string& text) {
  INFO(text);
  CHECK(flat.find(unwrapped(text)) != std::string::npos);
}

// The words of a title that wraps inside a table are apart in the page's text, but all there.
void checkWords(const std::string& flat, const std::string& text) {
  for (const std::string& word : wordsOf(text)) {
    INFO(word << " of " << text);
    CHECK(flat.find(" " + word + " ") != std::string::npos);
  }
}

void checkPage(const Analysis& a, const std::string& page) {
  const std::string flat = unwrapped(page);
  checkWhole(flat, verdictText(a));
  for (const std::string& part : a.notMeasured) checkWhole(flat, part);
  for (const std::string& part : a.notAProblem) checkWhole(flat, part);
  for (const Ceiling& c : a.ceilings) checkWords(flat, c.stage + " " + c.limitedBy);
  for (const FindingRow& row : findingRows(a)) {
    const Finding& f = *row.finding;
    // Without room for its row it stands below the table, by its id.
    const bool shown = page.find("\n " + std::to_string(f.rank) + " " + f.id) != std::string::npos;
    checkWords(flat, f.id + (shown ? " " + f.title : ""));
    const std::string heading = std::to_string(f.rank) + "  " + f.id + "  ";
    if (page.find("\n" + heading) == std::string::npos) continue;
    checkWhole(flat, heading + f.title);
    if (!f.evidence.empty()) checkWhole(flat, f.evidence[0].text);
    if (f.advice.empty()) continue;
    checkWhole(flat, "change " + adviceText(f.advice[0]));
    if (!f.advice[0].risk.empty()) checkWhole(flat, "risk " + f.advice[0].risk);
  }
}

void checkLine(const std::string& line, int width) {
  INFO(line);
  CHECK(columnsOf(line) <= static_cast<std::size_t>(width));
  // The names of kernels alone are shortened, and inside a line.
  CHECK((!line.ends_with("...") || line.find("longest") != std::string::npos));
}

}  // namespace

TEST_CASE("no text of a report is cut at any width, and no line is wider than the page") {
  const std::vector<std::string> goldens = samples::goldens();
  REQUIRE(goldens.size() >= 30);
  for (const std::string& golden : goldens) {
    const Analysis a = analysisOf(golden);
    for (const int width : {80, 87, 100, 111, 120}) {
      INFO(golden << " at " << width);
      const std::string page = pageOf(a, width);
      std::istringstream in(page);
      std::size_t lines = 0;
      for (std::string line; std::getline(in, line); ++lines) checkLine(line, width);
      CHECK(lines <= kTextLines);
      checkPage(a, page);
    }
  }
}

TEST_CASE("a page without room for all leaves items out, never words") {
  for (const std::string& golden : samples::goldens()) {
    Analysis a = analysisOf(golden);
    for (Finding& f : a.findings)
      for (Advice& advice : f.advice) advice.risk += " and so on, in the words of a long sentence";
    stallprof::samples::addLongFunctions(a);
    for (const int width : {80, 100}) {
      INFO(golden << " at " << width);
      const std::string page = pageOf(a, width);
      CHECK(static_cast<std::size_t>(std::count(page.begin(), page.end(), '\n')) <= kTextLines);
      checkPage(a, page);
    }
  }
}

TEST_CASE("a place with a long function keeps the ends of both, and its file and line") {
  SourceLine place;
  place.function = Untrusted("main.<locals>.between.<locals>.<listcomp>");
  place.file = Untrusted("/home/user/project/average_models.py");
  place.line = 22;
  CHECK(placeText(place, 50) == "...tween.<locals>.<listcomp>() in ..._models.py:22");
  CHECK(placeText(place, 70) ==
        "main.<locals>.between.<locals>.<listcomp>() in ...average_models.py:22");
  CHECK(placeText(place, 12) == "...els.py:22");
}

TEST_CASE("where a finding's place has no room beside its title it has a line of its own") {
  Analysis a = analysisOf(samples::goldens().front());
  REQUIRE_FALSE(a.findings.empty());
  a.findings[0].where.function = Untrusted("main.<locals>.between.<locals>.<listcomp>");
  a.findings[0].where.file = Untrusted("train.py");
  a.findings[0].where.line = 22;
  CHECK(pageOf(a, 100).find(" main.<locals>.between.<locals>.<listcomp>() in train.py:22\n") !=
        std::string::npos);
}

TEST_CASE("a long path keeps its end, which says which file it is") {
  CHECK(cutLeft("/home/user/project/train/data/loader.py:30", 25) == "...rain/data/loader.py:30");
  CHECK(cutLeft("loader.py:30", 12) == "loader.py:30");
  CHECK(cutLeft("\xe6\x95\xb0\xe6\x8d\xae\xe6\x95\xb0\xe6\x8d\xae", 6) == "...\xe6\x8d\xae");
}

}  // namespace stallprof
