// SPDX-License-Identifier: MIT
#include "analysis/device/launch_cadence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

constexpr int kRun = 12;  // seconds
const std::string kOn = "device=\"GPU-1\" process=1 ";

std::string atMs(int at) { return std::to_string(at) + "ms "; }

// A program in C++ that launches from its second thread, traced from 1 s on; each kernel is
// recorded in the fifth second. `kernels`: their names in one step of 50 ms, one a millisecond from
// 10 on. `untraced`: seconds in which kernels were not traced.
std::string launching(const std::vector<std::string>& kernels, std::vector<int> untraced = {}) {
  std::string text = kTrainer + "0 thread thread=2 process=1 tid=101 name=\"train\"\n" +
                     "1s device " + kOn + "name=\"NVIDIA H100\" ordinal=0 sms=132\n";
  for (int second = 1; second <= kRun; ++second) {
    const bool traced = std::find(untraced.begin(), untraced.end(), second) == untraced.end();
    text += atMs(1000 * second) +
            "device_trace process=1 duration=1s kernels=" + (traced ? "1" : "0") +
            " calls=1 each=" + (second == 5 ? "1" : "0") + "\n" + atMs(1000 * second) +
            "device_calls thread=2 process=1 duration=1s kind=launch name=" +
            "\"cudaLaunchKernel\" count=" + std::to_string(20 * kernels.size()) + " time=1ms\n";
    for (std::size_t i = 0; traced && i < kernels.size(); ++i)
      text += atMs(1000 * second) + "device_use " + kOn + "duration=1s kind=kernel name=\"" +
              kernels[i] + "\" count=20 time=20ms\n";
  }
  text += "repeat 20 every 50ms\n";
  for (std::size_t i = 0; i < kernels.size(); ++i)
    text += atMs(5010 + static_cast<int>(i)) + "device_work " + kOn +
            "duration=1ms kind=kernel name=\"" + kernels[i] + "\"\n";
  return text + "end\n" + atMs(1000 * (kRun + 1)) + "command_end exit_code=0\n";
}

const std::vector<std::string> kStep = {"embed", "layer", "norm", "layer", "norm",
                                        "layer", "norm",  "loss", "adam"};

}  // namespace

TEST_CASE("kernels that come back once a step show the steps of a program that nothing else does") {
  const Analysis a = analyze(traceOf(launching(kStep)));
  REQUIRE(a.steps.source.has_value());
  CHECK(*a.steps.source == "inferred");
  CHECK(std::abs(a.steps.count - 20 * kRun) <= 2);
  CHECK(a.steps.confidence == Confidence::kLow);
  REQUIRE(a.steps.time.has_value());
  CHECK(std::abs(seconds(a.steps.time->p50) - 0.050) < 0.001);
  REQUIRE(a.trainers.size() == 1);
  const Trace trace = traceOf(launching(kStep));
  const InferredSteps steps = launchCadence(trace, findRoles(trace));
  CHECK(steps.who.thread == ThreadId{2});
  CHECK(steps.why.find("one is 9 kernels, of which the first is embed") != std::string::npos);
}

TEST_CASE("seconds in which no kernel was traced have the steps that fit") {
  const Analysis a = analyze(traceOf(launching(kStep, {7, 8, 9})));
  CHECK(std::abs(a.steps.count - 20 * kRun) <= 2);
  REQUIRE(a.steps.time.has_value());
  CHECK(std::abs(seconds(a.steps.time->p50) - 0.050) < 0.001);
}

TEST_CASE("seconds that were traced and had no kernels have no steps") {
  std::string text = launching(kStep);
  for (const std::string second : {"\n8000ms device_use", "\n9000ms device_use"})
    for (std::size_t at; (at = text.find(second)) != std::string::npos;)
      text.erase(at, text.find('\n', at + 1) - at);
  CHECK(std::abs(analyze(traceOf(text)).steps.count - 20 * (kRun - 2)) <= 2);
}

