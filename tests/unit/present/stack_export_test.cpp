// SPDX-License-Identifier: MIT
#include "present/timeline/stack_export.h"

#include "analysis/analyze.h"
#include "present/html/picture/picture.h"
#include "tests/catch.h"
#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;
using stallprof::test::traceOf;

namespace {

Trace sample() {
  return traceOf(
      "0 process process=1 pid=100 comm=\"python3\"\n"
      "0 thread thread=1 process=1 tid=100\n"
      "0 stack stack=1 file=\"train.py\" function=\"main\" line=9\n"
      "0 stack stack=2 caller=1 file=\"/u/lib/python3.11/site-packages/PIL/Image.py\" "
      "function=\"Image.resize\" line=2156\n"
      "0 stack stack=3 caller=1 file=\"/u/lib/python3.11/site-packages/PIL/Image.py\" "
      "function=\"Image.resize\" line=2200\n"
      "0 stack stack=4 caller=1 file=\"a;b\\\"c.py\" function=\"<lambda>\"\n"
      "0 slice thread=1 duration=60ms samples=6 wait=running\n"
      "60ms slice thread=1 duration=40ms samples=4 wait=sleep\n"
      "5ms stack_slice thread=1 duration=20ms stack=2 samples=3\n"
      "35ms stack_slice thread=1 stack=3\n"
      "45ms stack_slice thread=1 duration=10ms stack=4 samples=2\n"
      "70ms stack_slice thread=1 duration=20ms stack=1 samples=3\n");
}

std::vector<WeighedStack> weigh(const Trace& trace, StackGroup by, bool blocked) {
  return weighStacks(trace, findRoles(trace), StackLabels(trace, RuleTable::builtIn()), by,
                     blocked);
}

std::string foldedStacksOf(const std::string& text, StackGroup by = StackGroup::kNone) {
  return foldedStacks(weigh(traceOf(text), by, false));
}

}  // namespace

TEST_CASE("folded stacks are grouped by phase, lines of one function together, sleep left out") {
  const Trace trace = sample();
  CHECK(foldedStacks(weigh(trace, StackGroup::kPhase, false)) ==
        "other;train.py:main;a,b\"c.py:<lambda> 20000\n"
        "transform;train.py:main;PIL/Image.py:Image.resize 35000\n");
}

TEST_CASE("what a program without known steps computes is other there where the report has it so") {
  const std::string text =
      "0 process process=1 pid=100 comm=\"python3\"\n0 thread thread=1 process=1 tid=100\n"
      "0 stack stack=1 file=\"train.py\" function=\"main\" line=9\n"
      "0 stack stack=2 caller=1 file=\"train.py\" function=\"update\" line=5\n"
      "repeat 200 every 50ms\n"
      "0 slice thread=1 duration=50ms run=50ms samples=5 wait=running\n"
      "10ms stack_slice thread=1 duration=40ms stack=2 samples=5\nend\n";
  const Trace trace = traceOf(text);
  const Analysis a = analyze(trace);
  REQUIRE(a.breakdown.phase);
  CHECK(a.breakdown.phase->other > 0.9);
  const std::string folded = foldedStacksOf(text, StackGroup::kPhase);
  CHECK(folded.starts_with("other;train.py:main;train.py:update "));
  const Analyzed analyzed = analyzeWithFacts(trace);
  const std::vector<Flame> flames = drawFlames(trace, analyzed, RuleTable::builtIn());
  REQUIRE(flames.size() == 1);
  for (const auto& frame : flames[0].frames) CHECK(frame.hue == Hue::kOther);
}

TEST_CASE("a program without an interpreter has no phases of single samples") {
  CHECK(foldedStacksOf(
            "0 process process=1 pid=100 comm=\"solver\"\n"
            "0 thread thread=1 process=1 tid=100\n"
            "0 native thread=1 duration=1s file=\"/lib/libgomp.so.1\" offset=64 samples=99\n",
            StackGroup::kPhase) == "libgomp.so.1 1000000\n");
}

