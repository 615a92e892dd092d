// SPDX-License-Identifier: MIT
#include "present/html/html_parts.h"
#include "present/html/report_html.h"
#include "present/words/report_markdown.h"
#include "present/words/wording.h"
#include "tests/catch.h"
#include "tests/unit/present/sample_analysis.h"

namespace stallprof {

using samples::contains;

TEST_CASE("text and attribute values cannot become markup") {
  Html html;
  {
    const auto p = html.open("p", {{"title", "\"><script>'&"}});
    html.text("<b> & \"'");
  }
  CHECK(html.str() ==
        "<p title=\"&quot;&gt;&lt;script&gt;&#39;&amp;\">&lt;b&gt; &amp; &quot;&#39;</p>");
}

TEST_CASE("control bytes, bidirectional controls and broken UTF-8 are shown, not written") {
  CHECK(escapeMarkup("a\x1b[2Jb") == "a\\x1b[2Jb");
  CHECK(escapeMarkup("\xe2\x80\xae") == "\\xe2\\x80\\xae");
  CHECK(escapeMarkup("\xff") == "\\xff");
  CHECK(escapeMarkup("na\xc3\xafve") == "na\xc3\xafve");
  CHECK(escapeMarkup(std::string(50, 'x'), 10) == "xxxxxxxxxx...");
}

TEST_CASE("elements end in the reverse order of their beginning") {
  Html html;
  {
    const auto outer = html.open("ul");
    html.add("li", "one");
    const auto inner = html.open("li");
    html.empty("br");
  }
  CHECK(html.str() == "<ul><li>one</li><li><br/></li></ul>");
}

TEST_CASE("numbers of a drawing are short and never in exponents") {
  CHECK(drawn(0) == "0");
  CHECK(drawn(12.5) == "12.5");
  CHECK(drawn(1e-9) == "0");
  CHECK(drawn(-0.001) == "0");
  CHECK(drawn(1e6) == "1000000");
  CHECK(drawn(0.0 / 0.0) == "0");
}

TEST_CASE("an axis has round numbers and says its unit once") {
  const auto numbers = [](const Axis& axis) {
    std::string text;
    for (const auto& [at, number] : axis.ticks) text += number + " ";
    return text + axis.unit;
  };
  CHECK(numbers(timeAxis(std::chrono::milliseconds(139), 4)) == "0 50 100 ms");
  CHECK(numbers(timeAxis(std::chrono::milliseconds(90), 4)) == "0 25 50 75 ms");
  CHECK(numbers(timeAxis(std::chrono::seconds(9), 4)) == "0 2.5 5.0 7.5 s");
  CHECK(numbers(bytesAxis(3.2e9, "/s", 4)) == "0 1 2 3 GB/s");
  CHECK(numbers(countAxis(2.2, "cores", 4)) == "0 1 2 cores");
}

TEST_CASE("an unmeasured figure has words and no value") {
  Html html;
  figure(html, "resources.cpu_ratio", Maybe<double>{}, "");
  CHECK(html.str() == "<span data-path=\"resources.cpu_ratio\">not measured</span>");
  Html nan;
  figure(nan, "x", 0.0 / 0.0, "0");
  CHECK(contains(nan.str(), "not measured"));
}

TEST_CASE("a page of nothing measured stands") {
  const std::string page = reportHtml(samples::nothing(), {});
  CHECK(contains(page, "No verdict"));
  CHECK(contains(page, "</html>"));
  CHECK(!contains(page, "NaN"));
}

TEST_CASE("a page has no script, and its findings are the analysis's, in order") {
  PresentOptions options;
  options.recording = "run.stallprof";
  const std::string page = reportHtml(samples::inputBound(), options);
  CHECK(!contains(page, "<script"));
  CHECK(!contains(page, "http:"));
  CHECK(!contains(page, "https:"));
  const std::size_t first = page.find("id=\"finding-1\""), second = page.find("id=\"finding-2\"");
  CHECK(first < second);
  CHECK(second != std::string::npos);
  CHECK(contains(page, "data-path=\"findings.0.advice.1.predicted.speedup\""));
  CHECK(contains(page, "data-path=\"steps.time_ns.p50\" data-value=\"408000000\">408 ms<"));
  CHECK(
      contains(page, "<span class=\"add\">+ DataLoader(ds, batch_size=64, num_workers=6)</span>"));
}

TEST_CASE("a page says what was waited for in the words of the text report, beside its bars") {
  const Analysis a = samples::inputBound();
  std::string line;
  for (const std::string& part : blameParts(a.breakdown)) line += (line.empty() ? "" : ", ") + part;
  REQUIRE_FALSE(line.empty());
  CHECK(contains(reportHtml(a, {}), line));
}

TEST_CASE("each step is drawn with what it is and what its time went to") {
  Analysis a = samples::inputBound();
  StripBar bar;
  bar.first = bar.last = 3;
  bar.low = bar.middle = bar.high = samples::ms(400);
  bar.split.compute = samples::ms(300);
  bar.split.wait = samples::ms(100);
  Picture picture;
  picture.strip.steps = 812;
  picture.strip.joined = 400;
  picture.strip.top = bar.high;
  picture.strip.bars = {bar};
  PresentOptions options;
  options.picture = &picture;
  const std::string page = reportHtml(a, options);
  CHECK(contains(page, "step 3: 400 ms; "));
  CHECK(!contains(page, "\\x0a"));
  CHECK(contains(page, "Of 812 steps 412 are drawn"));
  CHECK(contains(page, "from the start of one fetch to the start of the next"));
  a.steps.source = "optimizer";
  CHECK(!contains(reportHtml(a, options), "of one fetch"));
}

TEST_CASE("a page shows the most of an assumed gain with what it assumes, and no interval") {
  Analysis a = samples::inputBound();
  const auto page = [&] { return reportHtml(a, {}); };
  CHECK(contains(page(), "on a scale from 1x"));
  for (Finding& f : a.findings)
    for (Advice& advice : f.advice)
      if (advice.predicted.speedup)
        advice.predicted = {1.5, {}, 2.0, Basis::kAssumed, "half of it goes"};
  CHECK(contains(page(), "data-path=\"findings.0.advice.0.predicted.high\" data-value=\"2\""));
  CHECK(contains(page(), "up to 2.00x"));
  CHECK(contains(page(), "assuming that half of it goes"));
  CHECK(!contains(page(), "on a scale from 1x"));
}

TEST_CASE("a page and a Markdown report show what was measured beside what was predicted") {
  Analysis a = samples::inputBound();
  CHECK(!contains(reportHtml(a, {}), "measured 1.62x"));
  CHECK(!contains(reportMarkdown(a, {}), "change that was tried"));
  Advice& gained = a.findings[0].advice[0];
  gained.predicted = {1.5, 1.4, 1.6, Basis::kReplayed, {}};
  gained.measured = 1.62;
  gained.measuredLow = 1.55;
  gained.measuredHigh = 1.7;
  gained.outcome = "gain";
  Advice& failed = a.findings[1].advice[0];
  failed.measured = 1.0;
  failed.outcome = "no_gain";
  const std::string page = reportHtml(a, {}), markdown = reportMarkdown(a, {});
  CHECK(contains(page,
                 "data-path=\"findings.0.advice.0.measured\" data-value=\"1.62\">"
                 "1.62x (1.55x - 1.70x)<"));
  CHECK(contains(page, "measured 1.62x, on a scale from 1x") ==
        contains(page, "predicted 1.50x, on a scale from 1x"));
  CHECK(contains(page, ", predicted 1.40x - 1.60x."));
  CHECK(contains(page, "no gain: 1.00x"));
  CHECK(contains(markdown, "| 1.40x - 1.60x | 1.62x (1.55x - 1.70x) |"));
  CHECK(contains(markdown, "| no gain: 1.00x |"));
  gained.predicted = {};
  CHECK(contains(reportHtml(a, {}), "Gain of the first fix, measured"));
  CHECK_FALSE(contains(reportHtml(a, {}), ">gain not predicted<"));
}

TEST_CASE("text is cut between characters, and rows that are left out are named below the table") {
  std::string digits;
  for (int i = 0; i < 100; ++i) digits += "\xe6\x95\xb0";
  for (std::size_t limit = 30; limit < 36; ++limit) {
    const std::string cut = shortened(digits, limit);
    CHECK(cut.size() <= limit);
    CHECK((cut.size() - 3) % 3 == 0);
  }
  Analysis a = samples::inputBound();
  a.epochs.resize(45, a.epochs[0]);
  CHECK(
      contains(reportHtml(a, {}), "</table></div><p class=\"note\">and 5 more in the JSON report"));
}

TEST_CASE("a hostile analysis stays bounded, and none of its bytes is a control") {
  const std::string page = reportHtml(samples::hostile(), {});
  CHECK(page.size() < (std::size_t{1} << 20));
  CHECK(!contains(page, "<script"));
  for (const char c : page) CHECK_FALSE(((c >= 0 && c < 0x20 && c != '\n') || c == 0x7f));
  CHECK(!contains(page, "\xe2\x80\xae"));
}

}  // namespace stallprof
