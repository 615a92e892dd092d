// SPDX-License-Identifier: MIT
// compute.recompilation: what is compiled again and again, by the hook's spans or by samples.
#include <cmath>

#include "tests/unit/analysis/found.h"
#include "tests/unit/analysis/sample_text.h"

using namespace stallprof;
using stallprof::test::sample;

namespace {

const std::string kCompileFrames =
    "0 stack stack=1 file=\"train.py\" function=\"main\" line=20\n"
    "0 stack stack=2 file=\"train.py\" function=\"main\" line=21\n"
    "0 stack stack=3 caller=2 file=\"/u/site-packages/jax/_src/compiler.py\" "
    "function=\"backend_compile_and_load\" line=9\n"
    "0 stack stack=4 caller=2 file=\"/u/site-packages/torch/_tensor.py\" "
    "function=\"Tensor.backward\" line=9\n"
    "0 stack stack=5 caller=2 file=\"/u/site-packages/torch/_dynamo/convert_frame.py\" "
    "function=\"ConvertFrame.__call__\" line=9\n"
    "0 stack stack=6 caller=5 file=\"/u/site-packages/torch/fx/graph.py\" function=\"Graph.lint\" "
    "line=9\n";

std::string span(int at, int duration, const std::string& name) {
  return std::to_string(at) + "ms span thread=1 duration=" + std::to_string(duration) +
         "ms phase=compute source=hook name=\"" + name + "\" file=\"train.py\" line=21\n";
}

// 100 iterations of 100 ms after a second of setup.
Analysis compiling(const std::string& before, const std::string& iteration) {
  return analyze(test::traceOf(test::kTrainer + kCompileFrames + sample(0, 100, 1) + before +
                               "repeat 100 every 100ms\n" + iteration + "end\n"));
}

const std::string kUpdate = "1090ms optimizer thread=1 duration=5ms optimizer=1\n";

}  // namespace

TEST_CASE("a step compiled each time is recompilation, by the hook's times, not health") {
  const Analysis a = compiling(
      "", sample(1000, 2, 1) + sample(1020, 6, 3) + sample(1080, 2, 4) +
              span(1020, 10, "jax.trace update") +
              span(1030, 50, "jax.compile update: x float32[9] after float32[8]") + kUpdate);
  REQUIRE(!a.findings.empty());
  const Finding& f = a.findings[0];
  CHECK(f.id == "compute.recompilation");
  CHECK(std::abs(f.shareRatio - 0.6) < 0.02);
  CHECK(f.where.line == 21);
  CHECK(a.verdict.healthy != true);
  CHECK(a.verdict.boundBy == "compute");
  REQUIRE(!f.advice.empty());
  CHECK(f.advice[0].predicted.basis == Basis::kReplayed);
  REQUIRE(f.advice[0].predicted.speedup);
  CHECK(std::abs(*f.advice[0].predicted.speedup - 2.5) < 0.15);
  CHECK(*f.advice[0].predicted.high < 3.4);  // 1 / (1 - 1.15 * 0.6) = 3.2
  bool said = false;
  for (const EvidenceItem& item : f.evidence)
    said = said || item.text == "the latest: x float32[9] after float32[8]";
  CHECK(said);
}

TEST_CASE("functions that are compiled for the first time are no recompilation") {
  std::string first;
  for (int i = 0; i < 20; ++i)
    first += span(5000 + 100 * i, 60, "jax.compile f" + std::to_string(i));
  const Analysis a = compiling(first, sample(1000, 10, 4) + kUpdate);
  CHECK(test::find(a, "compute.recompilation") == nullptr);
}

TEST_CASE("without the hook, samples under a compiler's frames show it, and the gain is assumed") {
  const Analysis a = compiling("", sample(1000, 2, 1) + sample(1020, 6, 6) + sample(1080, 2, 4));
  REQUIRE(!a.findings.empty());
  const Finding& f = a.findings[0];
  CHECK(f.id == "compute.recompilation");
  CHECK(f.advice[0].change.name == "torch.compile");
  CHECK(f.advice[0].predicted.basis == Basis::kAssumed);
  CHECK(f.confidence <= Confidence::kMedium);
  CHECK(a.verdict.healthy != true);
}

TEST_CASE("one long compilation in a loop is neither recompilation nor health") {
  const auto steps = [](int at) {
    return "repeat 50 every 100ms\n" + sample(at, 10, 4) + std::to_string(at + 90) +
           "ms optimizer thread=1 duration=5ms optimizer=1\nend\n";
  };
  const Analysis a = analyze(test::traceOf(test::kTrainer + kCompileFrames + steps(1000) +
                                           sample(6000, 400, 3) + steps(10000)));
  CHECK(test::find(a, "compute.recompilation") == nullptr);
  CHECK(a.verdict.healthy != true);
}
