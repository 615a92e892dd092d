// SPDX-License-Identifier: MIT
#include "analysis/steps/steps.h"

#include "tests/unit/analysis/trainer_timeline.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

struct Planned : TrainerRead {
  explicit Planned(const std::string& text) : TrainerRead(text), plan(planSteps(trace, timeline)) {}
  StepPlan plan;

  [[nodiscard]] std::size_t count() const { return plan.steps.size(); }
  void checkUpdates(std::size_t steps) const {
    REQUIRE(count() == steps);
    CHECK(plan.source == StepSource::kOptimizer);
  }
  void checkStep(std::size_t i, Nanos begin, Nanos end) const {
    CHECK(plan.steps[i].begin == begin);
    CHECK(plan.steps[i].end == end);
  }
};

// A training epoch of ten batches from `begin`, 100 ms each, an update in each, and its end.
std::string trainingPass(const std::string& begin, int epoch, int loader = 1) {
  const std::string who =
      " thread=1 loader=" + std::to_string(loader) + " epoch=" + std::to_string(epoch);
  return "repeat 10 every 100ms\n" +                                           //
         begin + "000ms fetch" + who + " duration=20ms batch=0+1*i\n" +        //
         begin + "080ms optimizer thread=1 duration=5ms optimizer=1\nend\n" +  //
         std::to_string(std::stoi(begin) + 1) + "000ms fetch" + who + " duration=1ms end=1\n";
}

// Ten steps of 100 ms, each of a batch of two zipped loaders (or of one, zipped with itself) and an
// update; `first` and `second`: how many ms their fetches take.
std::string zippedSteps(int first, int second, int other = 2) {
  return "repeat 10 every 100ms\n1000ms fetch thread=1 loader=1 epoch=1 duration=" +
         std::to_string(first) + "ms batch=0+1*i\n" + std::to_string(1000 + first) +
         "ms fetch thread=1 loader=" + std::to_string(other) +
         " epoch=2 duration=" + std::to_string(second) +
         "ms batch=0+1*i\n1080ms optimizer thread=1 duration=5ms optimizer=1\nend\n";
}

const std::string kZippedEnd = "2000ms fetch thread=1 loader=1 epoch=1 end=1\n";

std::vector<StepSpan> steps(std::size_t count, Nanos each) {
  std::vector<StepSpan> made;
  for (std::size_t i = 0; i < count; ++i) {
    const Nanos begin = static_cast<Nanos::rep>(i) * each;
    made.push_back({{begin, begin + each}, 0, 0, false});
  }
  return made;
}

}  // namespace

TEST_CASE("a step lasts from fetch to fetch, the last one to the fetch that ends the epoch") {
  const Planned planned(trainingPass("1", 1));
  REQUIRE(planned.count() == 10);
  CHECK(planned.plan.source == StepSource::kHook);
  planned.checkStep(0, 1s, 1100ms);
  CHECK(planned.plan.steps[9].end == 2s);
  CHECK(planned.plan.steps[0].boundary);
  CHECK(planned.plan.steps[9].boundary);
  CHECK(!planned.plan.steps[1].boundary);
  CHECK(planned.plan.warmup == 3);
  CHECK(planned.plan.window.begin == 1300ms);
  CHECK(planned.plan.window.end == 2s);
}

TEST_CASE("a last fetch that nothing follows is not counted, one with an update is") {
  const std::string two =
      "1s fetch thread=1 loader=1 epoch=1 batch=0\n"
      "1080ms optimizer thread=1 duration=5ms optimizer=1\n"
      "1100ms fetch thread=1 loader=1 epoch=1 batch=1\n";
  CHECK(Planned(two).count() == 1);  // killed in the second step
  const Planned broke(two + "1180ms optimizer thread=1 duration=5ms optimizer=1\n");
  REQUIRE(broke.count() == 2);  // left by break
  CHECK(broke.plan.steps[1].end == 1185ms);
}

