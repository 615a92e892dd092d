// SPDX-License-Identifier: MIT
#include "present/timeline/chrome_trace.h"

#include <nlohmann/json.hpp>

#include "tests/unit/present/export_sample.h"

using namespace stallprof;
using namespace stallprof::samples;

namespace {

using Json = nlohmann::json;

Drawn drawChrome(const Sample& of, const TimelineOptions& options = {}) {
  return drawWith(writeChromeTrace, of, options);
}

}  // namespace

TEST_CASE("the trace of every golden recording passes the check, whole and bounded") {
  checkGoldens(writeChromeTrace, "trace events", [](const Drawn&, const TraceCheck&) {});
}

TEST_CASE("the memory of a process ends with it") {
  const std::string usage =
      "ms usage process=2 cpu=1ms rchar=0 syscr=0 read_bytes=0 majflt=0 "
      "shared=0 threads=1 rss=500000000\n";
  const Drawn drawn =
      drawChrome(sampleOf(goldenText("worker_startup") + "1500" + usage + "2500" + usage));
  double at = -1, last = -1;
  const Json json = Json::parse(drawn.text);
  for (const Json& event : json["traceEvents"])
    if (event["ph"] == "C" && event["name"] == "RSS" && event["pid"] == 102 &&
        event["ts"].get<double>() > at) {
      at = event["ts"];
      last = event["args"]["MB"];
    }
  CHECK(at > 0);
  CHECK(last == 0);
}

TEST_CASE("a bounded trace is smaller, keeps whole steps and says what it merged") {
  const Sample& sample =
      sampleOf(replaced(goldenText("too_few_workers"), "repeat 180 ", "repeat 5000 "));
  TimelineOptions bounded;
  bounded.maximum = 1000;
  const Drawn all = drawChrome(sample), some = drawChrome(sample, bounded);
  CHECK(all.written.summary.whole);
  CHECK(all.written.summary.merged == 0);
  CHECK_FALSE(some.written.summary.whole);
  CHECK(some.written.summary.merged > 0);
  CHECK(some.written.summary.steps > 0);
  CHECK(some.written.summary.steps < all.written.summary.steps);
  CHECK(some.text.size() < all.text.size() / 2);
  CHECK_FALSE(some.written.summary.detail.empty());
  bounded.full = true;
  CHECK(drawChrome(sample, bounded).text == all.text);
}

TEST_CASE("steps that were merged are named by their numbers, of which not all may be held") {
  Sample sample{traceOf(replaced(goldenText("too_few_workers"), "repeat 180 ", "repeat 5000 ")),
                {}};
  sample.analyzed = analyzeWithFacts(sample.trace);
  auto& steps = sample.analyzed.trainer.steps;
  for (Step& step : steps) step.number += 100'000;
  TimelineOptions bounded;
  bounded.maximum = 1000;
  const std::string text = drawChrome(sample, bounded).text;
  CHECK(count(text, "\"name\":\"steps 10") > 0);
  CHECK(count(text, "\"name\":\"steps 10") == count(text, "\"name\":\"steps "));
}

TEST_CASE("each step is named as trace tools expect, and each batch's arrow has both ends") {
  const Sample& sample = sampleOf(goldenText("too_few_workers"));
  const Drawn drawn = drawChrome(sample);
  CHECK(count(drawn.text, "\"name\":\"ProfilerStep#") == drawn.written.summary.steps);
  CHECK(drawn.written.summary.steps >= 150);
  CHECK(count(drawn.text, "\"ph\":\"s\"") > 100);
  CHECK(count(drawn.text, "\"ph\":\"s\"") == count(drawn.text, "\"ph\":\"f\""));
}

TEST_CASE("steps have the report's epochs, and those of a profiler are not drawn beside them") {
  const std::string golden = goldenText("too_few_workers");
  const Drawn plain = drawChrome(sampleOf(golden));
  CHECK(count(plain.text, "\"epoch\":0") == plain.written.summary.steps);
  const Drawn both =
      drawChrome(sampleOf(replaced(golden, "1050ms fetch thread=1",
                                   "1060ms range thread=1 duration=10ms name=\"ProfilerStep#1\"\n"
                                   "1050ms fetch thread=1")));
  CHECK(count(both.text, "\"name\":\"ProfilerStep#") == plain.written.summary.steps);
}

// A range of the program around each fetch: it begins just before the step does that the fetch
// begins, and of the first step earlier than all steps.
std::string rangesAroundFetches(const std::string& golden) {
  return replaced(
      golden, "1050ms fetch thread=1",
      "1049900us range thread=1 duration=75ms name=\"iteration\"\n1050ms fetch thread=1");
}

TEST_CASE("a range around the fetch that ends a step is drawn at its length") {
  const std::string text = rangesAroundFetches(goldenText("too_few_workers"));
  const Drawn drawn = drawChrome(sampleOf(text));
  CHECK(firstProblem(check(drawn.text)) == "");
  CHECK(count(drawn.text, "\"name\":\"iteration\"") == 180);
  CHECK(count(drawn.text, "\"cut_ns\"") == 0);
  CHECK(count(drawn.text, "\"name\":\"main (ranges)\"") == 1);
  TimelineOptions bounded;
  bounded.maximum = 1000;
  const Sample& many = sampleOf(replaced(text, "repeat 180 ", "repeat 5000 "));
  CHECK(firstProblem(check(drawChrome(many, bounded).text)) == "");
}

TEST_CASE("what is merged ends where a slice that is drawn begins") {
  // Two annotations of one thread, none of them a step: the second outlasts the first.
  const std::string text =
      replaced(goldenText("too_few_workers"), "1050ms fetch thread=1",
               "1031ms range thread=2 duration=20ms name=\"a\"\n"
               "1041ms range thread=2 duration=20ms name=\"b\"\n1050ms fetch thread=1");
  TimelineOptions bounded;
  bounded.maximum = 1000;
  const Sample& many = sampleOf(replaced(text, "repeat 180 ", "repeat 5000 "));
  CHECK(firstProblem(check(drawChrome(many, bounded).text)) == "");
}

TEST_CASE("names of the job cannot end a string, hide text or break the file") {
  const Drawn drawn = drawChrome(sampleOf(hostileText()));
  CHECK(firstProblem(check(drawn.text)) == "");
  CHECK(rawControls(drawn.text, "\n") == "");
  CHECK(drawn.text.find("[31m") != std::string::npos);  // it is there, harmless
}

TEST_CASE("the check finds slices that overlap, arrows without an end, and a file cut short") {
  const std::string head =
      "{\"traceEvents\":[\n"
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"t\"}},\n"
      "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}},\n";
  const auto slice = [](int begin, int duration) {
    return "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":" + std::to_string(begin) +
           ",\"dur\":" + std::to_string(duration) + "}";
  };
  CHECK(firstProblem(check(head + slice(0, 10) + ",\n" + slice(2, 5) + "]}")) == "");
  CHECK_FALSE(check(head + slice(0, 10) + ",\n" + slice(2, 15) + "]}").ok());
  CHECK_FALSE(check(head + slice(0, 10) +
                    ",\n{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"b\",\"cat\":\"c\",\"id\":7,\"pid\":1,"
                    "\"tid\":1,\"ts\":3}]}")
                  .ok());
  CHECK_FALSE(check(head + slice(0, 10)).ok());
  CHECK_FALSE(check("").ok());
  CHECK_FALSE(check("hello").ok());
}