TEST_CASE("without known steps the loop's own lines have the phases that the report gives them") {
  std::string text =
      "0 process process=1 pid=100 comm=\"python3\"\n"
      "0 thread thread=1 process=1 tid=100\n"
      "0 stack stack=1 file=\"train.py\" function=\"main\" line=32\n"
      "0 stack stack=2 caller=1 file=\"train.py\" function=\"features_of\" line=18\n"
      "0 stack stack=3 file=\"train.py\" function=\"main\" line=34\n"
      "0 stack stack=4 caller=3 file=\"/u/lib/python3.11/site-packages/sklearn/naive_bayes.py\" "
      "function=\"_BaseDiscreteNB.partial_fit\" line=600\n"
      "0 stack stack=5 caller=2 file=\"/usr/lib/python3.11/json/decoder.py\" "
      "function=\"JSONDecoder.decode\" line=337\n"
      "0 slice thread=1 duration=4s samples=400 wait=running\n";
  for (int step = 0; step < 40; ++step)
    for (const int stack : {2, 5, 4})
      text += std::to_string(step * 100 + (stack - 2) % 4 * 30) +
              "ms stack_slice thread=1 duration=30ms samples=3 stack=" + std::to_string(stack) +
              "\n";
  CHECK(foldedStacksOf(text, StackGroup::kPhase) ==
        "compute;train.py:main;sklearn/naive_bayes.py:_BaseDiscreteNB.partial_fit 2400000\n"
        "transform;train.py:main;train.py:features_of 1200000\n"
        "transform;train.py:main;train.py:features_of;json/decoder.py:JSONDecoder.decode "
        "1200000\n");
}

TEST_CASE("with blocked samples the sleeper is there too") {
  const Trace trace = sample();
  CHECK(foldedStacks(weigh(trace, StackGroup::kNone, true)) ==
        "train.py:main 35000\n"
        "train.py:main;PIL/Image.py:Image.resize 35000\n"
        "train.py:main;a,b\"c.py:<lambda> 20000\n");
}

TEST_CASE("speedscope has a profile a group, its frames once, and quotes names") {
  const Trace trace = sample();
  const std::string json =
      speedscopeJson(weigh(trace, StackGroup::kProcess, false), "run.stallprof");
  CHECK(json.find("\"name\":\"100 python3\"") != std::string::npos);
  CHECK(json.find("{\"name\":\"a;b\\\"c.py:<lambda>\"}") != std::string::npos);
  CHECK(json.find("\"samples\":[[0,1],[0,2]],\"weights\":[35000,20000]") != std::string::npos);
  CHECK(json.find("\"endValue\":55000") != std::string::npos);
}

TEST_CASE("a trace without stacks is empty in either form") {
  const Trace none;
  CHECK(foldedStacks(weigh(none, StackGroup::kPhase, true)).empty());
  CHECK(speedscopeJson({}, "x").find("\"profiles\":[]") != std::string::npos);
}

TEST_CASE("a stack is as wide as the time of its samples, however fast they came") {
  CHECK(foldedStacksOf("0 process process=1 pid=100 comm=\"python3\"\n"
                       "0 thread thread=1 process=1 tid=100\n"
                       "0 stack stack=1 file=\"train.py\" function=\"fast\" line=9\n"
                       "0 stack stack=2 file=\"train.py\" function=\"slow\" line=19\n"
                       "0 slice thread=1 duration=2s samples=105 wait=running\n"
                       "0 stack_slice thread=1 duration=1s stack=1 samples=101\n"
                       "1200ms stack_slice thread=1 duration=800ms stack=2 samples=5\n") ==
        "train.py:fast 1000000\ntrain.py:slow 1000000\n");
}

TEST_CASE("what a thread that Python knows runs without a frame is there, too") {
  // As PyTorch's thread of a GPU's backward pass: a thread state, and never a frame.
  CHECK(foldedStacksOf(
            "0 process process=1 pid=100 comm=\"python3\"\n"
            "0 thread thread=2 process=1 tid=101\n"
            "0 slice thread=2 duration=100ms run=100ms samples=11 wait=running\n"
            "0 stack_slice thread=2 duration=100ms samples=11\n"
            "0 native thread=2 duration=100ms file=\"/lib/libtorch_cpu.so\" offset=64 samples=9 "
            "function=\"launch\"\n") == "libtorch_cpu.so:launch 100000\n");
}

