// SPDX-License-Identifier: MIT
#include "analysis/steps/loops/loop_lines.h"

#include "tests/unit/analysis/found.h"
#include "tests/unit/analysis/sample_text.h"

using namespace stallprof;
using stallprof::test::near2;
using stallprof::test::sample;

namespace {

// main(): setup (1), then a loop of augment() by arrays (2, 3), a model's call by JAX (4, 5), a
// wait for its result (6), and a line of its own behind that (7). 8, 9: torch forward and backward.
// 10: the model's call compiles. 11: the wait, by JAX. 12: data by a function that compiles, 13:
// and takes a gradient. 14: a `with` statement around all of it. 15, 16: a loop that
// main's setup calls.
const std::string kLoopFrames =
    "0 stack stack=1 file=\"train.py\" function=\"main\" line=10\n"
    "0 stack stack=2 file=\"train.py\" function=\"main\" line=20\n"
    "0 stack stack=3 caller=2 file=\"/u/site-packages/numpy/_core/_methods.py\" "
    "function=\"_std\" line=9\n"
    "0 stack stack=4 file=\"train.py\" function=\"main\" line=21\n"
    "0 stack stack=5 caller=4 file=\"/u/site-packages/jax/_src/pjit.py\" function=\"call\" line=9\n"
    "0 stack stack=6 file=\"train.py\" function=\"main\" line=22\n"
    "0 stack stack=7 file=\"train.py\" function=\"main\" line=23\n"
    "0 stack stack=8 caller=4 file=\"/u/site-packages/torch/nn/modules/module.py\" "
    "function=\"Module._call_impl\" line=9\n"
    "0 stack stack=9 caller=6 file=\"/u/site-packages/torch/_tensor.py\" "
    "function=\"Tensor.backward\" line=9\n"
    "0 stack stack=10 caller=4 file=\"/u/site-packages/jax/_src/compiler.py\" "
    "function=\"backend_compile\" line=9\n"
    "0 stack stack=11 caller=6 file=\"/u/site-packages/jax/_src/array.py\" "
    "function=\"ArrayImpl._value\" line=9\n"
    "0 stack stack=12 caller=2 file=\"/u/site-packages/jax/_src/compiler.py\" "
    "function=\"backend_compile\" line=9\n"
    "0 stack stack=13 caller=12 file=\"/u/site-packages/jax/_src/api.py\" "
    "function=\"value_and_grad.<locals>.value_and_grad_f\" line=9\n"
    "0 stack stack=14 file=\"train.py\" function=\"main\" line=5\n"
    "0 stack stack=15 caller=1 file=\"train.py\" function=\"prepare\" line=30\n"
    "0 stack stack=16 caller=1 file=\"train.py\" function=\"prepare\" line=31\n";

// Two seconds of setup, then 100 iterations of 100 ms.
Trace looped(const std::string& iteration) {
  return test::traceOf(test::kTrainer + kLoopFrames + sample(0, 200, 1) +
                       "repeat 100 every 100ms\n" + iteration + "end\n");
}
Analysis loopOf(const std::string& iteration) { return analyze(looped(iteration)); }

const std::string kAugmentFirst = sample(2000, 6, 3) + sample(2060, 2, 5);

}  // namespace

Maybe<MainLoop> mainLoopOf(const Trace& trace) {
  return findMainLoop(trace, trace.thread(ThreadId{1}), StackLabels(trace, RuleTable::builtIn()));
}

TEST_CASE("the loop is the lines that come back, setup apart") {
  const Trace trace = looped(kAugmentFirst + sample(2080, 2, 6, false));
  const Maybe<MainLoop> loop = mainLoopOf(trace);
  REQUIRE(loop);
  CHECK(loop->first == 20);
  CHECK(loop->last == 22);
  CHECK(trace.stack(loop->place).line == 20);
  CHECK(near2(seconds(loop->window.begin), 2));
  CHECK(near2(seconds(loop->window.length()), 10));
}

TEST_CASE("a with statement around setup and loop, visited again at its end, is no loop") {
  const Trace trace =
      test::traceOf(test::kTrainer + kLoopFrames + sample(0, 2, 14) + sample(20, 198, 1) +
                    "repeat 100 every 100ms\n" + kAugmentFirst + sample(2080, 2, 6, false) +
                    "end\n" + sample(12000, 2, 14));
  const Maybe<MainLoop> loop = mainLoopOf(trace);
  REQUIRE(loop);
  CHECK(loop->first == 20);
  CHECK(loop->last == 22);
  CHECK(near2(seconds(loop->window.begin), 2));
}

