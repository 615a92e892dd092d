// SPDX-License-Identifier: MIT
#include "analysis/steps/loops/inferred_steps.h"

#include <cmath>
#include <random>

#include "tests/unit/analysis/found.h"
#include "tests/unit/classify/stacks.h"

using namespace stallprof;
using stallprof::test::stackLine;
using namespace std::chrono_literals;

namespace {

const std::string kSite = "/u/lib/python3.11/site-packages/";

// The program's own main() at three lines of its loop, called from its last line, and what they
// call: 5 nothing, 6 and 7 functions of the program's own.
const std::string kMain =
    stackLine(1, 0, "train.py", "<module>", 60) + stackLine(2, 1, "train.py", "main", 20) +
    stackLine(3, 1, "train.py", "main", 21) + stackLine(4, 1, "train.py", "main", 22) +
    stackLine(6, 3, "train.py", "forward", 40) + stackLine(7, 4, "train.py", "backward", 50);

// Samples of the main thread's stack, 10 ms apart, in order: one number a sample.
class Samples {
 public:
  Samples& see(int stack, int samples) {
    for (int i = 0; i < samples; ++i) at(stack, at_ + 10'000);
    return *this;
  }
  Samples& at(int stack, std::int64_t micros) {
    at_ = micros;
    text_ += std::to_string(at_) + "us stack_slice thread=1 stack=" + std::to_string(stack) + "\n";
    return *this;
  }
  [[nodiscard]] Trace trace(const std::string& frames) const {
    return test::traceOf(test::kTrainer + frames + text_ + "0 slice thread=1 duration=" +
                         std::to_string(at_) + "us run=" + std::to_string(at_) +
                         "us wait=running samples=" + std::to_string(at_ / 10'000) + "\n" +
                         std::to_string(at_) + "us command_end exit_code=0\n");
  }

 private:
  std::int64_t at_ = 0;
  std::string text_;
};

InferredSteps inferred(const Trace& trace, const RuleTable& table = RuleTable::builtIn()) {
  const StackLabels labels(trace, table);
  return inferSteps(trace, labels, findRoles(trace));
}

bool says(const InferredSteps& steps, const std::string& words) {
  return steps.why.find(words) != std::string::npos;
}

// Epochs of ten batches in train_epoch(), then evaluate(), in main().
const std::string kEpochs =
    stackLine(1, 0, "train.py", "main", 10) + stackLine(2, 0, "train.py", "main", 11) +
    stackLine(3, 1, "train.py", "train_epoch", 30) +
    stackLine(4, 1, "train.py", "train_epoch", 31) + stackLine(5, 4, "train.py", "train_step", 40) +
    stackLine(6, 2, "train.py", "evaluate", 50);

Samples epochs(int count) {
  Samples samples;
  for (int epoch = 0; epoch < count; ++epoch) {
    for (int batch = 0; batch < 10; ++batch) samples.see(3, 9).see(5, 9);
    samples.see(6, 40);
  }
  return samples;
}

}  // namespace

TEST_CASE("a loop around partial_fit is one of steps, surely where it is long and even") {
  const std::string frames =
      stackLine(1, 0, "train.py", "<module>", 11) + stackLine(2, 0, "train.py", "<module>", 12) +
      stackLine(3, 2, kSite + "sklearn/linear_model/_stochastic_gradient.py",
                "SGDClassifier.partial_fit", 846) +
      stackLine(4, 3, kSite + "sklearn/linear_model/_stochastic_gradient.py", "fit_binary", 515);
  Samples samples;
  samples.see(1, 100);  // reading the data set
  for (int i = 0; i < 120; ++i) samples.see(1, 8).see(3, 1).see(4, 11);
  const Trace trace = samples.trace(frames);
  const Analysis a = analyze(trace);
  REQUIRE(a.steps.source.has_value());
  CHECK(*a.steps.source == "inferred");
  // The first batch cannot be distinguished from reading the data set, which is on the same line.
  CHECK(std::abs(a.steps.count - 120) <= 1);
  CHECK(a.steps.confidence == Confidence::kMedium);
  REQUIRE(a.steps.time.has_value());
  CHECK(std::abs(seconds(a.steps.time->p50) - 0.2) < 0.001);
  CHECK(a.breakdown.scope == "window");
  CHECK(!a.verdict.healthy.has_value());
  CHECK(a.trainers.size() == 1);
  CHECK(says(inferred(trace), "train.py:11 <module>"));
}

TEST_CASE("the rounds of xgboost are found by its training loop, not by the program's one line") {
  const std::string training = kSite + "xgboost/training.py", core = kSite + "xgboost/core.py";
  const std::string frames =
      stackLine(1, 0, "train.py", "<module>", 9) + stackLine(2, 1, training, "train", 181) +
      stackLine(3, 1, training, "train", 182) + stackLine(4, 2, core, "Booster.update", 2100) +
      stackLine(5, 3, core, "Booster.eval_set", 2200);
  Samples samples;
  for (int i = 0; i < 40; ++i) samples.see(4, 25).see(5, 5);
  const Analysis a = analyze(samples.trace(frames));
  REQUIRE(a.steps.source.has_value());
  CHECK(a.steps.count == 40);
  CHECK(a.steps.confidence == Confidence::kLow);  // fewer than a hundred
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(std::abs(a.breakdown.phase->periodic - 5 / 30.0) < 0.02);
}

TEST_CASE("a loop of the program's own is found when it is the only one, with low confidence") {
  Samples samples;
  for (int i = 0; i < 60; ++i) samples.see(2, 4).see(6, 8).see(7, 6);
  const Trace trace = samples.trace(kMain);
  CHECK(inferred(trace).iterations.size() == 60);
  const Analysis a = analyze(trace);
  CHECK(a.steps.confidence == Confidence::kLow);
  // Which lines compute and which make data is not known: no verdict, and no word of health.
  CHECK(a.verdict.boundBy == "unknown");
  CHECK(!a.verdict.healthy.has_value());
  CHECK(a.findings.empty());
}

TEST_CASE("jobs in random order, of random length, are no steps") {
  std::mt19937 random(7);
  Samples order, length, turns;
  for (int i = 0; i < 300; ++i) order.see(2 + static_cast<int>(random() % 3), 8);
  for (int i = 0; i < 100; ++i)
    length.see(2, 1 + static_cast<int>(random() % 40)).see(6, 1 + static_cast<int>(random() % 40));
  for (int i = 0; i < 300; ++i) turns.see(random() % 2 ? 2 : 6, 8);
  for (const Samples& samples : {order, length, turns}) {
    const Analysis a = analyze(samples.trace(kMain));
    CHECK(!a.steps.source.has_value());
    CHECK(a.steps.count == 0);
    CHECK(a.breakdown.scope == "run");
    CHECK(a.verdict.boundBy == "unknown");
  }
}

TEST_CASE("epochs around batches may as well be batches around samples: no steps") {
  const InferredSteps steps = inferred(epochs(30).trace(kEpochs));
  CHECK(steps.iterations.empty());
  CHECK(says(steps, "more than one loop"));
  CHECK(says(steps, "train.py:30 train_epoch"));
  CHECK(inferred(epochs(5).trace(kEpochs)).iterations.empty());
}

namespace {

RuleTable trainStepUpdates() {
  return test::withRules(
      "[[rule]]\nid = \"mine.step\"\nphase = \"compute\"\nupdate = true\n"
      "functions = [\"train_step\"]\n");
}

}  // namespace

TEST_CASE("a rule that names the update decides which loop is the steps'") {
  const RuleTable table = trainStepUpdates();
  for (const int count : {5, 30}) {
    const InferredSteps steps = inferred(epochs(count).trace(kEpochs), table);
    CHECK(steps.iterations.size() == static_cast<std::size_t>(10 * count));
    CHECK(says(steps, "train.py:30 train_epoch"));
  }
}

TEST_CASE("updates that come too fast to count leave no steps, and are no reason for slower ones") {
  // 30 epochs of 2 s in which every sample finds another line of the batch loop, then evaluation.
  std::mt19937 random(3);
  Samples samples;
  for (int epoch = 0; epoch < 30; ++epoch) {
    for (int i = 0; i < 200; ++i) samples.see(random() % 3 ? 5 : 3, 1);
    samples.see(6, 40);
  }
  const RuleTable table = trainStepUpdates();
  const Trace trace = samples.trace(kEpochs);
  CHECK(says(inferred(trace, table), "too fast"));
  CHECK(inferred(trace, table).iterations.empty());
  CHECK(inferred(trace).iterations.empty());
}

TEST_CASE("a loop as fast as the sampling is not taken for a slow one") {
  // Steps of about 10 ms: each sample sees the next one a little later in its course, so the lines
  // come back slowly. Samples are up to a tenth of their period beside their grid.
  for (const double step : {9.3, 10.6, 10.9, 11.5, 4.8, 5.3, 20.6}) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> beside(-1.0, 1.0);
    Samples samples;
    for (int i = 1; i < 6000; ++i) {
      const double at = 10.0 * i + beside(random);
      const double phase = std::fmod(at, step) / step;
      samples.at(phase < 0.3 ? 2 : phase < 0.6 ? 6 : 7, static_cast<std::int64_t>(at * 1000));
    }
    const InferredSteps steps = inferred(samples.trace(kMain));
    INFO(step << " ms: " << steps.iterations.size() << " iterations; " << steps.why);
    CHECK(steps.iterations.empty());
  }
}

TEST_CASE("without recurring lines, and without samples, there are no steps") {
  CHECK(says(inferred(Samples().see(2, 3000).trace(kMain)), "no line"));
  const InferredSteps nobody = inferred(test::traceOf(test::kTrainer));
  CHECK(nobody.iterations.empty());
  CHECK(nobody.why.empty());
}

TEST_CASE("a process that works for another trains nobody") {
  Samples samples;
  for (int i = 0; i < 60; ++i) samples.see(2, 4).see(6, 8).see(7, 6);
  CHECK(!inferred(samples.trace(kMain)).iterations.empty());
  CHECK(inferred(samples.trace(kMain + "1s worker thread=1 key=5 worker=0 workers=1\n"))
            .iterations.empty());
}

TEST_CASE("an iteration that holds a checkpoint is set apart from the others' time") {
  Samples samples;
  for (int i = 0; i < 60; ++i) {
    samples.see(2, 4).see(6, 8).see(7, 6);
    if (i == 30) samples.see(7, 60);
  }
  const Analysis a = analyze(samples.trace(kMain));
  CHECK(a.steps.count == 60);
  REQUIRE(a.steps.time.has_value());
  CHECK(seconds(a.steps.time->p99) < 0.2);
}