TEST_CASE("a thread that no other sample met has the time of its native samples") {
  CHECK(foldedStacksOf(
            "0 process process=1 pid=100 comm=\"solver\"\n"
            "0 thread thread=1 process=1 tid=100\n"
            "0 native thread=1 duration=1s file=\"/lib/libgomp.so.1\" offset=64 samples=99\n") ==
        "libgomp.so.1 1000000\n");
}

TEST_CASE("stacks end in the native functions that were sampled under them, and sum") {
  const Trace trace = traceOf(
      "0 process process=1 pid=100 comm=\"python3\"\n"
      "0 thread thread=1 process=1 tid=100\n"
      "0 thread thread=2 process=1 tid=101\n"
      "0 stack stack=1 file=\"train.py\" function=\"main\" line=9\n"
      "0 slice thread=1 duration=100ms samples=10 wait=running\n"
      "5ms stack_slice thread=1 duration=90ms stack=1 samples=10\n"
      "0 native thread=1 duration=100ms stack=1 file=\"/lib/libz.so.1\" offset=64 samples=2 "
      "function=\"inflate_fast\"\n"
      "0 native thread=1 duration=100ms stack=1 file=\"/usr/bin/python3.11\" offset=64 samples=1\n"
      "0 slice thread=2 duration=140ms run=140ms samples=14 wait=running\n"
      "0 native thread=2 duration=100ms file=\"/lib/libgomp.so.1\" offset=64 samples=9\n"
      "0 native thread=2 duration=100ms stack=1 file=\"/lib/libgomp.so.1\" offset=80 samples=1\n"
      "0 native thread=2 duration=100ms stack=1 file=\"/lib/libblas.so.3\" offset=64 samples=4\n");
  CHECK(foldedStacks(weigh(trace, StackGroup::kNone, false)) ==
        "libgomp.so.1 100000\ntrain.py:main 31667\n"
        "train.py:main;(native threads);libblas.so.3 40000\n"
        "train.py:main;libz.so.1:inflate_fast 63333\n");
  CHECK(foldedStacks(weigh(trace, StackGroup::kNone, true)) ==
        "libgomp.so.1 100000\ntrain.py:main 95000\n"
        "train.py:main;(native threads);libblas.so.3 40000\n");
}

TEST_CASE(
    "own functions that make data for a loop without a loader are transform, as in the report") {
  // read() calls numpy to read, and then works in its own lines; torch trains.
  const std::string text =
      "0 process process=1 pid=100 comm=\"python3\"\n"
      "0 thread thread=1 process=1 tid=100\n"
      "0 stack stack=1 file=\"train.py\" function=\"main\" line=30\n"
      "0 stack stack=2 caller=1 file=\"train.py\" function=\"read\" line=20\n"
      "0 stack stack=3 caller=2 file=\"/u/site-packages/numpy/lib/_npyio_impl.py\" "
      "function=\"genfromtxt\" line=9\n"
      "0 stack stack=4 caller=1 file=\"/u/site-packages/torch/_tensor.py\" "
      "function=\"Tensor.backward\" line=9\n"
      "repeat 20 every 100ms\n"
      "0 slice thread=1 duration=100ms samples=10 wait=running\n"
      "10ms stack_slice thread=1 duration=10ms samples=2 stack=3\n"
      "30ms stack_slice thread=1 duration=10ms samples=2 stack=2\n"
      "50ms stack_slice thread=1 duration=30ms samples=4 stack=4\n"
      "95ms optimizer thread=1 duration=5ms optimizer=1\n"
      "end\n";
  const std::string folded = foldedStacksOf(text, StackGroup::kPhase);
  INFO(folded);
  CHECK(folded.find("transform;train.py:main;train.py:read 400000\n") != std::string::npos);
  CHECK(folded.find("compute;train.py:main;train.py:read") == std::string::npos);
}