TEST_CASE("a loop of the setup, however long, is not the one that trains") {
  const Trace trace =
      test::traceOf(test::kTrainer + kLoopFrames + "repeat 90 every 100ms\n" + sample(0, 5, 15) +
                    sample(50, 5, 16) + "end\nrepeat 20 every 100ms\n" + sample(9000, 6, 3) +
                    sample(9060, 2, 5) + sample(9080, 2, 6, false) + "end\n");
  const Maybe<MainLoop> loop = mainLoopOf(trace);
  REQUIRE(loop);
  CHECK(loop->first == 20);
  CHECK(near2(seconds(loop->window.begin), 9));
  CHECK(near2(seconds(loop->window.length()), 2));
  const Analysis a = analyze(trace);
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->transform, 0.6));
}

TEST_CASE("a model that is made before a long setup does not make that part of the training") {
  const Trace trace = test::traceOf(
      test::kTrainer + kLoopFrames + sample(0, 3, 5) + "repeat 400 every 100ms\n" +
      sample(30, 5, 15) + sample(80, 5, 16) + "end\nrepeat 100 every 100ms\n" +
      sample(40100, 6, 3) + sample(40160, 2, 5) + sample(40180, 2, 6, false) + "end\n");
  const Maybe<MainLoop> loop = mainLoopOf(trace);
  REQUIRE(loop);
  CHECK(loop->first == 20);
}

TEST_CASE("without a loader or an optimizer, lines before the model's make the data") {
  const Analysis a = loopOf(kAugmentFirst + sample(2080, 2, 6, false));
  CHECK(a.steps.count == 0);
  CHECK(a.breakdown.scope == "run");
  CHECK(a.breakdown.loop.line == 20);
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->transform, 0.6));
  CHECK(near2(a.breakdown.phase->compute, 0.4));  // with the wait for the model's result
  REQUIRE(!a.findings.empty());
  CHECK(a.findings[0].id == "transform.in_process");
  CHECK(a.findings[0].where.line == 20);
  CHECK(a.verdict.boundBy == "transform");
  CHECK(a.verdict.healthy == false);
  CHECK(a.verdict.confidence <= Confidence::kMedium);
}

TEST_CASE("a line above the model's that multiplies matrices is a model of tensors, no data") {
  const auto compute = [](const std::string& library) {
    const Analysis a = loopOf(sample(2000, 6, 2) + sample(2060, 2, 9) +
                              "2010ms native thread=1 duration=1ms stack=2 samples=4 file=\"" +
                              library + "\" function=\"f\"\n");
    return a.breakdown.phase ? a.breakdown.phase->compute : -1;
  };
  CHECK(near2(compute("/usr/lib/libblas.so.3"), 1));
  CHECK(compute("/usr/lib/libjpeg.so.8") < 0.5);
}

TEST_CASE("own code behind the model's lines is neither data nor compute: it is other") {
  const Analysis a = loopOf(sample(2000, 2, 3) + sample(2020, 5, 5) + sample(2070, 3, 7));
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->transform, 0.2));
  CHECK(near2(a.breakdown.phase->compute, 0.5));
  CHECK(near2(a.breakdown.phase->other, 0.3));
}

TEST_CASE(
    "who wakes up where it waits for the model, and gets no core at once, waits for it still") {
  const auto other = [](int blocked) {
    const Analysis a =
        loopOf(sample(2000, 1, 3) + sample(2010, 1, 5) + sample(2020, blocked, 6, false) +
               sample(2020 + 10 * blocked, 8 - blocked, 6));
    REQUIRE(a.breakdown.phase.has_value());
    return a.breakdown.phase->other;
  };
  CHECK(near2(other(7), 0));
  CHECK(near2(other(5), 0.3));  // it may do more than wait
}

TEST_CASE("a line that compiled once computes, though it shows no frame of the model's later") {
  const std::string iterations = "repeat 100 every 100ms\n" + sample(2300, 2, 3) +
                                 sample(2320, 1, 4) + sample(2330, 7, 9) + "end\n";
  const auto phases = [&](int compiles) {
    const Analysis a = analyze(test::traceOf(test::kTrainer + kLoopFrames + sample(0, 200, 1) +
                                             sample(2000, 30, compiles) + iterations));
    REQUIRE(a.breakdown.phase.has_value());
    return *a.breakdown.phase;
  };
  CHECK(near2(phases(10).compute, 0.8));
  CHECK(near2(phases(10).other, 0));
  CHECK(near2(phases(8).other, 0.1));
}

TEST_CASE("a loop lasts on where only the compilation of its model is known") {
  const Trace trace =
      test::traceOf(test::kTrainer + kLoopFrames + sample(0, 200, 1) + sample(2000, 30, 10) +
                    "repeat 100 every 100ms\n" + sample(2300, 8, 2) + sample(2380, 2, 4) + "end\n");
  const Maybe<MainLoop> loop = mainLoopOf(trace);
  REQUIRE(loop);
  CHECK(loop->first == 20);
  CHECK(seconds(loop->window.length()) > 10);
  CHECK(near2(analyze(trace).breakdown.phase->transform, 0.78));
}

