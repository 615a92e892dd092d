// SPDX-License-Identifier: MIT
// periodic.evaluation of a loop of the program's own: from eval() to train().
#include <cmath>

#include "tests/unit/analysis/found.h"

using namespace stallprof;

namespace {

// 200 updates of 50 ms, and before each 20th half a second that `span` names.
Analysis evaluating(const std::string& span, const std::string& source = "hook") {
  std::string text = test::kTrainer;
  for (int i = 0; i < 10; ++i) {
    const int at = 1000 + 1500 * i;
    text += std::to_string(at) + "ms span thread=1 duration=500ms phase=periodic source=" + source +
            " name=\"" + span + "\" file=\"train.py\" line=30\n";
    text += "repeat 20 every 50ms\n" + std::to_string(at + 540) +
            "ms optimizer thread=1 duration=5ms optimizer=1\n" + std::to_string(at + 500) +
            "ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\nend\n";
  }
  return analyze(test::traceOf(text));
}

}  // namespace

TEST_CASE("what lies between eval() and train() is evaluation, at the line of the eval()") {
  const Analysis a = evaluating("evaluation");
  REQUIRE(a.breakdown.phase);
  CHECK(std::abs(a.breakdown.phase->periodic - 0.33) < 0.03);
  REQUIRE(!a.findings.empty());
  const Finding& f = a.findings[0];
  CHECK(f.id == "periodic.evaluation");
  CHECK(f.where.line == 30);
  CHECK(std::abs(f.shareRatio - a.breakdown.phase->periodic) < 0.001);
  CHECK(a.verdict.boundBy == "periodic");
  CHECK(test::find(a, "periodic.checkpoint") == nullptr);
}

TEST_CASE(
    "a save before train() comes is none of the evaluation, and what is announced is no save") {
  std::string text = test::kTrainer;
  for (int i = 0; i < 10; ++i) {
    const int at = 1000 + 1500 * i;
    const auto span = [&](int from, int length, const char* source, const char* name) {
      return std::to_string(at + from) + "ms span thread=1 duration=" + std::to_string(length) +
             "ms phase=periodic source=" + source + " name=\"" + name +
             "\" file=\"train.py\" line=30\n";
    };
    text += span(0, 450, "hook", "evaluation") + span(150, 200, "hook", "torch.save") +
            span(350, 100, "hook", "torch.save") + span(460, 30, "mark", "rest");
    text += "repeat 20 every 50ms\n" + std::to_string(at + 540) +
            "ms optimizer thread=1 duration=5ms optimizer=1\nend\n";
  }
  const Analysis a = analyze(test::traceOf(text));
  const Finding *evaluation = test::find(a, "periodic.evaluation"),
                *saves = test::find(a, "periodic.checkpoint");
  REQUIRE(evaluation);
  REQUIRE(saves);
  CHECK(std::abs(evaluation->shareRatio - 0.10) < 0.01);  // 150 of 1500 ms
  CHECK(std::abs(saves->shareRatio - 0.20) < 0.01);
  bool counted = false;
  for (const EvidenceItem& item : saves->evidence)
    counted = counted || item.text.find("300 ms each") != std::string::npos;
  CHECK(counted);  // two calls are one save
}

TEST_CASE("what a program announces as periodic is what its name says, and without one unknown") {
  const Analysis validation = evaluating("validation", "nvtx"), saving = evaluating("Save", "mark"),
                 unnamed = evaluating("", "mark");
  CHECK(test::find(validation, "periodic.evaluation") != nullptr);
  CHECK(test::find(validation, "periodic.checkpoint") == nullptr);
  CHECK(test::find(saving, "periodic.checkpoint") != nullptr);
  CHECK(test::find(unnamed, "periodic.checkpoint") == nullptr);
  CHECK(unnamed.verdict.healthy != true);
}

TEST_CASE("another span of the hook's is a checkpoint, not evaluation") {
  const Analysis a = evaluating("torch.save");
  CHECK(test::find(a, "periodic.evaluation") == nullptr);
  CHECK(test::find(a, "periodic.checkpoint") != nullptr);
}

TEST_CASE("an evaluation ends where training fetches again, though its step calls train() late") {
  // of each 4 s: 20 steps of 50 ms, a validation of 1 s in 10 batches, workers that start for 2 s.
  const auto text = [](bool late) {
    std::string events = test::kTrainer;
    for (int i = 0; i < 4; ++i) {
      const int at = 1000 + 4000 * i;
      const std::string training = std::to_string(2 * i + 1), checking = std::to_string(2 * i + 2);
      const auto ms = [&](int after) { return std::to_string(at + after) + "ms "; };
      events += ms(0) + "iterator thread=1 loader=1 epoch=" + training + " duration=1950ms\n" +
                "repeat 20 every 50ms\n" + ms(1950) + "fetch thread=1 loader=1 epoch=" + training +
                " duration=10ms batch=0+1*i\n" + ms(1975) +
                "optimizer thread=1 duration=5ms optimizer=1\nend\nrepeat 10 every 100ms\n" +
                ms(2960) + "fetch thread=1 loader=2 epoch=" + checking +
                " duration=50ms batch=0+1*i\nend\n" + ms(2960) +
                "span thread=1 duration=" + (late ? "3010" : "1040") +
                "ms phase=periodic source=hook name=\"evaluation\"\n";
    }
    return events;
  };
  const Analysis late = analyze(test::traceOf(text(true))),
                 soon = analyze(test::traceOf(text(false)));
  REQUIRE(late.breakdown.phase);
  REQUIRE(soon.breakdown.phase);
  CHECK(soon.breakdown.phase->load > 0.3);
  CHECK(std::abs(late.breakdown.phase->load - soon.breakdown.phase->load) < 0.001);
  CHECK(std::abs(late.breakdown.phase->periodic - soon.breakdown.phase->periodic) < 0.001);
  const Finding *of = test::find(late, "periodic.evaluation"),
                *same = test::find(soon, "periodic.evaluation");
  REQUIRE(of);
  REQUIRE(same);
  CHECK(std::abs(of->shareRatio - same->shareRatio) < 0.001);
}