TEST_CASE("one kernel over and over, or in no order, makes no steps") {
  CHECK(!analyze(traceOf(launching({"same", "same", "same", "same"}))).steps.source.has_value());
  std::string text = launching({});
  unsigned random = 1;
  for (int i = 0; i < 200; ++i) {
    random = random * 1664525u + 1013904223u;
    text += atMs(5000 + 5 * i) + "device_work " + kOn + "duration=1ms kind=kernel name=\"k" +
            std::to_string(random >> 24 & 7) + "\"\n";
  }
  CHECK(!analyze(traceOf(text)).steps.source.has_value());
}

namespace {

// A program whose steps begin at `steps` (ms) and launch those kernels, by turns, evenly over four
// fifths of their time. Every kernel is recorded from the fifth to the fifteenth second of each
// minute.
std::string longSteps(const std::vector<int>& steps,
                      const std::vector<std::vector<std::string>>& kernels) {
  const int end = steps.back() / 1000 + 1;
  std::string text = kTrainer + "0 thread thread=2 process=1 tid=101 name=\"train\"\n" +
                     "1s device " + kOn + "name=\"NVIDIA H100\" ordinal=0 sms=132\n";
  std::vector<std::map<std::string, int>> totals(static_cast<std::size_t>(end) + 1);
  std::string works;
  for (std::size_t step = 0; step + 1 < steps.size(); ++step) {
    const auto& names = kernels[step % kernels.size()];
    const int length = steps[step + 1] - steps[step];
    for (std::size_t i = 0; i < names.size(); ++i) {
      const int at =
          steps[step] + static_cast<int>(i) * length * 4 / 5 / static_cast<int>(names.size());
      ++totals[static_cast<std::size_t>((at + 1) / 1000)][names[i]];
      if (at / 1000 % 60 >= 5 && at / 1000 % 60 < 15)
        works += atMs(at) + "device_work " + kOn + "duration=1ms kind=kernel name=\"" + names[i] +
                 "\"\n";
    }
  }
  for (int second = 0; second < end; ++second) {
    const std::string at = atMs(1000 * second);
    const bool each = second % 60 >= 5 && second % 60 < 15;
    text += at + "device_trace process=1 duration=1s kernels=1 calls=1 each=" + (each ? "1" : "0") +
            "\n" + at + "device_calls thread=2 process=1 duration=1s kind=launch name=" +
            "\"cudaLaunchKernel\" count=9 time=1ms\n";
    for (const auto& [name, count] : totals[static_cast<std::size_t>(second)])
      text += at + "device_use " + kOn + "duration=1s kind=kernel name=\"" + name +
              "\" count=" + std::to_string(count) + " time=" + std::to_string(count) + "ms\n";
  }
  return text + works + atMs(1000 * (end + 1)) + "command_end exit_code=0\n";
}

// Steps of so many ms, one after the other.
std::vector<int> every(int length, int run, int from = 300) {
  std::vector<int> steps;
  for (int at = from; at < run; at += length) steps.push_back(at);
  return steps;
}

}  // namespace

