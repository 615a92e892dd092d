// SPDX-License-Identifier: MIT
#include "present/metrics/csv_tables.h"

#include <set>

#include "tests/unit/present/export_sample.h"
#include "tests/unit/present/sample_analysis.h"

using namespace stallprof;
using namespace stallprof::samples;

namespace {

// RFC 4180 read back: rows of cells. Fails the test on a quote where none may be.
std::vector<std::vector<std::string>> parse(const std::string& csv) {
  std::vector<std::vector<std::string>> rows(1, {""});
  for (std::size_t i = 0; i < csv.size(); ++i) {
    std::string& cell = rows.back().back();
    if (csv[i] == '"') {
      REQUIRE(cell.empty());
      for (++i; i < csv.size(); ++i) {
        if (csv[i] == '"' && (i + 1 == csv.size() || csv[i + 1] != '"')) break;
        if (csv[i] == '"') ++i;
        cell += csv[i];
      }
      REQUIRE(i < csv.size());
    } else if (csv[i] == ',') {
      rows.back().emplace_back();
    } else if (csv.compare(i, 2, "\r\n") == 0) {
      ++i;
      rows.push_back({""});
    } else {
      cell += csv[i];
    }
  }
  rows.pop_back();
  return rows;
}

std::string stepsCsv(const Trace& trace) {
  std::string csv;
  CHECK(writeStepsCsv(trace, analyzeWithFacts(trace), [&](std::string_view bytes) {
    csv += bytes;
    return true;
  }));
  return csv;
}

std::size_t column(const std::vector<std::vector<std::string>>& rows, const std::string& name) {
  const auto at = std::find(rows[0].begin(), rows[0].end(), name);
  REQUIRE(at != rows[0].end());
  return static_cast<std::size_t>(at - rows[0].begin());
}

}  // namespace

TEST_CASE("each step is a row whose parts sum to its time") {
  const Trace trace = traceOf(goldenText("too_few_workers"));
  const auto rows = parse(stepsCsv(trace));
  CHECK(rows.size() == analyzeWithFacts(trace).trainer.steps.size() + 1);
  const std::size_t wall = column(rows, "wall_ns"), wait = column(rows, "data_wait_ns");
  const std::size_t first = column(rows, "compute_ns"), last = column(rows, "other_ns");
  const std::size_t blame = column(rows, "blame_extract_ns"),
                    blamed = column(rows, "blame_unknown_ns");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    REQUIRE(rows[i].size() == rows[0].size());
    std::int64_t parts = 0, blames = 0;
    for (std::size_t c = first; c <= last; ++c) parts += std::stoll(rows[i][c]);
    for (std::size_t c = blame; c <= blamed; ++c) blames += std::stoll(rows[i][c]);
    CHECK(parts == std::stoll(rows[i][wall]));
    CHECK(blames == std::stoll(rows[i][wait]));
  }
  CHECK(rows[1][column(rows, "step")] == "0");
  CHECK(rows[1][column(rows, "warmup")] == "1");
  CHECK_FALSE(rows[5][column(rows, "worker")].empty());
}

TEST_CASE("what is not known is an empty cell, and a run without steps only a head") {
  const auto rows = parse(stepsCsv(traceOf(goldenText("no_loader"))));
  REQUIRE(rows.size() > 1);
  CHECK(rows[1][column(rows, "worker")].empty());
  CHECK(rows[1][column(rows, "ready")].empty());
  CHECK(parse(stepsCsv(traceOf(goldenText("no_training")))).size() == 1);
}

TEST_CASE("epochs of the table are numbered as those of the report") {
  const Trace trace = traceOf(goldenText("evaluation"));
  std::set<std::int64_t> reported;
  for (const EpochInfo& epoch : analyzeWithFacts(trace).analysis.epochs)
    reported.insert(epoch.index);
  const auto rows = parse(stepsCsv(trace));
  std::set<std::int64_t> written;
  for (std::size_t i = 1; i < rows.size(); ++i)
    written.insert(std::stoll(rows[i][column(rows, "epoch")]));
  CHECK(written == reported);
  CHECK(written.size() > 1);
}

TEST_CASE("CPU of a thread that nobody sampled, and waits behind no traced device, are not known") {
  const std::string unsampled =
      replaced(goldenText("no_loader"), " run=49ms samples=5 wait=running", "");
  const auto rows = parse(stepsCsv(traceOf(unsampled)));
  REQUIRE(rows.size() > 20);
  for (const char* name : {"hidden_wait_ns", "cpu_ns", "starved_ns"})
    CHECK(rows[20][column(rows, name)].empty());
}

TEST_CASE("a failed write is reported") {
  const Trace trace = traceOf(goldenText("too_few_workers"));
  CHECK_FALSE(
      writeStepsCsv(trace, analyzeWithFacts(trace), [](std::string_view) { return false; }));
}

TEST_CASE("findings are rows by rank, with place, advice and gain") {
  const auto rows = parse(findingsCsv(inputBound()));
  REQUIRE(rows.size() == 4);
  CHECK(rows[1][column(rows, "id")] == "transform.too_few_workers");
  CHECK(rows[1][column(rows, "share_ratio")] == "0.381");
  CHECK(rows[1][column(rows, "file")] == "train.py");
  CHECK(rows[1][column(rows, "line")] == "88");
  CHECK(rows[1][column(rows, "predicted_low")] == "1.42");
  CHECK(rows[1][column(rows, "predicted_basis")] == "replayed");
  CHECK(rows[1][column(rows, "change")] == "num_workers");
  CHECK(rows[1][column(rows, "within")].empty());
  CHECK(rows[2][column(rows, "within")] == "transform.too_few_workers");
  CHECK(rows[1][column(rows, "measured_speedup")].empty());
  Analysis verified = inputBound();
  Advice& advice = verified.findings[0].advice.at(0);
  advice.measured = 1.5;
  advice.measuredLow = 1.4;
  advice.outcome = "gain";
  const auto after = parse(findingsCsv(verified));
  CHECK(after[1][column(after, "measured_speedup")] == "1.5");
  CHECK(after[1][column(after, "measured_low")] == "1.4");
  CHECK(after[1][column(after, "outcome")] == "gain");
}

TEST_CASE("text of the job is neither a formula nor a second row") {
  Analysis analysis = inputBound();
  analysis.findings[0].where = {Untrusted("=cmd|' /C calc'!A0\r\nx,\"y\""), Untrusted("@f"), 1};
  const auto rows = parse(findingsCsv(analysis));
  REQUIRE(rows.size() == 4);
  CHECK(rows[1][column(rows, "file")] == "'=cmd|' /C calc'!A0\\x0d\\x0ax,\"y\"");
  CHECK(rows[1][column(rows, "function")] == "'@f");
  const std::string csv = findingsCsv(hostile());
  CHECK(rawControls(csv, "\r\n") == "");
  CHECK(parse(csv).size() == 61);
  CHECK(rawControls(stepsCsv(traceOf(hostileText())), "\r\n") == "");
}
