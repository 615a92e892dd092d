// SPDX-License-Identifier: MIT
// periodic.evaluation of a loop of the program's own: from eval() to train().
#include <cmath>

#include "tests/unit/analysis/found.h"
#include "tests/unit/analysis/sample_text.h"

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

// How sure the evaluation found is; the gain of a rarer one stands on `rarer`.
Confidence confidenceIn(const Analysis& a, Basis rarer) {
  const Finding* evaluation = test::find(a, "periodic.evaluation");
  REQUIRE(evaluation);
  for (const Advice& advice : evaluation->advice)
    if (advice.id == "rarer_evaluation") CHECK(advice.predicted.basis == rarer);
  return evaluation->confidence;
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

TEST_CASE("with few updates for each evaluation the model may act: medium at most") {
  const auto confidenceWith = [](int updates) {
    std::string text = test::kTrainer;
    for (int at = 1000; at < 31000; at += 50 * updates + 100)
      text += std::to_string(at) +
              "ms span thread=1 duration=100ms phase=periodic source=hook name=\"evaluation\"\n"
              "repeat " +
              std::to_string(updates) + " every 50ms\n" + std::to_string(at + 140) +
              "ms optimizer thread=1 duration=5ms optimizer=1\nend\n";
    return confidenceIn(analyze(test::traceOf(text)),
                        updates > 1 ? Basis::kReplayed : Basis::kAssumed);
  };
  CHECK(confidenceWith(5) == Confidence::kHigh);
  CHECK(confidenceWith(2) == Confidence::kMedium);
  CHECK(confidenceWith(1) == Confidence::kLow);
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

TEST_CASE("what a Keras model predicts in most steps may be what it is trained on: low") {
  // 400 updates; `each` of them in a row, then as many times 50 ms of predict().
  const auto confidenceWith = [](int each) {
    const auto method = [](int stack, const std::string& name) {
      return "0 stack stack=" + std::to_string(stack) +
             " file=\"/u/site-packages/keras/src/backend/tensorflow/trainer.py\" "
             "function=\"TensorFlowTrainer." +
             name + "\" line=9\n";
    };
    std::string text = test::kTrainer + method(1, "train_on_batch") + method(2, "predict");
    for (int at = 1000, updates = 0; updates < 400; updates += each, at += 100 * each) {
      text += test::sample(at, 5 * each, 1) + test::sample(at + 50 * each, 5 * each, 2);
      for (int i = 0; i < each; ++i)
        text +=
            std::to_string(at + 50 * i + 40) + "ms optimizer thread=1 duration=5ms optimizer=1\n";
    }
    return confidenceIn(analyze(test::traceOf(text)),
                        each > 2 ? Basis::kReplayed : Basis::kAssumed);
  };
  CHECK(confidenceWith(1) == Confidence::kLow);
  CHECK(confidenceWith(40) == Confidence::kHigh);
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

namespace {

// Of each 4 s: an iterator whose workers start for 1.9 s, 20 steps of 50 ms, 1 s of evaluation.
class Rounds {
 public:
  static constexpr int kTraining = 1950, kEvaluation = 2960;  // ms of a round
  Rounds() : text_(test::kTrainer) {}

  std::string ms(int after) const { return std::to_string(1000 + 4000 * round_ + after) + "ms "; }
  void iterator(int at, int epoch, int length = 1900) {
    text_ += ms(at) + "iterator thread=1 loader=1 epoch=" + std::to_string(epoch) +
             " duration=" + std::to_string(length) + "ms\n";
  }
  void fetches(int count, int at, int loader, int epoch, int every = 50) {
    text_ += "repeat " + std::to_string(count) + " every " + std::to_string(every) + "ms\n" +
             ms(at) + "fetch thread=1 loader=" + std::to_string(loader) +
             " epoch=" + std::to_string(epoch) + " duration=10ms batch=0+1*i\nend\n";
  }
  void updates(int count, int at) {
    text_ += "repeat " + std::to_string(count) + " every 50ms\n" + ms(at) +
             "optimizer thread=1 duration=5ms optimizer=1\nend\n";
  }
  void evaluation(int at, int length) {
    text_ += ms(at) + "span thread=1 duration=" + std::to_string(length) +
             "ms phase=periodic source=hook name=\"evaluation\"\n";
  }
  // Five rounds as `draw` has them.
  template <class Draw>
  static Analysis of(Draw draw) {
    Rounds rounds;
    for (; rounds.round_ < 5; ++rounds.round_) draw(rounds, rounds.round_);
    return analyze(test::traceOf(rounds.text_));
  }

 private:
  std::string text_;
  int round_ = 0;
};

double periodicShare(const Analysis& a) {
  return a.breakdown.phase ? a.breakdown.phase->periodic : -1;
}
double loadShare(const Analysis& a) { return a.breakdown.phase ? a.breakdown.phase->load : -1; }
double evaluationShare(const Analysis& a) {
  const Finding* f = test::find(a, "periodic.evaluation");
  return f ? f->shareRatio : 0;
}

}  // namespace

TEST_CASE("an evaluation ends where training fetches again, though its step calls train() late") {
  const auto of = [](int length, int nextIterator) {
    return Rounds::of([=](Rounds& r, int i) {
      if (nextIterator == 0 || i == 0) r.iterator(0, 2 * i + 1);
      r.fetches(20, Rounds::kTraining, 1, 2 * i + 1);
      r.updates(20, Rounds::kTraining + 25);
      r.fetches(10, Rounds::kEvaluation, 2, 2 * i + 2, 100);
      r.evaluation(Rounds::kEvaluation, length);
      if (nextIterator > 0) r.iterator(nextIterator, 2 * i + 3);
    });
  };
  const Analysis soon = of(1040, 0), late = of(3010, 0), between = of(2980, 0);
  CHECK(loadShare(soon) > 0.3);
  CHECK(std::abs(evaluationShare(soon) - periodicShare(soon)) < 0.001);
  for (const Analysis* a : {&late, &between}) {  // in the step; between its iterator and its fetch
    CHECK(std::abs(loadShare(*a) - loadShare(soon)) < 0.001);
    CHECK(std::abs(periodicShare(*a) - periodicShare(soon)) < 0.001);
    CHECK(std::abs(evaluationShare(*a) - evaluationShare(soon)) < 0.001);
  }
}

namespace {

// 3 s of training and one of evaluation, of which `draw` adds the batches.
template <class Draw>
Analysis evaluatedWith(Draw draw) {
  return Rounds::of([&](Rounds& r, int i) {
    r.fetches(60, 0, 1, 1);  // one iterator for the whole run
    r.updates(60, 25);
    if (i == 4) return;  // the window ends with a step
    r.evaluation(3000, 960);
    draw(r, i);
  });
}

}  // namespace

TEST_CASE("batches within eval() and train() end an evaluation only if they are trained on") {
  const Analysis alone = evaluatedWith([](Rounds&, int) {});
  CHECK(periodicShare(alone) > 0.15);
  const Analysis own = evaluatedWith([](Rounds& r, int) { r.fetches(19, 3005, 1, 1); });
  // The first of an iterator is within the window, too.
  const Analysis one =
      evaluatedWith([](Rounds& r, int i) { r.fetches(1, 3100, 2, i < 2 ? 2 : 3); });
  const Analysis ahead = evaluatedWith([](Rounds& r, int i) {
    r.fetches(1, 3010, 1, 1);
    r.fetches(9, 3050, 2, 2 + i, 100);
  });
  for (const Analysis* a : {&own, &one, &ahead}) {
    CHECK(std::abs(periodicShare(*a) - periodicShare(alone)) < 0.001);
    CHECK(std::abs(evaluationShare(*a) - evaluationShare(alone)) < 0.001);
  }
}

namespace {

// 16 epochs of 20 steps of 20 ms with one worker, started in 40 ms, and after each an evaluation of
// three batches, whose worker takes 140 ms to start, and 60 to end. Line 12 makes the trainer's
// loader, `line` the evaluation's, a new one every `each` epochs.
std::string withEvaluation(int line, int each = 100) {
  std::string text = "manifest cores_usable=4\n" + test::kTrainer + test::kWorker;
  const auto loader = [&](int at, int id, int of) {
    text += std::to_string(at) + "ms loader process=1 loader=" + std::to_string(id) +
            " kind=\"torch.DataLoader\" batching=\"auto\" dataset=\"D\" workers=1 batch_size=32 "
            "prefetch=2 file=\"train.py\" line=" +
            std::to_string(of) + "\n";
  };
  loader(0, 1, 12);
  for (int i = 0, id = 1; i < 16; ++i) {
    const int at = 1000 + 700 * i, evaluation = at + 440, key = 10 + 2 * i;
    const auto fetch = [&](int begin, int of, int length, const std::string& what) {
      text += std::to_string(begin) + "ms fetch thread=1 loader=" + std::to_string(of) +
              " epoch=" + std::to_string(of == 1 ? 1 + 2 * i : 2 + 2 * i) +
              " duration=" + std::to_string(length) + "ms cpu=1ms " + what + "\n";
    };
    const auto iterator = [&](int begin, int of, int length, int epochKey) {
      text += std::to_string(begin) + "ms iterator thread=1 loader=" + std::to_string(of) +
              " epoch=" + std::to_string(of == 1 ? 1 + 2 * i : 2 + 2 * i) +
              " key=" + std::to_string(epochKey) + " duration=" + std::to_string(length) +
              "ms cpu=1ms\n" + std::to_string(begin + length / 2) +
              "ms worker thread=2 key=" + std::to_string(epochKey) + " worker=0 workers=1\n";
    };
    if (i % each == 0) loader(evaluation - 1, ++id, line);
    iterator(at, 1, 40, key);
    for (int step = 0; step < 20; ++step) {
      const int begin = at + 40 + 20 * step;
      const std::string number = std::to_string(step);
      text += std::to_string(begin - 6) + "ms task thread=2 key=" + std::to_string(key) +
              " worker=0 batch=" + number + " fetch_begin=0 fetch_end=4ms put_end=5ms cpu=4ms\n";
      fetch(begin, 1, 1, "batch=" + number + " worker=0 ready=1");
      text += std::to_string(begin + 15) + "ms optimizer thread=1 duration=2ms optimizer=1\n";
    }
    fetch(at + 439, 1, 1, "end=1");
    iterator(evaluation, id, 100, key + 1);
    fetch(evaluation + 100, id, 40, "batch=0 worker=0");
    fetch(evaluation + 150, id, 1, "batch=1 worker=0 ready=1");
    fetch(evaluation + 160, id, 1, "batch=2 worker=0 ready=1");
    fetch(evaluation + 170, id, 60, "end=1");
  }
  return text;
}

// Null also where there is no such finding.
const Advice* adviceIn(const Analysis& a, std::string_view finding, std::string_view id) {
  const Finding* found = test::find(a, finding);
  return found ? test::adviceIn(*found, id) : nullptr;
}

}  // namespace

TEST_CASE(
    "what starts an evaluation's workers ends with the fix where one line makes both loaders") {
  const Analysis a = analyze(test::traceOf(withEvaluation(12)));
  const Finding* started = test::find(a, "load.worker_startup");
  REQUIRE(started);
  CHECK(std::abs(started->shareRatio - 240.0 / 700) < 0.02);
  CHECK(test::says(*started, "28 % of the time is for evaluation"));
  const Advice* kept = test::adviceIn(*started, "persistent_workers");
  REQUIRE(kept);
  CHECK(std::abs(*kept->predicted.speedup - 700.0 / 465) < 0.05);  // a first batch is awaited
  const Advice* none = test::adviceIn(*started, "fewer_workers");
  REQUIRE(none);
  CHECK(std::abs(*none->predicted.speedup - 700.0 / 550) < 0.1);  // it makes its batches itself
  const Finding* evaluation = test::find(a, "periodic.evaluation");
  REQUIRE(evaluation);
  CHECK(test::says(*evaluation, "takes 28 %"));
  CHECK_FALSE(test::adviceIn(*evaluation, "persistent_evaluation"));
}

TEST_CASE(
    "an evaluation's loader beside one that keeps its workers, at one line, is to keep them") {
  std::string text = withEvaluation(12);
  const std::string loader = "loader=1 kind=";
  REQUIRE(text.find(loader) != std::string::npos);
  text.insert(text.find(loader), "persistent=1 ");
  const Analysis a = analyze(test::traceOf(text));
  const Advice* kept = adviceIn(a, "periodic.evaluation", "persistent_evaluation");
  REQUIRE(kept);
  CHECK(kept->change.from == "False");
}

TEST_CASE("persistent workers of a loader that is made again are started with it") {
  const auto gain = [](int each) {
    const Analysis a = analyze(test::traceOf(withEvaluation(12, each)));
    const Advice* kept = adviceIn(a, "load.worker_startup", "persistent_workers");
    return kept ? *kept->predicted.speedup : 0;
  };
  CHECK(std::abs(gain(2) - 700.0 / 565) < 0.05);
  CHECK(std::abs(gain(1) - 700.0 / 660) < 0.05);
}

TEST_CASE("of an evaluation whose loader another line makes the setting is that line's") {
  const Analysis a = analyze(test::traceOf(withEvaluation(13)));
  const Finding* started = test::find(a, "load.worker_startup");
  REQUIRE(started);
  CHECK(std::abs(started->shareRatio - 40.0 / 700) < 0.02);
  CHECK_FALSE(test::says(*started, "for evaluation"));
  const Finding* evaluation = test::find(a, "periodic.evaluation");
  REQUIRE(evaluation);
  CHECK(evaluation->where.line == 13);
  const Advice* kept = test::adviceIn(*evaluation, "persistent_evaluation");
  REQUIRE(kept);
  CHECK(std::abs(*kept->predicted.speedup - 700.0 / 520) < 0.02);
  CHECK_FALSE(adviceIn(analyze(test::traceOf(withEvaluation(13, 1))), "periodic.evaluation",
                       "persistent_evaluation"));
}

TEST_CASE("intervals from eval() to train() have their own length, whatever else evaluates") {
  std::string text = withEvaluation(13);
  for (const int at : {1490, 8490})
    text += std::to_string(at) +
            "ms span thread=1 duration=20ms phase=periodic source=hook "
            "name=\"evaluation\" file=\"train.py\" line=77\n";
  const Analysis a = analyze(test::traceOf(text));
  const Finding* evaluation = test::find(a, "periodic.evaluation");
  REQUIRE(evaluation);
  CHECK(test::says(*evaluation, "1 interval from eval() to train(), 20 ms"));
  CHECK(evaluation->where.line == 13);
}