TEST_CASE("an epoch without any update, in a process with some, is evaluation") {
  const Planned planned(
      trainingPass("1", 1) +
      "repeat 30 every 10ms\n3s fetch thread=1 loader=2 epoch=2 batch=0+1*i\nend\n"
      "3300ms fetch thread=1 loader=2 epoch=2 end=1\n" +
      trainingPass("4", 3));
  CHECK(planned.count() == 20);
  CHECK(planned.timeline.epochs.at(1).evaluation);
  CHECK(!planned.timeline.epochs[1].counted);
}

TEST_CASE("an epoch whose batches nobody saw is no evaluation") {
  const Planned planned(
      "1s iterator thread=1 loader=1 epoch=1 duration=5ms\n"
      "repeat 20 every 50ms\n1100ms optimizer thread=1 duration=5ms optimizer=1\nend\n"
      "2200ms fetch thread=1 loader=1 epoch=1 end=1\n"
      "2300ms iterator thread=1 loader=1 epoch=2 duration=5ms\n"
      "2500ms fetch thread=1 loader=1 epoch=2 end=1\n");
  REQUIRE(planned.timeline.epochs.size() == 2);
  CHECK(!planned.timeline.epochs[0].evaluation);
  CHECK(!planned.timeline.epochs[1].evaluation);
  CHECK(planned.plan.source == StepSource::kOptimizer);
  CHECK(planned.count() == 20);
}

TEST_CASE(
    "an epoch from eval() to train() is evaluation, though the next fetch comes after many "
    "updates") {
  std::string updates;
  for (const std::string at : {"1", "2", "3"})
    updates +=
        "repeat 8 every 100ms\n" + at + "150ms optimizer thread=1 duration=5ms optimizer=1\nend\n";
  const auto unseenTraining = [&](const std::string& span) {
    return Planned(
        "repeat 3 every 1s\n"
        "1s fetch thread=1 loader=1 epoch=1+1*i duration=20ms batch=0\n"
        "1050ms fetch thread=1 loader=1 epoch=1+1*i duration=20ms batch=1\n"
        "1100ms fetch thread=1 loader=1 epoch=1+1*i duration=1ms end=1\n" +
        span + "end\n" + updates);
  };
  const Planned planned = unseenTraining(
      "990ms span thread=1 duration=120ms phase=periodic source=hook name=\"evaluation\"\n");
  REQUIRE(planned.timeline.epochs.size() == 3);
  for (const EpochSpan& epoch : planned.timeline.epochs) CHECK(epoch.evaluation);
  planned.checkUpdates(24);
  // Only a part of it, or a checkpoint: what follows may be the update of all its batches.
  for (const std::string span :
       {"990ms span thread=1 duration=50ms phase=periodic source=hook name=\"evaluation\"\n",
        "990ms span thread=1 duration=120ms phase=periodic source=hook name=\"save\"\n"}) {
    const Planned training = unseenTraining(span);
    CHECK(!training.timeline.epochs.at(0).evaluation);
    CHECK(training.plan.source == StepSource::kHook);
  }
}

TEST_CASE("from eval() to train() is evaluation where no update is known, unless nothing is left") {
  const auto epochAt = [](const char* begin, int epoch, int loader) {
    std::string text = trainingPass(begin, epoch, loader);
    const std::size_t update = text.find(std::string(begin) + "080ms optimizer");
    return text.erase(update, text.find('\n', update) + 1 - update);
  };
  const std::string mode =
      "2900ms span thread=1 duration=1200ms phase=periodic source=hook name=\"evaluation\"\n";
  const Planned planned(epochAt("1", 1, 1) + mode + epochAt("3", 2, 2) + epochAt("5", 3, 1));
  CHECK(planned.count() == 20);
  CHECK(planned.timeline.epochs.at(1).evaluation);
  CHECK(Planned(mode + epochAt("3", 2, 2)).count() == 10);
  const std::string peeked = "1s fetch thread=1 loader=1 epoch=1 batch=0\n";
  CHECK(Planned(peeked + mode + epochAt("3", 2, 2)).count() == 10);
}

