// SPDX-License-Identifier: MIT
#include "analysis/steps/loops/exact_loops.h"

#include <algorithm>

#include "tests/unit/analysis/found.h"
#include "tests/unit/classify/stacks.h"

using namespace stallprof;
using stallprof::test::stackLine;
using namespace std::chrono_literals;

namespace {

// main()'s loop of batches, lines 20 to 24: a line that makes the batch, one that calls torch, and
// one that takes its samples one by one, lines 22 and 23. Line 30 lies behind it. 7 and 8 make
// data, 9 and 10 update a model.
const std::string kMainFrames =
    stackLine(1, 0, "train.py", "main", 20) + stackLine(2, 0, "train.py", "main", 24) +
    stackLine(3, 2, "/u/lib/python3.11/site-packages/torch/nn/modules/linear.py", "Linear.forward",
              110) +
    stackLine(4, 0, "train.py", "main", 22) +
    stackLine(5, 4, "/u/lib/python3.11/site-packages/torch/nn/modules/linear.py", "Linear.forward",
              110) +
    stackLine(6, 0, "train.py", "main", 30) +
    stackLine(7, 4, "/u/lib/python3.11/site-packages/PIL/Image.py", "Image.resize", 2000) +
    stackLine(8, 1, "/u/lib/python3.11/site-packages/PIL/Image.py", "Image.resize", 2000) +
    stackLine(9, 4, "/u/lib/python3.11/site-packages/sklearn/linear_model/_stochastic_gradient.py",
              "BaseSGDClassifier.partial_fit", 800) +
    stackLine(10, 2, "/u/lib/python3.11/site-packages/sklearn/linear_model/_stochastic_gradient.py",
              "BaseSGDClassifier.partial_fit", 800);

std::string turns(int line, int last, const std::string& duration, int count, int rows,
                  std::int64_t apart) {
  std::string text;
  for (int i = 0; i < rows; ++i)
    text += std::to_string(1'000'000 + i * apart) + "us turns thread=1 duration=" + duration +
            " turns=" + std::to_string(count) + " line=" + std::to_string(line) +
            " last=" + std::to_string(last) + " file=\"train.py\"\n";
  return text;
}

// Of each of `stacks` in turn, 10 ms apart, for 4 s; before `from` of another one.
std::string samples(const std::vector<int>& stacks, std::size_t from = 0, int before = 0) {
  std::string text;
  for (std::size_t i = 1; i <= 400; ++i)
    text += std::to_string(i * 10) + "ms stack_slice thread=1 stack=" +
            std::to_string(i < from ? before : stacks[i % stacks.size()]) + "\n";
  return text + "0 slice thread=1 duration=4s run=4s wait=running samples=400\n";
}

InferredSteps stepsIn(const std::string& text) {
  const Trace trace =
      test::traceOf(test::kTrainer + kMainFrames + text + "4s command_end exit_code=0\n");
  const StackLabels labels(trace, RuleTable::builtIn());
  return inferSteps(trace, labels, findRoles(trace));
}

}  // namespace

TEST_CASE("the turns of the only loop are the steps, however short") {
  const auto steps = stepsIn(samples({1, 3}) + turns(20, 24, "2ms", 1, 1500, 2000));
  REQUIRE(steps.iterations.size() == 1500);
  CHECK(steps.iterations[0].begin == 1s);
  CHECK(steps.iterations[0].length() == 2ms);
  CHECK(steps.sure);
  CHECK(steps.why.find("train.py:20") != std::string::npos);
}

TEST_CASE("turns that were summed are as many equal steps") {
  const auto steps = stepsIn(samples({1, 3}) + turns(20, 24, "1ms", 4, 1000, 1000));
  REQUIRE(steps.iterations.size() == 4000);
  CHECK(steps.iterations[3].length() == 250us);
  CHECK(steps.iterations[3].end == 1001ms);
}

TEST_CASE("a loop without a framework's work, in the loop of the steps, is inside them") {
  const auto steps = stepsIn(samples({1, 4, 3}) + turns(20, 24, "10ms", 1, 300, 10000) +
                             turns(22, 23, "1ms", 1, 3000, 1000));
  CHECK(steps.iterations.size() == 300);
}

TEST_CASE(
    "of a loop that only repeats another the inner one has the steps, if data is made in it") {
  const std::string epochs = turns(20, 24, "100ms", 1, 30, 100000);
  const std::string batches = turns(22, 23, "1ms", 1, 3000, 1000);
  CHECK(stepsIn(samples({5, 7}) + epochs + batches).iterations.size() == 3000);
  CHECK(stepsIn(samples({5, 5, 8}) + epochs + batches).iterations.size() == 30);
  CHECK(stepsIn(samples({5}) + epochs + batches).iterations.empty());
}

TEST_CASE(
    "of nested loops that update a model the innermost that holds all updates has the steps") {
  const std::string epochs = turns(20, 24, "100ms", 1, 30, 100000);
  const std::string batches = turns(22, 23, "1ms", 1, 3000, 1000);
  CHECK(stepsIn(samples({3, 9}) + epochs + batches).iterations.size() == 3000);
  CHECK(stepsIn(samples({10, 9}) + epochs + batches).iterations.size() == 30);
}

TEST_CASE("which of two loops that both compute has the steps is not known") {
  const auto steps = stepsIn(samples({5, 5, 3}) + turns(20, 24, "10ms", 1, 300, 10000) +
                             turns(22, 23, "1ms", 1, 3000, 1000));
  CHECK(steps.iterations.empty());
  CHECK(steps.why.find("train.py:20") != std::string::npos);
  CHECK(steps.why.find("train.py:22") != std::string::npos);
}

TEST_CASE("a generator that turns once for each step is inside the steps") {
  const auto steps = stepsIn(samples({5, 5, 3}) + turns(20, 24, "10ms", 1, 300, 10000) +
                             turns(22, 23, "8ms", 1, 298, 10000));
  CHECK(steps.iterations.size() == 300);
}

TEST_CASE("few turns, and a loop that holds little of the time, are no steps") {
  CHECK(stepsIn(samples({1, 3}) + turns(20, 24, "100ms", 1, 19, 100000)).iterations.empty());
  CHECK(stepsIn(samples({6, 6, 6, 6, 6, 6, 3}) + turns(20, 24, "2ms", 1, 100, 2000))
            .iterations.empty());
}

TEST_CASE("turns of a loop that ends before the model works are no steps") {
  const std::string setup = turns(30, 31, "2ms", 1, 1000, 2000);
  CHECK(stepsIn(samples({10}, 300, 6) + setup).iterations.empty());
  CHECK(stepsIn(samples({6, 10}) + setup).iterations.empty());  // beside it, it does not update
}
