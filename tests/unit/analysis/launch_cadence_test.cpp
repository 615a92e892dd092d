// SPDX-License-Identifier: MIT
#include "analysis/launch_cadence.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/analyze.h"
#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

constexpr int kRun = 12;  // seconds
const std::string kOn = "device=\"GPU-1\" process=1 ";

std::string ms(int at) { return std::to_string(at) + "ms "; }

// A program in C++ that launches from its second thread, traced from 1 s on; each kernel is told of
// in the fifth second. `kernels`: their names in one step of 50 ms, one a millisecond from 10 on.
// `dark`: seconds in which kernels were not traced.
std::string program(const std::vector<std::string>& kernels, std::vector<int> dark = {}) {
  std::string text = kTrainer + "0 thread thread=2 process=1 tid=101 name=\"train\"\n" +
                     "1s device " + kOn + "name=\"NVIDIA H100\" ordinal=0 sms=132\n";
  for (int second = 1; second <= kRun; ++second) {
    const bool traced = std::find(dark.begin(), dark.end(), second) == dark.end();
    text += ms(1000 * second) +
            "device_trace process=1 duration=1s kernels=" + (traced ? "1" : "0") +
            " calls=1 each=" + (second == 5 ? "1" : "0") + "\n" + ms(1000 * second) +
            "device_calls thread=2 process=1 duration=1s kind=launch name=" +
            "\"cudaLaunchKernel\" count=" + std::to_string(20 * kernels.size()) + " time=1ms\n";
    for (std::size_t i = 0; traced && i < kernels.size(); ++i)
      text += ms(1000 * second) + "device_use " + kOn + "duration=1s kind=kernel name=\"" +
              kernels[i] + "\" count=20 time=20ms\n";
  }
  text += "repeat 20 every 50ms\n";
  for (std::size_t i = 0; i < kernels.size(); ++i)
    text += ms(5010 + static_cast<int>(i)) + "device_work " + kOn +
            "duration=1ms kind=kernel name=\"" + kernels[i] + "\"\n";
  return text + "end\n" + ms(1000 * (kRun + 1)) + "command_end exit_code=0\n";
}

const std::vector<std::string> kStep = {"embed", "layer", "norm", "layer", "norm",
                                        "layer", "norm",  "loss", "adam"};

}  // namespace

TEST_CASE("kernels that come back once a step tell the steps of a program that nothing else does") {
  const Analysis a = analyze(traceOf(program(kStep)));
  REQUIRE(a.steps.source.has_value());
  CHECK(*a.steps.source == "inferred");
  CHECK(std::abs(a.steps.count - 20 * kRun) <= 2);
  CHECK(a.steps.confidence == Confidence::kLow);
  REQUIRE(a.steps.time.has_value());
  CHECK(std::abs(seconds(a.steps.time->p50) - 0.050) < 0.001);
  REQUIRE(a.trainers.size() == 1);
  const Trace trace = traceOf(program(kStep));
  const InferredSteps steps = launchCadence(trace, findRoles(trace));
  CHECK(steps.who.thread == ThreadId{2});
  CHECK(steps.why.find("one is 9 kernels, of which the first is embed") != std::string::npos);
}

TEST_CASE("seconds in which no kernel was traced have the steps that fit") {
  const Analysis a = analyze(traceOf(program(kStep, {7, 8, 9})));
  CHECK(std::abs(a.steps.count - 20 * kRun) <= 2);
  REQUIRE(a.steps.time.has_value());
  CHECK(std::abs(seconds(a.steps.time->p50) - 0.050) < 0.001);
}

TEST_CASE("seconds that were traced and had no kernels have no steps") {
  std::string text = program(kStep);
  for (const std::string second : {"\n8000ms device_use", "\n9000ms device_use"})
    for (std::size_t at; (at = text.find(second)) != std::string::npos;)
      text.erase(at, text.find('\n', at + 1) - at);
  CHECK(std::abs(analyze(traceOf(text)).steps.count - 20 * (kRun - 2)) <= 2);
}

TEST_CASE("one kernel over and over, or in no order, makes no steps") {
  CHECK(!analyze(traceOf(program({"same", "same", "same", "same"}))).steps.source.has_value());
  std::string text = program({});
  unsigned random = 1;
  for (int i = 0; i < 200; ++i) {
    random = random * 1664525u + 1013904223u;
    text += ms(5000 + 5 * i) + "device_work " + kOn + "duration=1ms kind=kernel name=\"k" +
            std::to_string(random >> 24 & 7) + "\"\n";
  }
  CHECK(!analyze(traceOf(text)).steps.source.has_value());
}