TEST_CASE("one batch fetched between eval() and train() may be to train on") {
  std::string text;
  for (const std::string at : {"1", "2", "3"})
    text += at + "000ms fetch thread=1 loader=1 epoch=" + at + " duration=20ms batch=0\n" + at +
            "080ms optimizer thread=1 optimizer=1\n" + std::to_string(std::stoi(at) - 1) +
            "990ms span thread=1 duration=40ms phase=periodic source=hook name=\"evaluation\"\n";
  const Planned planned(text);
  CHECK(planned.count() == 3);
  CHECK(planned.plan.source == StepSource::kHook);
}

TEST_CASE("one iterator that serves every evaluation, beside one that serves the whole training") {
  std::string text;
  for (const int begin : {1, 3, 5})
    text += "repeat 10 every 100ms\n" + std::to_string(begin) +
            "000ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=0\n" +
            std::to_string(begin) +
            "080ms optimizer thread=1 duration=5ms optimizer=1\nend\nrepeat 5 every 50ms\n" +
            std::to_string(begin + 1) +
            "000ms fetch thread=1 loader=2 epoch=2 duration=20ms batch=0\nend\n";
  const Planned planned(text);
  CHECK(planned.count() == 30);
  for (const EpochSpan& epoch : planned.timeline.epochs) CHECK(epoch.evaluation == !epoch.counted);
}

TEST_CASE("evaluation left by break is evaluation: the next update is the training's") {
  const Planned planned(
      "repeat 2 every 10ms\n500ms fetch thread=1 loader=2 epoch=9 batch=0+1*i\nend\n" +
      trainingPass("1", 1));
  CHECK(planned.timeline.epochs.at(0).evaluation);
  CHECK(planned.count() == 10);
}

TEST_CASE("evaluation between a fetch and its update is evaluation, ended or left by break") {
  const auto amid = [](const std::string& closing) {
    return Planned(
        "1s fetch thread=1 loader=1 epoch=1 batch=0\n"
        "1080ms optimizer thread=1 optimizer=1\n"
        "1100ms fetch thread=1 loader=1 epoch=1 batch=1\n"
        "repeat 2 every 10ms\n1110ms fetch thread=1 loader=2 epoch=2 batch=0+1*i\nend\n" +
        closing +
        "1180ms optimizer thread=1 optimizer=1\n"
        "1200ms fetch thread=1 loader=1 epoch=1 end=1\n");
  };
  for (const std::string closing : {"1130ms fetch thread=1 loader=2 epoch=2 end=1\n", ""}) {
    const Planned planned = amid(closing);
    REQUIRE(planned.timeline.epochs.size() == 2);
    CHECK(planned.timeline.epochs[1].evaluation);
    CHECK(!planned.timeline.epochs[0].evaluation);
    CHECK(planned.count() == 2);
  }
}

TEST_CASE("where nothing updates, every epoch is one of steps") {
  const Planned planned(
      "repeat 10 every 10ms\n1s fetch thread=1 loader=1 epoch=1 batch=0+1*i\nend\n"
      "1100ms fetch thread=1 loader=1 epoch=1 end=1\n");
  CHECK(planned.count() == 10);
  CHECK(!planned.timeline.epochs.at(0).evaluation);
}

TEST_CASE("gradients may accumulate over batches, or over a whole epoch") {
  const Planned few(
      "repeat 3 every 400ms\n"
      "1000ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=0+4*i\n"
      "1100ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=1+4*i\n"
      "1200ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=2+4*i\n"
      "1300ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=3+4*i\n"
      "1390ms optimizer thread=1 duration=5ms optimizer=1\nend\n"
      "2200ms fetch thread=1 loader=1 epoch=1 end=1\n");
  CHECK(few.count() == 12);
  const Planned whole(
      "repeat 3 every 1s\n"
      "1000ms fetch thread=1 loader=1 epoch=1+1*i batch=0\n"
      "1100ms fetch thread=1 loader=1 epoch=1+1*i batch=1\n"
      "1200ms fetch thread=1 loader=1 epoch=1+1*i end=1\n"
      "1300ms optimizer thread=1 duration=5ms optimizer=1\nend\n");
  CHECK(whole.count() == 6);
  for (const EpochSpan& epoch : whole.timeline.epochs) CHECK(!epoch.evaluation);
}