TEST_CASE("steps of seconds are found, and are as long as they were") {
  for (const int length : {300, 700, 1300, 2500, 4300}) {
    CAPTURE(length);
    const std::vector<int> steps = every(length, 300'000);
    const Analysis a = analyze(traceOf(longSteps(steps, {kStep})));
    REQUIRE(a.steps.source.has_value());
    CHECK(std::abs(a.steps.count - static_cast<int>(steps.size())) <= 4);
    REQUIRE(a.steps.time.has_value());
    CHECK(std::abs(seconds(a.steps.time->p50) * 1000 / length - 1) < 0.05);
    CHECK(seconds(a.steps.time->p95) * 1000 < 1.3 * length);
  }
}

TEST_CASE("a pause between steps of seconds is one long step, and the others stay as they are") {
  std::vector<int> steps = every(2500, 100'000);
  for (const int at : every(2500, 300'000, steps.back() + 20'000)) steps.push_back(at);
  const Trace trace = traceOf(longSteps(steps, {kStep}));
  const InferredSteps inferred = launchCadence(trace, findRoles(trace));
  CHECK(std::abs(static_cast<int>(inferred.iterations.size()) - static_cast<int>(steps.size())) <=
        4);
  std::vector<double> lengths;
  for (const Interval& iteration : inferred.iterations)
    lengths.push_back(seconds(iteration.end - iteration.begin));
  std::sort(lengths.begin(), lengths.end());
  CHECK(lengths.back() > 15);
  CHECK(lengths[lengths.size() - 2] < 5);
  CHECK(std::abs(lengths[lengths.size() / 2] - 2.5) < 0.15);
}

TEST_CASE("steps that come when they like are not guessed at") {
  std::vector<int> uneven;
  unsigned random = 1;
  for (int at = 300; at < 300'000; at += 300 + static_cast<int>(random >> 20 & 4095)) {
    uneven.push_back(at);
    random = random * 1664525u + 1013904223u;
  }
  CHECK_FALSE(analyze(traceOf(longSteps(uneven, {kStep}))).steps.source.has_value());
}

namespace {

// A step of a model of 48 layers, forward and backward; with what comes once, or without.
std::vector<std::string> layers(bool once) {
  std::vector<std::string> step;
  if (once) step.insert(step.end(), {"embed"});
  for (int i = 0; i < 48; ++i) step.insert(step.end(), {"norm", "attention", "up", "down"});
  if (once) step.insert(step.end(), {"loss", "loss_back"});
  for (int i = 0; i < 48; ++i)
    step.insert(step.end(), {"down_back", "down_weight", "up_back", "attention_back", "norm_back"});
  if (once) step.insert(step.end(), {"clip", "adam"});
  return step;
}

}  // namespace

TEST_CASE("the layers of a model are not its steps") {
  const std::vector<int> steps = every(1000, 120'000);
  const Trace trace = traceOf(longSteps(steps, {layers(true)}));
  const InferredSteps inferred = launchCadence(trace, findRoles(trace));
  CHECK(std::abs(static_cast<int>(inferred.iterations.size()) - static_cast<int>(steps.size())) <=
        3);
  CHECK(inferred.why.find("one is 437 kernels") != std::string::npos);
  // With nothing that comes once a step there is nothing to count.
  CHECK_FALSE(analyze(traceOf(longSteps(steps, {layers(false)}))).steps.source.has_value());
}

TEST_CASE("steps of which no interval holds two are not guessed at, whatever it holds") {
  // Of a minute, every interval holds the same part: some layers of the forward pass, or backward.
  for (const int from : {300, 30'300})
    CHECK_FALSE(analyze(traceOf(longSteps(every(60'000, 1'500'000, from), {layers(true)})))
                    .steps.source.has_value());
  CHECK_FALSE(
      analyze(traceOf(longSteps(every(12'000, 600'000), {layers(true)}))).steps.source.has_value());
  CHECK_FALSE(
      analyze(traceOf(longSteps(every(13'000, 600'000), {layers(true)}))).steps.source.has_value());
}

TEST_CASE("what is logged every ten steps is no step of its own") {
  std::vector<std::vector<std::string>> steps(10, kStep);
  for (const char* name : {"mean", "norms", "ratio", "histogram", "copy"}) steps[9].push_back(name);
  const std::vector<int> begins = every(100, 60'000);
  const Trace trace = traceOf(longSteps(begins, steps));
  const InferredSteps inferred = launchCadence(trace, findRoles(trace));
  CHECK(inferred.why.find("one is 9 kernels") != std::string::npos);
  CHECK(std::abs(static_cast<int>(inferred.iterations.size()) - static_cast<int>(begins.size())) <=
        10);
}
