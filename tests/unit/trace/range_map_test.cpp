// SPDX-License-Identifier: MIT
#include "trace/range_map.h"

#include "tests/unit/analysis/text_trace.h"

namespace stallprof {
namespace {

using namespace std::chrono_literals;

Trace traceOf(const std::string& text) { return test::traceOf(test::kTrainer + text); }

TEST_CASE("a map names a range, or how it begins, and what it is") {
  const auto exact = parseRangeMeaning("fwd=compute");
  REQUIRE(exact.ok());
  CHECK(exact.value().fits("fwd"));
  CHECK_FALSE(exact.value().fits("fwd 2"));
  CHECK(exact.value().phase == Phase::kCompute);
  const auto prefix = parseRangeMeaning("a=b*=step");  // the last '=' divides
  REQUIRE(prefix.ok());
  CHECK(prefix.value().fits("a=b 17"));
  CHECK(prefix.value().is == RangeMeaning::Is::kStep);
  CHECK(parseRangeMeaning("x=none").value().is == RangeMeaning::Is::kNothing);
}

TEST_CASE("a word that is no map is answered with what may stand there") {
  for (const char* word : {"fwd", "=compute", "fwd=", "fwd=computing", "fwd=unknown", ""}) {
    INFO(word);
    const auto wrong = parseRangeMeaning(word);
    REQUIRE_FALSE(wrong.ok());
    CHECK(wrong.error().kind == Error::Kind::kUsage);
    CHECK(wrong.error().message.find("--map takes NAME=PHASE") == 0);
  }
  CHECK(parseRangeMeaning("fwd=computing").error().message ==
        "--map takes NAME=PHASE, where PHASE is extract, transform, load, compute, sync, comm, "
        "periodic, other, step or none; not 'fwd=computing'");
}

TEST_CASE("steps are known by their name, with a number or without") {
  for (const char* name : {"step", "Step", "step 12", "step_3", "step#0", "ProfilerStep#7"}) {
    INFO(name);
    CHECK(namesStep(name));
  }
  for (const char* name :
       {"steps", "step one", "stepper", "my step", "step ", "", "ste", "step-by-step"}) {
    INFO(name);
    CHECK_FALSE(namesStep(name));
  }
}

TEST_CASE("mapped ranges are spans of their phase, and others stay what they are") {
  const Trace trace = traceOf(
      "manifest map=\"fwd*=compute\"\nmanifest map=\"iteration=step\"\n"
      "1s range thread=1 duration=100ms name=\"iteration\"\n"
      "1010ms range thread=1 duration=20ms name=\"fwd 1\" depth=1\n"
      "1040ms range thread=1 duration=20ms name=\"bwd\" depth=1\n"
      "1050ms range thread=1 name=\"fwd mark\"\n");
  CHECK(test::only(trace.spans).data.phase == Phase::kCompute);
  CHECK(trace.spans[0].data.source == SpanSource::kNvtx);
  CHECK(trace.spans[0].at == 1010ms);
  CHECK(trace.spans[0].data.duration == 20ms);
  CHECK(test::only(trace.steps).data.mapped);
  CHECK(trace.ranges.size() == 4);
}

TEST_CASE("a map changes what a range named after a phase is, or makes it nothing") {
  const std::string recorded =
      "1s range thread=1 duration=10ms name=\"load\"\n"
      "1s span thread=1 duration=10ms phase=load source=nvtx name=\"load\"\n"
      "2s span thread=1 duration=10ms phase=load source=hook name=\"load\"\n";
  CHECK(traceOf(recorded).spans.size() == 2);
  const Trace changed = traceOf("manifest map=\"load=extract\"\n" + recorded);
  REQUIRE(changed.spans.size() == 2);
  CHECK(changed.spans[0].data.phase == Phase::kExtract);
  CHECK(changed.spans[1].data.phase == Phase::kLoad);  // the hook's own word
  const Trace nothing = traceOf("manifest map=\"load=none\"\n" + recorded);
  CHECK(test::only(nothing.spans).data.source == SpanSource::kHook);
}

TEST_CASE("of two maps that fit the later counts") {
  const Trace trace = traceOf(
      "manifest map=\"fwd*=compute\"\nmanifest map=\"fwd copy=load\"\n"
      "1s range thread=1 duration=10ms name=\"fwd copy\"\n");
  CHECK(test::only(trace.spans).data.phase == Phase::kLoad);
}

TEST_CASE("a mark of annotate.h is a step whatever maps say") {
  const Trace trace = traceOf(
      "manifest map=\"step=compute\"\n"
      "1s range thread=1 duration=10ms name=\"step\" domain=\"stallprof\"\n");
  CHECK(test::only(trace.steps).data.source == SpanSource::kMark);
  CHECK(trace.spans.empty());
}

TEST_CASE("a trace written as text and read again has its spans and steps once") {
  const Trace trace = traceOf(
      "manifest map=\"fwd=compute\"\n"
      "1s range thread=1 duration=100ms name=\"step\"\n"
      "1010ms range thread=1 duration=20ms name=\"fwd\"\n");
  const auto again = parseTrace(traceText(trace));
  REQUIRE(again.ok());
  CHECK(again.value().spans.size() == 1);
  CHECK(again.value().steps.size() == 1);
}

}  // namespace
}  // namespace stallprof