TEST_CASE("zipped loaders are one series of steps, and a loader zipped with itself too") {
  for (const int other : {2, 1}) {
    const Planned planned(zippedSteps(10, 10, other) + kZippedEnd);
    REQUIRE(planned.count() == 10);
    CHECK(planned.plan.steps[0].end - planned.plan.steps[0].begin == 100ms);
  }
}

TEST_CASE("of zipped loaders the one that is waited for gives the steps") {
  const Planned planned(zippedSteps(1, 60) + kZippedEnd);
  REQUIRE(planned.count() == 10);
  CHECK(planned.plan.steps[0].begin == 1001ms);
  CHECK(planned.plan.steps[9].end == 1985ms);
}

TEST_CASE("zipped loaders left by break keep their last step") {
  const Planned planned(zippedSteps(10, 10));
  REQUIRE(planned.count() == 10);
  CHECK(planned.plan.steps[9].end == 1985ms);
}

TEST_CASE("a loader and an optimizer recreated for each fold train in each fold") {
  std::string second = trainingPass("4", 2, 2);
  for (std::size_t at = 0; (at = second.find("optimizer=1", at)) != std::string::npos;)
    second.replace(at, 11, "optimizer=2");
  const Planned planned(trainingPass("1", 1, 1) + second);
  CHECK(planned.count() == 20);
  CHECK(planned.timeline.stepping.size() == 20);
}

TEST_CASE("without a loader each update is a step, from the one before to its end") {
  const Planned planned(
      "repeat 5 every 100ms\n1s optimizer thread=1 duration=10ms optimizer=1\nend\n");
  planned.checkUpdates(5);
  planned.checkStep(0, 1s, 1010ms);
  planned.checkStep(1, 1010ms, 1110ms);
  CHECK(planned.plan.steps[1].fetch == -1);
}

TEST_CASE("where most updates come after the last batch that was fetched, they are the steps") {
  const auto after = [](int updates) {
    return Planned(trainingPass("1", 1) + "repeat " + std::to_string(updates) +
                   " every 100ms\n2080ms optimizer thread=1 duration=5ms optimizer=1\nend\n");
  };
  after(30).checkUpdates(40);  // itertools.cycle
  CHECK(after(30).plan.window.end == 4985ms);
  CHECK(after(19).plan.source == StepSource::kHook);
  CHECK(after(19).count() == 10);
}

TEST_CASE("a batch that was fetched to be seen, or is all of the data, gives no steps") {
  const std::string updates =
      "repeat 1000 every 100ms\n2s optimizer thread=1 duration=5ms "
      "optimizer=1\nend\n";
  Planned("1s fetch thread=1 loader=1 epoch=1 batch=0\n" + updates).checkUpdates(1000);
  std::string epochs;  // of an evaluation that never asks for more than its batches
  for (int i = 0; i < 3; ++i) {
    const std::string begin = std::to_string(10 * i + 1);
    epochs += "repeat 5 every 10ms\n" + begin +
              "000ms fetch thread=1 loader=1 epoch=" + std::to_string(i + 1) +
              " duration=1ms batch=0+1*i\nend\nrepeat 100 every 50ms\n" + begin +
              "100ms optimizer thread=1 duration=5ms optimizer=1\nend\n";
  }
  Planned(epochs).checkUpdates(300);
  // Several updates to a batch are still of it.
  const Planned several(
      "repeat 50 every 100ms\n1s fetch thread=1 loader=1 epoch=1 duration=1ms batch=0+1*i\nend\n"
      "repeat 250 every 20ms\n1005ms optimizer thread=1 duration=5ms optimizer=1\nend\n");
  CHECK(several.plan.source == StepSource::kHook);
}

