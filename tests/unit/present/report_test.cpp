// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "present/formats.h"
#include "present/html/report_html.h"
#include "present/metrics/report_json.h"
#include "present/words/page.h"
#include "present/words/report_markdown.h"
#include "present/words/report_text.h"
#include "present/words/wording.h"
#include "present/words/wording_functions.h"
#include "stallprof/version.h"
#include "tests/catch.h"
#include "tests/unit/present/sample_analysis.h"

namespace stallprof {
namespace {

using samples::contains;

PresentOptions wide(int width) {
  PresentOptions options;
  options.width = width;
  options.recording = "run.stallprof";
  return options;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Compares with tests/unit/present/golden/NAME; STALLPROF_REFRESH_GOLDENS=1 writes it instead.
void checkGolden(const std::string& name, std::string text) {
  const std::string version = STALLPROF_VERSION;
  for (std::size_t at; (at = text.find(version)) != std::string::npos;)
    text.replace(at, version.size(), "VERSION");
  const std::string path = std::string(STALLPROF_TESTS_DIR) + "/unit/present/golden/" + name;
  if (std::getenv("STALLPROF_REFRESH_GOLDENS") != nullptr) std::ofstream(path) << text;
  std::ifstream in(path);
  std::stringstream golden;
  golden << in.rdbuf();
  INFO(path);
  CHECK(text == golden.str());
}

// No byte a terminal, an editor or a browser would act upon; bidirectional controls included.
void checkClean(const std::string& text, bool ascii) {
  const auto acts = [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n') || byte == 0x7f || (ascii && byte > 0x7f);
  };
  const auto bad = std::find_if(text.begin(), text.end(), acts);
  INFO("at byte " << bad - text.begin() << " of " << text.size());
  CHECK(bad == text.end());
  for (const char* control : {"\xe2\x80\xae", "\xe2\x80\x8b", "\xc2\x9b"})
    CHECK(!contains(text, control));
}

const std::pair<const char*, Analysis (*)()> kSamples[] = {
    {"nothing", samples::nothing}, {"input_bound", samples::inputBound},
    {"healthy", samples::healthy}, {"no_steps", samples::noSteps},
    {"damaged", samples::damaged}, {"tied", samples::tied},
    {"hostile", samples::hostile}};

}  // namespace

TEST_CASE("a price where no fix saves any of it speaks of none") {
  CHECK(costText({2.5, 0.0443, 0.0169}) ==
        "at 2.50 an hour: 0.0443 per epoch, 0.0169 of it saved by the first fix");
  CHECK(costText({2.5, 0.0443, 0.0}) == "at 2.50 an hour: 0.0443 per epoch");
}

TEST_CASE("the terminal report reads as reviewed") {
  checkGolden("input_bound.txt", reportText(samples::inputBound(), wide(100)));
  checkGolden("input_bound_80.txt", reportText(samples::inputBound(), wide(80)));
  checkGolden("healthy.txt", reportText(samples::healthy(), wide(100)));
  checkGolden("no_steps.txt", reportText(samples::noSteps(), wide(100)));
  checkGolden("nothing.txt", reportText(samples::nothing(), wide(100)));
  checkGolden("damaged.txt", reportText(samples::damaged(), wide(100)));
  checkGolden("tied.txt", reportText(samples::tied(), wide(100)));
}

TEST_CASE("the Markdown report reads as reviewed") {
  checkGolden("input_bound.md", reportMarkdown(samples::inputBound(), wide(100)));
}

TEST_CASE("the terminal report keeps to its lines and columns whatever the recording holds") {
  for (const auto& [name, make] : kSamples)
    for (const int width : {1, 80, 93, 100, 120, 500}) {
      INFO(name << " at " << width);
      const std::vector<std::string> lines = linesOf(reportText(make(), wide(width)));
      CHECK(lines.size() <= kTextLines);
      const auto columns = static_cast<std::size_t>(std::clamp(width, 80, 120));
      for (const std::string& line : lines)
        if (columnsOf(line) > columns) FAIL_CHECK(line);
    }
}

TEST_CASE("what was lost is said in words, beside a recording of any name") {
  Analysis a = samples::inputBound();
  a.coverage.losses = {{"threads_skipped", 6}, {"stacks_torn", 33}, {"stacks_skipped", 1}};
  PresentOptions options = wide(100);
  options.recording = "/scratch/me/experiments/train_classifier.stallprof";
  const std::string text = reportText(a, options);
  CHECK(contains(text, "33 stacks changed while read"));
  CHECK(contains(text, "1 stack left out"));
}

TEST_CASE("a limit that came while the job ran stands beside the cores of its start") {
  Analysis a = samples::inputBound();
  a.run.host.coresOnline = 8;
  a.run.host.coresUsable = 2;
  a.resources.cores = 2.01;
  CHECK(contains(reportText(a, wide(120)), "2 of 8 cores"));
  CHECK(!contains(reportText(a, wide(120)), "cores at the start"));
  a.resources.cores = 0.6;
  CHECK(contains(reportText(a, wide(120)), "2 of 8 cores at the start, 0.6 in the window"));
}

TEST_CASE("a page that is one line too long loses one item, not one of each") {
  const auto shownOf = [](int listed) {
    Analysis a = samples::inputBound();
    a.findings[0].evidence.resize(5, a.findings[0].evidence[0]);
    for (int i = 0; i < listed; ++i) a.ceilings.push_back(a.ceilings[0]);
    const std::string text = reportText(a, wide(100));
    return std::pair(linesOf(text).size(), text);
  };
  std::size_t before = shownOf(0).first;
  bool full = false;
  for (int listed = 1; listed < 24; ++listed) {
    const std::size_t now = shownOf(listed).first;
    CHECK(now <= kTextLines);
    if (full) CHECK(now + 12 >= kTextLines);  // the longest item, an unfolded finding, takes 12
    full = full || now < before + 1;
    before = now;
  }
  CHECK(full);
}

TEST_CASE("a page with room for one epoch still says that it is one") {
  Analysis a = samples::inputBound();
  samples::addLongFunctions(a);
  REQUIRE(a.epochs.size() > 1);
  CHECK(contains(reportText(a, wide(80)), "\nEPOCHS"));
}

TEST_CASE("nothing from the job acts upon a terminal, an editor or a parser") {
  const Analysis a = samples::hostile();
  checkClean(reportText(a, wide(100)), false);
  checkClean(reportMarkdown(a, wide(100)), false);
  checkClean(reportJson(a), true);
}

TEST_CASE("a second function of a phase is an item of it in Markdown, not a block of code") {
  Analysis a = samples::inputBound();
  samples::addLongFunctions(a);
  const std::string text = reportMarkdown(a, wide(100));
  const std::size_t from = text.find("# Functions"), to = text.find("\n#", from + 1);
  REQUIRE(from != std::string::npos);
  CHECK(contains(text.substr(from, to - from), "\n  - "));
  CHECK_FALSE(contains(text.substr(from, to - from), "-   "));
}

TEST_CASE("a bar in a name of native code ends no cell of a Markdown table") {
  Analysis a = samples::inputBound();
  a.native.emplace().functions.resize(1);
  a.native->functions[0].leaf.function = Untrusted("operator|");
  a.native->functions[0].className = "math";
  const std::string text = reportMarkdown(a, {});
  CHECK(contains(text, "| math | `"));
  CHECK(contains(text, "operator\\|"));
  CHECK_FALSE(contains(text, "operator|"));
}

TEST_CASE("our own words are ASCII") {
  for (const auto& [name, make] : kSamples)
    if (std::string_view(name) != "hostile") checkClean(reportText(make(), wide(100)), true);
}

TEST_CASE("what was not measured is said, never shown as zero") {
  const std::string text = reportText(samples::nothing(), wide(100));
  CHECK(contains(text, "CPU not measured"));
  CHECK(contains(text, "WHERE TIME WENT  not measured"));
  CHECK(!contains(text, "0 %"));
  CHECK(!contains(text, "0 ns"));
}

TEST_CASE("the verdict of a healthy run comes before anything else") {
  const std::string text = reportText(samples::healthy(), wide(100));
  CHECK(text.find("Nothing to fix in the input pipeline: compute-bound") < text.find("STEP TIME"));
}

TEST_CASE("other and unknown are always shown") {
  const std::string text = reportText(samples::healthy(), wide(100));
  CHECK(contains(text, "  other  "));
  CHECK(contains(text, "  unknown  "));
}

TEST_CASE("without steps the whole run is broken down and no verdict is given") {
  const std::string text = reportText(samples::noSteps(), wide(100));
  CHECK(contains(text, "steps unknown"));
  CHECK(contains(text, "of the whole run"));
  CHECK(contains(text, "No verdict: no training step was seen."));
}

TEST_CASE("no verdict comes with its reason") {
  Analysis a = samples::inputBound();
  a.verdict.boundBy = "unknown";
  const auto shows = [&](NoVerdict reason, const char* words) {
    a.verdict.withheld = reason;
    return contains(reportText(a, wide(100)), words);
  };
  CHECK(shows({NoVerdict::Why::kFewSteps, 19, 20},
              "No verdict: there are 19 steps, and 20 are needed"));
  CHECK(shows({NoVerdict::Why::kFewSamples, 40, 125},
              "No verdict: there are 40 samples of the training thread, and 125 are needed to "
              "classify"));
  CHECK(shows({NoVerdict::Why::kOthersCpu, 0.3, 0},
              "No verdict: other programs used more of the CPU"));
  CHECK(shows({NoVerdict::Why::kUnexplained, 0.23, 0.15}, "23 % of the time is unexplained"));
  CHECK(shows({NoVerdict::Why::kNoFix, 0.14, 0},
              "data takes 14 % of the time, and no change to it is predicted to gain 5 %"));
  a.verdict.withheld = NoVerdict{NoVerdict::Why::kFewSteps, 19, 20};
  CHECK(contains(reportHtml(a, {}), "Because there are 19 steps, and 20 are needed."));
  CHECK(shows({NoVerdict::Why::kUnclear, 0, 0}, "the evidence does not identify one cause"));
}

TEST_CASE("an unfinished, damaged or failed run is named above the verdict") {
  const std::string text = reportText(samples::damaged(), wide(100));
  for (const char* words :
       {"! The recording has no end", "! Damaged recording (1 byte after the last whole",
        "! The command was ended by signal 9."}) {
    CHECK(contains(text, words));
    CHECK(text.find(words) < text.find("VERDICT"));
  }
}

TEST_CASE("epochs that have room for one line have what they have in common") {
  std::vector<EpochInfo> epochs;
  for (const int i : {0, 1, 2})
    epochs.push_back({i, Nanos((1'200 + 100 * i) * 1'000'000LL), 235, 0.19 + 0.01 * i, {}});
  CHECK(epochsText(epochs) ==
        "3 epochs of 1.2 s to 1.4 s and 235 steps, waiting for data 19 % to 21 %");
  epochs.push_back({3, Nanos(185'000'000), 32, {}, {}});
  CHECK(epochsText(epochs) ==
        "3 epochs of 1.2 s to 1.4 s and 235 steps, waiting for data 19 % to "
        "21 %; the last was cut short");
  epochs.erase(epochs.begin() + 1, epochs.begin() + 3);
  CHECK(epochsText(epochs) ==
        "1 epoch of 1.2 s and 235 steps, waiting for data 19 %; the last was cut short");
}

TEST_CASE("a line of a library has its place in it, one of the program its file's name") {
  SourceLine line;
  line.line = 241;
  line.file = Untrusted("/v/lib/python3.12/site-packages/keras/src/trainers/trainer.py");
  CHECK(shortPlace(line) == "keras/src/trainers/trainer.py:241");
  line.file = Untrusted("/home/me/keras/trainer.py");
  CHECK(shortPlace(line) == "trainer.py:241");
}

TEST_CASE("every loss is said in words, not by its name in the recording") {
  for (const std::string_view loss : kLossNames) {
    Analysis a = samples::damaged();
    const std::string name(loss);
    a.coverage.losses = {{name, 2}};
    INFO(name);
    const std::string text = reportText(a, wide(160));
    CHECK(contains(text, "lost: 2 "));
    CHECK_FALSE(contains(text, name));
  }
}

TEST_CASE("the end that --steps asked for is no failure of the command") {
  Analysis a = samples::inputBound();
  a.run.exitCode.reset();
  a.run.exitSignal = 15;
  CHECK(contains(reportText(a, wide(100)), "! The command was ended by signal 15."));
  a.run.overrides = {Untrusted("--steps"), Untrusted("60")};
  CHECK(!contains(reportText(a, wide(100)), "ended by signal"));
}

TEST_CASE("gains within ten percent of each other are said to be tied") {
  CHECK(contains(reportText(samples::tied(), wide(100)), "1 and 2 are tied"));
  CHECK(!contains(reportText(samples::inputBound(), wide(100)), "tied"));
}

TEST_CASE("a gain is an interval, one number, or said to be unknown") {
  CHECK(gainText({1.5, 1.42, 1.61}) == "1.42x - 1.61x");
  CHECK(gainText({1.5, {}, {}}) == "1.50x");
  CHECK(gainText({1.5, 1.501, 1.502}) == "1.50x");
  CHECK(gainText({}) == "not predicted");
  CHECK(gainText({1.5, {}, 2.0, Basis::kAssumed, "it goes"}) == "up to 2.00x");
  CHECK(gainText({std::numeric_limits<double>::infinity(), {}, {}}) == "not predicted");
}

TEST_CASE("what is unexplained is said with the line of the loop that most of it is at") {
  Analysis a = samples::inputBound();
  a.verdict.boundBy = "unknown";
  a.verdict.withheld = NoVerdict{NoVerdict::Why::kUnexplained, 0.8, 0.15};
  CHECK(verdictText(a) == "No verdict: 80 % of the time is unexplained.");
  a.verdict.withheld->at.file = Untrusted("/home/me/train.py");
  a.verdict.withheld->at.line = 11;
  CHECK(verdictText(a) ==
        "No verdict: 80 % of the time is unexplained, most of it at train.py:11.");
}

TEST_CASE(
    "a run that mostly computes is not called bound by another phase, only said where its first "
    "fix is") {
  Analysis a = samples::inputBound();
  a.verdict.computesHalf = false;
  CHECK(verdictText(a).starts_with("Transform-bound (high confidence): "));
  a.verdict.computesHalf = true;
  a.breakdown.ratio->compute = 0.75;
  CHECK(verdictText(a).starts_with(
      "Mostly compute (75 %), first fix in transform (high confidence): "));
  a.verdict.boundBy = "periodic";
  CHECK(boundText(a) == "Mostly compute (75 %), first fix in periodic work");
  a.verdict.boundBy = "mixed";
  CHECK(boundText(a) == "Mostly compute (75 %), causes mixed");
  a.verdict.boundBy = "compute";
  CHECK(boundText(a) == "Compute-bound");
  a.verdict.boundBy = "host";
  CHECK(boundText(a) == "Host-bound");
}

TEST_CASE(
    "an assumed gain is said to be the most, with what it assumes; a replayed one has both ends") {
  Analysis a = samples::inputBound();
  Prediction& p = a.findings[0].advice[0].predicted;
  p = {1.5, 1.42, 1.61};
  CHECK(verdictText(a).ends_with("Fixing it is predicted to make the run 1.42x - 1.61x as fast."));
  a.findings[0].advice[0].predicted.low = 0.9;
  CHECK(verdictText(a).ends_with("the run is predicted to become 0.90x - 1.61x as fast."));
  p = {1.5, {}, 2.0, Basis::kAssumed, "half of it goes"};
  CHECK(verdictText(a).ends_with(
      "Fixing it could make the run up to 2.00x as fast, assuming that half of it goes."));
  CHECK(findingRows(a)[0].gain == "up to 2.00x");
  CHECK(adviceText(a.findings[0].advice[0])
            .ends_with("[up to 2.00x, 1.50x likely, if half of it goes]"));
  CHECK(*shownSpeedup(p) == 2.0);
  p.speedup = 2.0;
  CHECK(adviceText(a.findings[0].advice[0]).ends_with("[up to 2.00x, if half of it goes]"));
  const auto predicted =
      nlohmann::json::parse(reportJson(a))["findings"][0]["advice"][0]["predicted"];
  CHECK(predicted["basis"] == "assumed");
  CHECK(predicted["assumes"] == "half of it goes");
  CHECK(predicted["low"].is_null());
}

TEST_CASE("a gain that trials refuted is predicted no more, anywhere on a page") {
  Analysis a = samples::inputBound();
  Finding& first = a.findings[0];
  first.advice.resize(1);
  first.advice[0].measured = 1.0;
  first.advice[0].outcome = "no_gain";
  CHECK(verdictText(a).ends_with("Its fix was tried, no gain: 1.00x (predicted 1.42x - 1.61x)."));
  CHECK(findingRows(a)[0].gain == "1.00x measured");
  CHECK_FALSE(contains(reportText(a, wide(100)), "is predicted to make"));
  first.advice.insert(first.advice.begin(), samples::anAdvice("untried", "try", "code", {}));
  CHECK(fixText(first).empty());
  CHECK(findingRows(a)[0].gain == "not predicted");
  first.advice[1].outcome = "undecided";
  CHECK(findingRows(a)[0].gain == "1.42x - 1.61x");
}

TEST_CASE("the share of waiting for data is the legend's on the page, too") {
  Analysis a = samples::inputBound();
  a.breakdown.ratio = Breakdown::Ratio{0.514, 0.4746, 0, 0, 0, 0, 0.0114};
  a.breakdown.blame = Breakdown::BlameRatio{0.4746, 0, 0, 0, 0};
  const std::string text = reportText(a, wide(100));
  CHECK(contains(text, "waiting for data 48 %"));
  CHECK(contains(text, "48 % waiting for data, blamed on"));
  CHECK_FALSE(contains(reportHtml(a, {}), ">47 %<"));
}

TEST_CASE("attempts of a restarted job are no ranks of their own") {
  Analysis a = samples::inputBound();
  a.trainers.resize(4, a.trainers[0]);
  for (int i = 0; i < 4; ++i) {
    a.trainers[static_cast<std::size_t>(i)].rank = i % 2;
    a.trainers[static_cast<std::size_t>(i)].attempt = 1 + i / 2;
  }
  CHECK(contains(reportText(a, wide(100)), "2 ranks"));
  CHECK(contains(reportHtml(a, {}), "rank 1 (attempt 2)"));
}

TEST_CASE("a command too long to be shown whole is not shown in part") {
  Analysis a = samples::inputBound();
  a.findings[0].advice[0].verifyCommand = "stallprof run -- python " + std::string(5000, 'x');
  for (const std::string& page : {reportHtml(a, {}), reportMarkdown(a, wide(100))}) {
    CHECK(contains(page, "too long to show here"));
    CHECK_FALSE(contains(page, "xxxxxxxx"));
  }
}

TEST_CASE("shares of a run without steps are said to be of its loop, in every format") {
  Analysis a = samples::inputBound();
  a.breakdown.scope = "run";
  a.breakdown.loop = samples::at("train.py", 20);
  CHECK(contains(reportMarkdown(a, wide(100)), "phase, of the loop at train.py:20"));
  const std::string page = reportHtml(a, {});
  CHECK(contains(page, " of the loop at train.py:20"));
  CHECK_FALSE(contains(page, " of the window"));
}

TEST_CASE("each of eight ranks has its line where the page has room") {
  Analysis a = samples::inputBound();
  a.findings.resize(1);
  a.trainers.resize(8, a.trainers[0]);
  for (int i = 0; i < 8; ++i) a.trainers[static_cast<std::size_t>(i)].rank = i;
  a.trainers[3].shown = true;
  CHECK(contains(reportText(a, wide(100)), "rank 7: "));
  CHECK(contains(reportText(a, wide(200)), ", of rank 3\n"));
  CHECK(contains(reportHtml(a, {}), "The sections above show rank 3: "));
  a.trainers.resize(1);
  CHECK_FALSE(contains(reportText(a, wide(200)), ", of rank"));
}

TEST_CASE("a Markdown report has the functions and the lines of the loop") {
  Analysis a = samples::inputBound();
  FunctionInfo decode;
  decode.phase = Phase::kTransform;
  decode.phaseRatio = 0.9;
  decode.samples = 500;
  decode.hot = samples::at("aug.py", 12);
  a.functions = {decode};
  const std::string page = reportMarkdown(a, wide(100));
  CHECK(contains(page, "\n## Functions\n"));
  CHECK(contains(page, escapeMarkdown(functionLines(a, 1).at(0))));
}

TEST_CASE(
    "a change that fixes a finding above, too, is shown once, and alternatives have their risk") {
  Analysis a = samples::inputBound();
  Advice other = a.findings[0].advice[0];
  other.id = "another";
  other.risk = "workers wait longer";
  a.findings[0].advice.resize(1);
  a.findings[1].advice = {a.findings[0].advice[0], other};
  const std::string text = reportText(a, wide(100));
  const auto count = [&](const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++n;
    return n;
  };
  CHECK(contains(text, "   change    same as 1 (" + a.findings[0].advice[0].id + ")"));
  CHECK(count("   check  ") == 1);
  CHECK(!contains(text, "same as 1 (" + a.findings[0].advice[0].id + ")   ["));
  CHECK(contains(text, "Risk: workers wait longer"));
  a.findings[1].advice[0].predicted.high = 9;
  CHECK(contains(reportText(a, wide(100)),
                 "same as 1 (" + a.findings[0].advice[0].id + ")   [1.42x - 9.00x]"));
  a.findings[1].advice[0].change.to = "another number";
  CHECK(!contains(reportText(a, wide(100)), "that of 1"));
}

TEST_CASE("a finding inside another names it, and one of small gain is not unfolded") {
  const std::string text = reportText(samples::inputBound(), wide(100));
  CHECK(contains(text, "7 % (in 1)"));
  CHECK(contains(text, "also: periodic.checkpoint 3 %"));
  CHECK(!contains(text, "save in a background thread"));
  Analysis large = samples::inputBound();
  for (Finding& f : large.findings)
    if (f.id == "periodic.checkpoint") f.shareRatio = 0.3;
  CHECK(contains(reportText(large, wide(100)), "save in a background thread"));
}

TEST_CASE("a finding that gains more than the first keeps its text on a full page") {
  const auto fullPage = [](double gain) {
    Analysis a = samples::inputBound();
    a.findings[1].advice[0].change.to = "another number";
    a.findings[1].advice[0].predicted.speedup = a.findings[1].advice[0].predicted.high = gain;
    for (int i = 0; i < 22; ++i) a.ceilings.push_back(a.ceilings[0]);
    return reportText(a, wide(100));
  };
  const std::string id = "\n2  " + samples::inputBound().findings[1].id;
  CHECK(contains(fullPage(4.0), id));
  CHECK(!contains(fullPage(1.1), id));
}

TEST_CASE("the machine-readable report is one object that ends in a line") {
  for (const auto& [name, make] : kSamples) {
    INFO(name);
    const std::string json = reportJson(make());
    CHECK(json.front() == '{');
    CHECK(json.substr(json.size() - 2) == "}\n");
    CHECK(reportNumbers(json).ok());
  }
}

TEST_CASE("numbers of a report are found by their JSON path") {
  const auto read = reportNumbers(reportJson(samples::inputBound()));
  REQUIRE(read.ok());
  CHECK(read.value().at("steps.time_ns.p50") == 408e6);
  CHECK(read.value().at("breakdown.ratio.data_wait") == 0.381);
  CHECK(read.value().count("resources.gpu_busy_ratio") == 0);
}

TEST_CASE("an object that sums is null as a whole once a part is not a number") {
  Analysis a = samples::inputBound();
  a.breakdown.ratio->other = std::numeric_limits<double>::quiet_NaN();
  const auto read = reportNumbers(reportJson(a));
  REQUIRE(read.ok());
  CHECK(read.value().count("breakdown.ratio.compute") == 0);
  CHECK(read.value().count("breakdown.phase_ratio.compute") == 1);
}

TEST_CASE("what is no report of ours is refused with the reason") {
  for (const char* text : {"", "[]", "{", "null", "{\"schema\": 3}", "\xff\xfe"}) {
    const auto read = reportNumbers(text);
    REQUIRE(!read.ok());
    CHECK(read.error().kind == Error::Kind::kDamaged);
  }
  const auto other = reportNumbers("{\"schema\": \"stallprof.report/9\"}");
  REQUIRE(!other.ok());
  CHECK(other.error().kind == Error::Kind::kUnsupported);
  CHECK(contains(other.error().message, "stallprof.report/9"));
}

TEST_CASE("a deeply nested text is read without exhausting the stack") {
  const std::string deep = "{\"schema\":\"stallprof.report/1\",\"a\":" + std::string(100'000, '[') +
                           std::string(100'000, ']') + "}";
  CHECK(reportNumbers(deep).ok());
}

TEST_CASE("each format is found by its name, others are refused with the names there are") {
  const Analysis a = samples::nothing();
  for (const char* name : {"text", "json", "md", "html"}) {
    const Result<ReportFormat> format = reportFormat(name);
    REQUIRE(format.ok());
    CHECK(format.value().name == name);
    CHECK(!format.value().write(a, wide(100)).empty());
  }
  const Result<ReportFormat> other = reportFormat("pdf");
  REQUIRE(!other.ok());
  CHECK(other.error().kind == Error::Kind::kUsage);
  CHECK(contains(other.error().message, "text, json, md, html"));
}

TEST_CASE("rows of the loop's lines and what is elsewhere sum to all") {
  Analysis a = samples::inputBound();
  const auto line = [](std::uint32_t number, double ratio) {
    return LineInfo{{Untrusted("train.py"), {}, number}, Phase::kCompute, ratio, Untrusted("x()")};
  };
  a.lines = {line(7, 0.25), line(8, 0.30), line(9, 0.05)};
  CHECK(loopLines(a, 8).back() == "  elsewhere   40.0 %");
  CHECK(loopLines(a, 2).back() == "  elsewhere   45.0 %");
  CHECK(contains(reportHtml(a, wide(100)), ">elsewhere<"));
  a.lines.push_back(line(10, 0.398));
  CHECK(loopLines(a, 8).size() == 4);
}

TEST_CASE("a report of few samples says how many there were, and what limits them") {
  Analysis a;
  a.coverage.recorderCpuRatio = 0.011;
  a.coverage.effectiveHz = 100;
  CHECK(captureParts(a).at(0) == "recorder 1.1 % of one core");
  a.coverage.effectiveHz = 1.87;
  CHECK(captureParts(a).at(0) ==
        "recorder 1.1 % of one core, 1.87 samples/s of a thread (--hz, --budget)");
}

TEST_CASE("of very many epochs Markdown lists the first and the last") {
  Analysis a;
  for (int i = 0; i < 300; ++i) {
    a.epochs.emplace_back();
    a.epochs.back().index = i;
  }
  const std::string text = reportMarkdown(a, {});
  CHECK(text.find("\n- 0: ") != std::string::npos);
  CHECK(text.find("\n- 299: ") != std::string::npos);
  CHECK(text.find("\n- 150: ") == std::string::npos);
}

}  // namespace stallprof