TEST_CASE("of lines that compiled once the last, or one that took a gradient, is the step") {
  // Data by a line that compiles (20), a step (21), a wait for it (22); a thousand times the step
  // and the data take as long as compiling the two does, 100 ms each.
  const auto phases = [&](const std::string& step) {
    const std::string text = sample(2000, 10, 12) + sample(2100, 10, 10) + step +
                             "repeat 200 every 100ms\n" + sample(2300, 2, 2) + sample(2320, 2, 4) +
                             sample(2340, 6, 11, false) + "end\n";
    const Analysis a =
        analyze(test::traceOf(test::kTrainer + kLoopFrames + sample(0, 200, 1) + text));
    REQUIRE(a.breakdown.phase.has_value());
    return *a.breakdown.phase;
  };
  CHECK(near2(phases("").transform, 0.2));
  CHECK(near2(phases("").compute, 0.8));
  // The first of the two differentiates: both compute.
  CHECK(near2(phases(sample(2200, 1, 13)).transform, 0));
}

TEST_CASE("a loop that only computes, by lines that known code runs under, is healthy") {
  const Analysis a = loopOf(sample(2000, 4, 8) + sample(2040, 6, 9));
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->compute, 1));
  REQUIRE(!a.findings.empty());
  CHECK(a.findings[0].id == "compute.cpu_bound");
  CHECK(a.verdict.boundBy == "compute");
  CHECK(a.verdict.healthy == true);
}

TEST_CASE("where arrays are all there is, no line is known to compute, and none to make data") {
  const Trace trace = looped(sample(2000, 6, 3) + sample(2060, 4, 6));
  const StackLabels labels(trace, RuleTable::builtIn());
  const LoopLines lines(trace, labels, trace.thread(ThreadId{1}), trace.begin, trace.end);
  CHECK(!lines.known());
  CHECK(lines.of(StackId{3}) == LoopLines::Is::kUnknown);
  const Analysis a = analyze(trace);
  CHECK(a.verdict.healthy.value_or(false) == false);
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->compute, 0));
  CHECK(near2(a.breakdown.phase->other, 1));
  CHECK(a.verdict.boundBy == "unknown");
}

TEST_CASE("in a run without steps only known code computes, in a loop or without one") {
  const auto phases = [](int at) {
    const Analysis a = analyze(
        test::traceOf(test::kTrainer + kLoopFrames + sample(0, 200, at) + sample(2000, 50, 9)));
    REQUIRE(a.breakdown.phase.has_value());
    return *a.breakdown.phase;
  };
  CHECK(near2(phases(7).other, 0.8));
  CHECK(near2(phases(7).compute, 0.2));  // backward
  CHECK(near2(phases(8).compute, 1));    // a module's call
}

TEST_CASE("of a loop that mostly computes, data over a tenth is a verdict of low confidence") {
  const Analysis a = loopOf(sample(2000, 3, 3) + sample(2030, 3, 5) + sample(2060, 4, 6, false));
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->transform, 0.3));
  CHECK(near2(a.breakdown.phase->compute, 0.7));
  REQUIRE(!a.findings.empty());
  CHECK(a.verdict.boundBy == "transform");
  CHECK(a.verdict.confidence == Confidence::kLow);
  CHECK(a.findings[0].id == "transform.in_process");
  // With much that no line says there is none.
  const Analysis b = loopOf(sample(2000, 2, 3) + sample(2020, 6, 5) + sample(2080, 2, 7));
  CHECK(b.verdict.boundBy == "unknown");
}

TEST_CASE("where no phase holds half of the loop there is no verdict, and little is sure") {
  const Analysis a = loopOf(sample(2000, 3, 3) + sample(2030, 4, 5) + sample(2070, 3, 7));
  for (const Finding& f : a.findings) CHECK(f.confidence == Confidence::kLow);
  CHECK(a.verdict.boundBy == "unknown");
  REQUIRE(a.verdict.withheld);
  CHECK(a.verdict.withheld->why == NoVerdict::Why::kNoSteps);
}

TEST_CASE("what a program without steps evaluates from eval() to train() is known") {
  const Trace trace = test::traceOf(
      test::kTrainer + kLoopFrames + sample(0, 200, 1) + "repeat 100 every 100ms\n" +
      kAugmentFirst +
      "end\n5s span thread=1 duration=2s phase=periodic source=hook name=\"evaluation\"\n");
  const Analyzed analyzed = analyzeWithFacts(trace);
  CHECK(analyzed.analysis.steps.count == 0);
  REQUIRE(analyzed.trainer.evaluations.size() == 1);
  CHECK(near2(seconds(analyzed.trainer.evaluations[0].length()), 2));
}