TEST_CASE("batches that a resumed training skips are before its window") {
  const Planned resumed(
      "repeat 400 every 10ms\n1s fetch thread=1 loader=1 epoch=1 duration=9ms batch=0+1*i\nend\n"
      "repeat 100 every 100ms\n5s fetch thread=1 loader=1 epoch=1 duration=1ms batch=400+1*i\nend\n"
      "repeat 100 every 100ms\n5050ms optimizer thread=1 duration=5ms optimizer=1\nend\n");
  REQUIRE(resumed.count() == 500);
  CHECK(resumed.plan.window.begin >= 5s);
  CHECK(resumed.plan.warmup == 430);
  // Gradients that accumulate from the start are no skipping.
  const Planned gathers(
      "repeat 200 every 10ms\n1s fetch thread=1 loader=1 epoch=1 duration=1ms batch=0+1*i\nend\n"
      "repeat 8 every 250ms\n1245ms optimizer thread=1 duration=1ms optimizer=1\nend\n");
  CHECK(warmupSteps(gathers.plan.steps) == 60);
  CHECK(gathers.plan.warmup == 75);  // with the first batch of an update of 25
}

TEST_CASE("a thread that fetches ahead adds no steps: the updates are") {
  const Planned planned(
      "0 thread thread=2 process=1 tid=102\n"
      "repeat 20 every 50ms\n1s fetch thread=2 loader=1 epoch=1 duration=40ms batch=0+1*i\nend\n"
      "repeat 10 every 100ms\n1s optimizer thread=1 duration=10ms optimizer=1\nend\n");
  planned.checkUpdates(10);
}

TEST_CASE("a batch fetched ahead on the trainer's thread is no extra step") {
  const Planned planned(
      "900ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=0\n"
      "repeat 9 every 100ms\n"
      "1000ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=1+1*i\n"
      "1080ms optimizer thread=1 duration=5ms optimizer=1\nend\n"
      "1900ms fetch thread=1 loader=1 epoch=1 duration=1ms end=1\n"
      "1980ms optimizer thread=1 duration=5ms optimizer=1\n");
  CHECK(planned.count() == 10);
}

TEST_CASE("no steps: the window is all that is known of") {
  const Planned planned("5s thread thread=2 process=1 tid=7\n");
  CHECK(planned.plan.source == StepSource::kNone);
  CHECK(planned.count() == 0);
  CHECK(planned.plan.window.begin == 0s);
  CHECK(planned.plan.window.end == 5s);
}

TEST_CASE("warm-up is 10 steps or 5 s, whichever is longer, and at most 30 % of the steps") {
  CHECK(warmupSteps(steps(1000, 10ms)) == 300);   // 5 s are 500 steps: the cap
  CHECK(warmupSteps(steps(10000, 10ms)) == 500);  // 5 s
  CHECK(warmupSteps(steps(100, 1s)) == 10);       // 5 s are 5 steps only
  CHECK(warmupSteps(steps(200, 100ms)) == 50);
  CHECK(warmupSteps(steps(20, 1s)) == 6);
  CHECK(warmupSteps(steps(3, 1s)) == 0);
  CHECK(warmupSteps({}) == 0);
}

TEST_CASE("a call that was many steps is as many, taken as equal") {
  const Planned planned(
      "repeat 10 every 100ms\n1s optimizer thread=1 duration=80ms optimizer=1 steps=4\nend\n");
  planned.checkUpdates(40);
  planned.checkStep(0, 1s, 1020ms);
  CHECK(planned.plan.steps[3].end == 1080ms);
  // What was between two calls goes with the first step of the second one.
  planned.checkStep(4, 1080ms, 1120ms);
  CHECK(planned.plan.steps[39].end == 1980ms);
}

TEST_CASE("as many steps as a damaged recording claims are no reason to take all memory") {
  const Planned planned(
      "1s optimizer thread=1 duration=80ms optimizer=1 steps=4294967295\n"
      "2s optimizer thread=1 duration=80ms optimizer=1 steps=0\n");
  CHECK(planned.count() <= 65537);
  CHECK(planned.plan.steps.back().end == 2080ms);
}
