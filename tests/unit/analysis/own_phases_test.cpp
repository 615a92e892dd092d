// SPDX-License-Identifier: MIT
#include "analysis/steps/own_phases.h"

#include "tests/unit/analysis/found.h"

using namespace stallprof;
using stallprof::test::near2;

namespace {

// A loop with no loader that the hook knows: read() unpacks arrays (5), and prepares them in its
// own lines (3) and with arrays (6); then a step by torch (4) or by arrays alone (7).
const std::string kReadFrames =
    "0 stack stack=1 file=\"train.py\" function=\"main\" line=30\n"
    "0 stack stack=2 caller=1 file=\"train.py\" function=\"read\" line=20\n"
    "0 stack stack=3 caller=1 file=\"train.py\" function=\"read\" line=21\n"
    "0 stack stack=4 caller=1 file=\"/u/site-packages/torch/_tensor.py\" "
    "function=\"Tensor.backward\" line=9\n"
    "0 stack stack=5 caller=2 file=\"/u/site-packages/numpy/lib/_npyio_impl.py\" "
    "function=\"genfromtxt\" line=9\n"
    "0 stack stack=6 caller=3 file=\"/u/site-packages/numpy/_core/_methods.py\" "
    "function=\"_std\" line=9\n"
    "0 stack stack=7 caller=1 file=\"train.py\" function=\"update\" line=40\n"
    "0 stack stack=8 caller=3 file=\"/u/site-packages/torch/optim/sgd.py\" "
    "function=\"SGD.step\" line=9\n"
    "0 stack stack=9 caller=1 file=\"train.py\" function=\"cut\" line=50\n"
    "0 stack stack=10 caller=9 file=\"/u/site-packages/numpy/_core/numeric.py\" "
    "function=\"roll\" line=9\n"
    "0 stack stack=11 caller=4 file=\"train.py\" function=\"hook\" line=60\n"
    "0 stack stack=12 caller=11 file=\"/u/site-packages/numpy/_core/numeric.py\" "
    "function=\"roll\" line=9\n"
    "0 stack stack=13 caller=9 file=\"/u/site-packages/torch/functional.py\" "
    "function=\"einsum\" line=9\n"
    "0 stack stack=14 file=\"train.py\" function=\"main\" line=31\n"
    "0 stack stack=15 caller=14 file=\"/u/site-packages/numpy/_core/memmap.py\" "
    "function=\"memmap.__getitem__\" line=9\n"
    "0 stack stack=16 file=\"train.py\" function=\"main\" line=32\n"
    "0 stack stack=17 caller=16 file=\"/u/site-packages/torch/_tensor.py\" "
    "function=\"Tensor.backward\" line=9\n"
    "0 stack stack=18 caller=16 file=\"/u/site-packages/numpy/_core/memmap.py\" "
    "function=\"memmap.__getitem__\" line=9\n"
    "0 stack stack=19 caller=14 file=\"train.py\" function=\"main.<locals>.<listcomp>\" line=31\n"
    "0 stack stack=20 caller=19 file=\"/u/site-packages/numpy/_core/memmap.py\" "
    "function=\"memmap.__getitem__\" line=9\n";

// Samples of a stack, 10 ms apart; what its thread did is given beside them.
std::string seen(int at, int count, int stack, const std::string& gil = "holds") {
  return std::to_string(at) +
         "ms stack_slice thread=1 duration=" + std::to_string(10 * count - 10) +
         "ms samples=" + std::to_string(count) + " stack=" + std::to_string(stack) + " gil=" + gil +
         "\n";
}

// 200 steps of 100 ms: two samples in what read() calls, two at its own lines, two at `array`, and
// four at `step`.
Analysis trained(int step, int array = 6) {
  return analyze(
      test::traceOf(test::kTrainer + kReadFrames + "repeat 200 every 100ms\n" +
                    "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
                    seen(10, 2, 5) + seen(30, 2, 3) + seen(50, 2, array) + seen(70, 4, step) +
                    "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
}

// 200 steps of 100 ms, ten samples each: those of `samples`, and an optimizer's step at the end;
// `once`: beside them, in one step.
double transformed(const std::string& samples, const std::string& once = "",
                   const std::string& frames = "") {
  const Analysis a = analyze(
      test::traceOf(test::kTrainer + kReadFrames + frames + "repeat 200 every 100ms\n" +
                    "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
                    samples + "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n" + once));
  return a.breakdown.phase ? a.breakdown.phase->transform : -1;
}

}  // namespace

TEST_CASE("own lines and arrays of a function that reads, beside a known model, make data") {
  const Analysis a = trained(4);
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->transform, 0.6));
  CHECK(near2(a.breakdown.phase->compute, 0.4));
  bool named = false;
  for (const FunctionInfo& f : a.functions)
    named = named ||
            (f.phase == Phase::kTransform && f.rule == "own.data_function" && f.where.line == 21);
  CHECK(named);
  for (const Finding& f : a.findings) CHECK(f.id != "compute.python_overhead");
}

TEST_CASE("code that holds the interpreter's lock while it makes data is sent to other processes") {
  const auto adviceWith = [](const std::string& gil, const std::string& step = "holds") {
    const Analysis a = analyze(
        test::traceOf(test::kTrainer + kReadFrames + "repeat 200 every 100ms\n" +
                      "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
                      seen(10, 5, 5, gil) + seen(60, 4, 4, step) +
                      "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    const Finding* found = test::find(a, "transform.in_process");
    REQUIRE(found);
    REQUIRE(found->advice.size() == 1);
    return found->advice[0].id;
  };
  CHECK(adviceWith("holds") == "load_in_processes");
  CHECK(adviceWith("released") == "load_ahead");
  CHECK(adviceWith("holds", "released") == "load_ahead");  // long operators: both at once
  CHECK(adviceWith("unknown") == "load_ahead");
  // Two thirds of its time are held: of 2 ms the thread keeps the lock once it has it; of 20 it is
  // asked for it after 5.
  const auto shortBatches = [](int scale, const std::string& step) {
    const auto us = [&](int at) { return std::to_string(at * scale) + "us "; };
    const auto of = [&](int at) { return std::to_string(at * scale) + "us"; };
    const Analysis a = analyze(test::traceOf(
        test::kTrainer + kReadFrames + "repeat 800 every " + of(4000) + "\n" + us(0) +
        "slice thread=1 duration=" + of(4000) + " run=" + of(4000) + " samples=8 wait=running\n" +
        us(100) + "stack_slice thread=1 duration=" + of(800) + " stack=5 samples=2 gil=holds\n" +
        us(1200) + "stack_slice thread=1 duration=" + of(400) +
        " stack=5 samples=1 gil=released\n" + us(2200) +
        "stack_slice thread=1 duration=" + of(1500) + " stack=4 samples=4 gil=" + step + "\n" +
        us(3900) + "optimizer thread=1 duration=" + of(100) + " optimizer=1\nend\n"));
    const Finding* found = test::find(a, "transform.in_process");
    REQUIRE(found);
    return found->advice.at(0).id;
  };
  CHECK(shortBatches(1, "holds") == "load_in_processes");
  CHECK(shortBatches(10, "holds") == "load_ahead");
  CHECK(shortBatches(1, "released") == "load_ahead");
}

TEST_CASE(
    "data that the loop makes gain what a thread or process beside the step makes meanwhile") {
  // Half of the time; four fifths of what is hidden are kept.
  const auto advised = [](const std::string& job, const std::string& gil, const std::string& step) {
    const Analysis a = analyze(test::traceOf(
        "manifest cores_usable=2\n0 host busy=0 job_cpu=0\n20s host busy=" + job +
        " job_cpu=" + job + "\n" + test::kTrainer + kReadFrames + "repeat 200 every 100ms\n" +
        "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
        seen(10, 5, 5, gil) + seen(60, 5, 4, step) +
        "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    const Finding* found = test::find(a, "transform.in_process");
    REQUIRE(found);
    return found->advice;
  };
  const auto time = [](const Advice& a) { return 1 / *a.predicted.speedup; };
  const std::vector<Advice> alone = advised("20s", "released", "released");
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].id == "load_ahead");
  CHECK(near2(time(alone[0]), 1 - 0.8 * (1 - 0.5)));
  CHECK(near2(1 / *alone[0].predicted.high, 0.5));
  // The lock is held in turn.
  CHECK(near2(time(advised("20s", "holds", "released").at(0)), 1 - 0.8 * (1 - 0.5)));
  // A process takes 1.15 times as long, and sends a batch after 2.5 ms.
  const std::vector<Advice> locked = advised("20s", "holds", "holds");
  CHECK(locked.at(0).id == "load_in_processes");
  CHECK(near2(time(locked[0]), 1 - 0.8 * (1 - 0.5 * 1.15 - 0.025)));
  const std::vector<Advice> full = advised("40s", "released", "released");
  REQUIRE(full.size() == 2);
  CHECK(full[0].id == "offline_preprocess");  // half of the work, one after the other
  CHECK(near2(time(full[0]), 0.75));
  CHECK(near2(time(full[1]), 1));
}

TEST_CASE("stacks below the fetch of PyTorch's loader ask for workers where the hook saw none") {
  const auto advised = [](const std::string& file) {
    const Analysis a = analyze(test::traceOf(
        test::kTrainer + kReadFrames +
        "0 stack stack=30 caller=1 function=\"fetch\" line=9 file=\"/u/site-packages/" + file +
        "\"\n0 stack stack=31 caller=30 file=\"train.py\" function=\"read\" line=20\n"
        "0 stack stack=32 caller=31 file=\"/u/site-packages/numpy/lib/_npyio_impl.py\" "
        "function=\"genfromtxt\" line=9\nrepeat 200 every 100ms\n"
        "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
        seen(10, 5, 32, "released") + seen(60, 4, 4) +
        "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    const Finding* found = test::find(a, "transform.in_process");
    REQUIRE(found);
    return found->advice.at(0).id;
  };
  CHECK(advised("torch/utils/data/_utils/fetch.py") == "first_workers");
  CHECK(advised("other/fetch.py") == "load_ahead");
}

namespace {

// A tenth of each step is in read() itself, and one in each of five functions that `package` calls.
Analysis spreadOver(const std::string& package, const std::string& reader = "read",
                    const std::string& module = "core/frame.py") {
  std::string frames =
      "0 stack stack=29 caller=1 line=9 function=\"step\" file=\"/u/site-packages/any/run.py\"\n"
      "0 stack stack=30 caller=29 file=\"train.py\" function=\"" +
      reader + "\" line=20\n0 stack stack=31 caller=30 file=\"/u/site-packages/" + package + "/" +
      module + "\" function=\"DataFrame.mean\" line=9\n";
  std::string samples;
  for (int i = 0; i < 5; ++i) {
    frames += "0 stack stack=" + std::to_string(32 + i) +
              " caller=31 file=\"/u/site-packages/numpy/lib/f" + std::to_string(i) +
              ".py\" function=\"nansum\" line=9\n";
    samples += seen(10 + 10 * i, 1, 32 + i);
  }
  return analyze(
      test::traceOf(test::kTrainer + kReadFrames + frames + "repeat 200 every 100ms\n" +
                    "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
                    samples + seen(60, 1, 30) + seen(70, 4, 4) +
                    "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
}

}  // namespace

TEST_CASE("calls of a library of data frames are one finding, however many functions take part") {
  const Analysis a = spreadOver("pandas");
  const Finding* found = test::find(a, "transform.slow_op");
  REQUIRE(found);
  CHECK(found->title == "Calls of one library take much of the time to make batches");
  CHECK(near2(found->shareRatio, 0.5));
  CHECK(found->hot.function.raw() == "DataFrame.mean");
  CHECK(found->where.line == 20);
  REQUIRE(found->advice.size() == 1);
  CHECK(found->advice[0].change.name == "pandas");
  CHECK(near2(1 / *found->advice[0].predicted.speedup, 0.5 + 0.5 * 0.2));
  CHECK(near2(1 / *found->advice[0].predicted.high, 0.5 + 0.5 * 0.05));
  CHECK(found->within == Maybe<std::string>("transform.in_process"));
  // Of other libraries no one knows that each call costs.
  CHECK_FALSE(test::find(spreadOver("other"), "transform.slow_op"));
  // What parses a file does much in one call.
  CHECK_FALSE(test::find(spreadOver("pandas", "read", "io/parsers.py"), "transform.slow_op"));
}

TEST_CASE(
    "a loop that waits for JAX's results before it makes the next batch is advised to wait later") {
  const auto waiting = [](const std::string& file, const std::string& function) {
    const Analysis a = analyze(test::traceOf(
        "manifest cores_usable=2\n0 host busy=0 job_cpu=0\n20s host busy=20s job_cpu=20s\n" +
        test::kTrainer + kReadFrames +
        "0 stack stack=30 file=\"train.py\" function=\"main\" line=33\n"
        "0 stack stack=31 caller=30 line=9 function=\"" +
        function + "\" file=\"/u/site-packages/" + file +
        "\"\nrepeat 200 every 100ms\n"
        "0ms slice thread=1 duration=70ms run=70ms samples=7 wait=running\n"
        "70ms slice thread=1 duration=30ms run=0 samples=3 wait=futex\n" +
        seen(10, 5, 5) + seen(60, 1, 4) + seen(70, 3, 31) +
        "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    const Finding* found = test::find(a, "transform.in_process");
    REQUIRE(found);
    for (const Advice& advice : found->advice)
      if (advice.id == "later_results") return std::pair(advice.change.name, advice.predicted);
    return std::pair(std::string(), Prediction{});
  };
  const auto [line, predicted] = waiting("jax/_src/array.py", "ArrayImpl._value");
  CHECK(line == "train.py:33 main");
  CHECK(near2(1 / predicted.speedup.value_or(1), 1 - 0.8 * 0.3));  // what it waits for is less
  CHECK(near2(1 / predicted.high.value_or(1), 1 - 0.3));
  CHECK(
      waiting("torch/functional.py", "einsum").first.empty());  // it has computed all that by then
}

TEST_CASE("a function that takes most of what the training thread makes is named, too") {
  const Analysis a = trained(4, 5);
  const Finding* found = test::find(a, "transform.slow_op");
  REQUIRE(found);
  CHECK(found->title == "One function takes much of the time to make batches");
  CHECK(found->hot.function.raw() == "genfromtxt");
  // A step of an environment is no batch that could be made before training.
  CHECK(test::find(spreadOver("pandas", "GridEnv.step"), "transform.in_process"));
  CHECK_FALSE(test::find(spreadOver("pandas", "GridEnv.step"), "transform.slow_op"));
}

TEST_CASE("libraries that an environment's own function calls are of the environment") {
  const auto advised = [](const std::string& function,
                          const std::string& above = "/u/site-packages/other/run.py") {
    const Analysis a = analyze(test::traceOf(
        test::kTrainer + kReadFrames +
        "0 stack stack=29 caller=1 line=9 function=\"step\" file=\"" + above +
        "\"\n0 stack stack=30 caller=29 file=\"train.py\" line=50 function=\"" + function +
        "\"\n0 stack stack=31 caller=30 file=\"/u/site-packages/numpy/_core/_methods.py\" "
        "function=\"_clip\" line=9\nrepeat 200 every 100ms\n"
        "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
        seen(10, 1, 30) + seen(20, 4, 31) + seen(60, 4, 4) +
        "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    const Finding* found = test::find(a, "transform.in_process");
    return found ? found->advice.at(0).id + ", " + found->advice[0].change.from : std::string();
  };
  CHECK(advised("GridEnv.step") == "several_environments, 1");
  CHECK(advised("GridEnv.step", "/u/site-packages/gymnasium/vector/sync_vector_env.py") ==
        "several_environments, in turn");
  CHECK(advised("Grid.read") == "load_in_processes, in the loop");
}

TEST_CASE("without a model that rules know, nothing distinguishes preparing from computing") {
  const Analysis a = trained(7);
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->transform, 0.2));
  CHECK(near2(a.breakdown.phase->compute, 0.8));
}

TEST_CASE("a function that also runs the model makes no data, whatever it reads") {
  const Analysis a = trained(4, 8);
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->transform, 0.2));
}

TEST_CASE("what cuts arrays after each update and before the model is met makes data") {
  CHECK(near2(transformed(seen(10, 2, 9) + seen(30, 4, 10) + seen(70, 3, 4)), 0.7));
}

TEST_CASE(
    "samples too far apart to meet the model in the same step count by their time since the last") {
  // Two steps of 100 ms, a sample in each: at `arrays` in one, at the model in the other.
  const auto alone = [](int arrays, int model) {
    const Analysis a = analyze(test::traceOf(
        test::kTrainer + kReadFrames + "repeat 100 every 200ms\n" +
        "0ms slice thread=1 duration=200ms run=200ms samples=2 wait=running\n" +
        seen(arrays, 1, 10) + "95ms optimizer thread=1 duration=5ms optimizer=1\n" +
        seen(100 + model, 1, 4) + "195ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    return a.breakdown.phase ? a.breakdown.phase->transform : -1;
  };
  CHECK(near2(alone(30, 60), 0.35));  // a sample weighs the time since the one before: 70 of 200 ms
  CHECK(near2(alone(80, 60), 0));     // after the model
}

TEST_CASE("what works on arrays once the model was met is no data") {
  CHECK(near2(transformed(seen(10, 3, 4) + seen(40, 2, 9) + seen(60, 3, 10) + seen(90, 1, 4)), 0));
}

TEST_CASE("what a framework calls, or calls one, makes no data by its place alone") {
  CHECK(near2(transformed(seen(10, 2, 11) + seen(30, 4, 12) + seen(70, 3, 4)), 0));
  CHECK(near2(transformed(seen(10, 2, 9) + seen(30, 2, 10) + seen(50, 2, 13) + seen(70, 3, 4)), 0));
}

// main() calls it above the model: its own lines (22), and torch, which it makes tensors with (23).
TEST_CASE("a function named for batches makes data, though it calls a framework for them") {
  const auto named = [](const std::string& function, const std::string& samples) {
    return transformed(samples, "",
                       "0 stack stack=21 file=\"train.py\" function=\"main\" line=29\n"
                       "0 stack stack=22 caller=21 file=\"train.py\" function=\"" +
                           function +
                           "\" line=70\n"
                           "0 stack stack=23 caller=22 file=\"/u/site-packages/torch/_tensor.py\" "
                           "function=\"Tensor.__iter__\" line=9\n");
  };
  const std::string made = seen(10, 5, 22, "released") + seen(60, 1, 23), model = seen(70, 3, 4);
  CHECK(near2(named("get_batch", made + model), 0.7));
  CHECK(near2(named("Corpus.nextBatch", made + model), 0.7));
  CHECK(near2(named("forward", made + model), 0));  // it may be the model
  // The next one, before backward.
  const std::string ahead = seen(10, 3, 4) + seen(40, 5, 22, "released") + seen(90, 1, 4);
  CHECK(near2(named("get_batch", ahead), 0.5));
  // After the model: a loss.
  CHECK(near2(named("batch_loss", ahead), 0));
}

// main() trains at 32 (17) in a loop whose `for` statement is at line 28 or 33: its iterator is C
// alone (21), a generator (22) that calls a framework (23), or trains itself (24).
TEST_CASE("the iterator of a loop around the training makes data, unless it trains itself") {
  const auto under = [](const std::string& samples, const std::string& line = "28 iterates=1") {
    return transformed(samples + seen(70, 3, 17), "",
                       "0 stack stack=21 file=\"train.py\" function=\"main\" line=" + line +
                           "\n0 stack stack=22 caller=21 file=\"train.py\" function=\"rows\" "
                           "line=5\n0 stack stack=23 caller=22 "
                           "file=\"/u/site-packages/torch/functional.py\" function=\"einsum\" "
                           "line=9\n0 stack stack=24 caller=22 "
                           "file=\"/u/site-packages/torch/_tensor.py\" "
                           "function=\"Tensor.backward\" line=9\n");
  };
  CHECK(near2(under(seen(10, 6, 21, "released")), 0.7));
  CHECK(near2(under(seen(10, 5, 22, "released") + seen(60, 1, 24)), 0));
  CHECK(near2(under(seen(10, 6, 22, "released")), 0.7));
  CHECK(near2(under(seen(10, 3, 22, "released") + seen(40, 3, 23)), 0));  // asks a model
  CHECK(near2(under(seen(10, 6, 21, "released"), "28"), 0));  // what it calls there is not known
  CHECK(near2(under(seen(10, 6, 21, "released"), "33 iterates=1"), 0));  // a loop beside it
}

// As Equinox's, which calls it below main() at 32 (40), while the iterator at 28 reads images.
TEST_CASE("a function that calls the steps makes no data as a whole, however much it reads") {
  const std::string frames =
      "0 stack stack=40 caller=16 file=\"/u/site-packages/equinox/_jit.py\" function=\"_call\" "
      "line=263\n"
      "0 stack stack=41 file=\"train.py\" function=\"main\" line=28 iterates=1\n"
      "0 stack stack=42 caller=41 file=\"/u/site-packages/PIL/Image.py\" "
      "function=\"Image.resize\" line=9\n";
  const auto place = [](int line, const char* function, const char* file) {
    return "0 step_place thread=1 optimizer=1 line=" + std::to_string(line) + " function=\"" +
           function + "\" file=\"" + file + "\"\n";
  };
  const double data = transformed(
      seen(0, 8, 42) + seen(80, 2, 40, "released"),
      place(263, "_call", "/u/site-packages/equinox/_jit.py") + place(32, "main", "train.py"),
      frames);
  CHECK(near2(data, 0.8));
}

// As JAX's: main() calls it at 32 (16), and again at 21 while it warms up; above that call, at 30
// (1) and 31 (14), it makes data.
TEST_CASE("lines above the call of a step that has no frame of its own make data") {
  const auto called = [](const std::string& places) {
    return transformed(seen(10, 4, 1) + seen(50, 2, 14) + seen(70, 4, 16, "released"), places);
  };
  const auto from = [](int line, int optimizer = 1) {
    return "0 step_place thread=1 optimizer=" + std::to_string(optimizer) +
           " line=" + std::to_string(line) + " function=\"main\" file=\"train.py\"\n";
  };
  CHECK(near2(called(""), 0));
  CHECK(near2(called(from(32)), 0.6));
  CHECK(near2(called(from(21) + "100ms" + from(32).substr(1)), 0.6));
  CHECK(near2(called(from(31, 1) + from(32, 2)), 0.4));                  // two networks: the first
  CHECK(near2(called(from(31) + from(32) + from(31) + from(32)), 0.4));  // likewise, by turns
}

// As JAX's: main() calls it at 32, waits for the loss at 33 (22), and then makes the next data
// above the call, at 31 (14).
TEST_CASE("what is made above the call after its result was waited for is data, too") {
  std::string text = test::kTrainer + kReadFrames +
                     "0 stack stack=21 file=\"train.py\" function=\"main\" line=33\n"
                     "0 stack stack=22 caller=21 file=\"/u/site-packages/jax/_src/array.py\" "
                     "function=\"ArrayImpl._value\" line=9\n"
                     "0 step_place thread=1 optimizer=1 line=32 function=\"main\" "
                     "file=\"train.py\"\n"
                     "repeat 200 every 20ms\n"
                     "0ms slice thread=1 duration=20ms run=20ms samples=2 wait=running\n"
                     "0ms optimizer thread=1 duration=1ms optimizer=1\n" +
                     seen(6, 1, 22) + seen(16, 1, 14) + "end\n";
  const Analysis a = analyze(test::traceOf(text));
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->transform, 0.5));
}

// Arrays are all there is: the iterator (21, 22) of the loop in main(), whose body is at line 32
// (16), and what the kernel's samples find.
TEST_CASE("an iterator makes data for arithmetic that no more than the loop's body can hold") {
  const auto under = [](const std::string& natives, const std::string& samples) {
    const Analysis a = analyze(
        test::traceOf(test::kTrainer + kReadFrames +
                      "0 stack stack=21 file=\"train.py\" function=\"main\" line=28 iterates=1\n"
                      "0 stack stack=22 caller=21 file=\"train.py\" function=\"rows\" line=5\n"
                      "repeat 200 every 100ms\n"
                      "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
                      samples + natives + "end\n"));
    REQUIRE(a.breakdown.phase.has_value());
    // What nothing names computes only if it is what the data is made for.
    const auto& phase = *a.breakdown.phase;
    CHECK(near2(phase.transform > 0 ? phase.compute : phase.other, 1 - phase.transform));
    return phase.transform;
  };
  const auto natives = [](int blas, int others) {
    return "0ms native thread=1 duration=100ms samples=" + std::to_string(blas) +
           " file=\"/u/numpy.libs/libopenblas64_.so\" function=\"dgemm_kernel\"\n"
           "0ms native thread=1 duration=100ms samples=" +
           std::to_string(others) +
           " file=\"/usr/lib/libpython3.11.so.1.0\" function=\"_PyEval_EvalFrameDefault\"\n";
  };
  const std::string made = seen(10, 7, 22) + seen(80, 3, 16, "released");
  CHECK(near2(under(natives(2, 8), made), 0.7));
  CHECK(near2(under(natives(4, 6), made), 0));  // the iterator computes
  CHECK(near2(under(natives(0, 8), made), 0));  // nothing shows that anything does
  CHECK(near2(under("", made), 0));
  // A generator that trains, of which the loop only takes the losses.
  CHECK(near2(under(natives(1, 9), seen(10, 10, 22)), 0));
}

TEST_CASE(
    "the step of an environment makes data, whatever its class is called; an update does not") {
  const auto ofClass = [](const std::string& name, const std::string& below) {
    const std::string frames = "0 stack stack=21 caller=1 file=\"cart.py\" function=\"" + name +
                               ".step\" line=9\n0 stack stack=22 caller=21 " + below + " line=5\n";
    return transformed(seen(10, 3, 4) + seen(40, 3, 21) + seen(70, 3, 22), "", frames);
  };
  const std::string own = "file=\"cart.py\" function=\"turn\"";
  CHECK(near2(ofClass("CartEnv", own), 0.6));
  CHECK(near2(ofClass("Cart", own), 0.6));
  CHECK(near2(ofClass("MyAdam", own), 0));
  CHECK(near2(ofClass("Cart", "file=\"/u/site-packages/torch/functional.py\" function=\"einsum\""),
              0));
}

TEST_CASE("a loop that an environment holds up is advised to step several at once") {
  const Analysis a = analyze(
      test::traceOf(test::kTrainer + kReadFrames +
                    "0 stack stack=21 caller=1 file=\"cart.py\" function=\"Cart.step\" line=9\n"
                    "repeat 200 every 100ms\n"
                    "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
                    seen(10, 4, 4) + seen(50, 5, 21) +
                    "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  REQUIRE_FALSE(a.findings.empty());
  CHECK(a.findings[0].id == "transform.in_process");
  CHECK(a.findings[0].where.line == 9);
  REQUIRE_FALSE(a.findings[0].advice.empty());
  CHECK(a.findings[0].advice[0].id == "several_environments");
}

namespace {

// cut() (22) is called at a line of its own, below the model's: with arrays (23), and tensors (24).
const std::string kBelow =
    "0 stack stack=21 file=\"train.py\" function=\"main\" line=33\n"
    "0 stack stack=22 caller=21 file=\"train.py\" function=\"cut\" line=50\n"
    "0 stack stack=23 caller=22 file=\"/u/site-packages/numpy/_core/numeric.py\" "
    "function=\"roll\" line=9\n"
    "0 stack stack=24 caller=22 file=\"/u/site-packages/torch/functional.py\" "
    "function=\"einsum\" line=9\n";

}  // namespace

// Function cut() prepares a loader's batch, by code that samples of the kernel know.
TEST_CASE("what is done with a loader's batch before the model is met makes data") {
  const std::string fetch =
      kBelow + "1ms fetch thread=1 loader=1 epoch=1 duration=1ms cpu=1ms batch=0\n";
  const auto native = [](const char* file, int samples, const char* at = "10ms") {
    return std::string(at) + " native thread=1 duration=50ms stack=22 file=\"" + file +
           "\" offset=64 samples=" + std::to_string(samples) + "\n";
  };
  const std::string before = fetch + seen(10, 6, 22) + seen(70, 3, 4);
  CHECK(near2(transformed(fetch + seen(10, 2, 22) + seen(30, 4, 23) + seen(70, 3, 4)), 0.7));
  // Without the kernel's samples: with the lock held it is no operator of a framework's.
  CHECK(near2(transformed(before), 0.7));
  CHECK(near2(transformed(fetch + seen(10, 6, 22, "released") + seen(70, 3, 4)), 0));
  CHECK(near2(transformed(before + native("/usr/bin/python3.11", 6)), 0.7));
  CHECK(near2(transformed(before + native("/u/site-packages/numpy/random/mtrand.so", 6)), 0.7));
  CHECK(near2(transformed(before + native("/usr/bin/python3.11", 6) +
                          native("/u/site-packages/torch/lib/libtorch_cpu.so", 3)),
              0));
  const auto few = [&](int own, int tensors) {
    return transformed(before,
                       native("/usr/bin/python3.11", own, "9010ms") +
                           native("/u/site-packages/torch/lib/libtorch_cpu.so", tensors, "9010ms"));
  };
  CHECK(near2(few(4, 1), 0.7));  // a tensor is made of what it prepared
  CHECK(near2(few(3, 1), 0.7));
  CHECK(near2(few(3, 3), 0));
  CHECK(near2(transformed(before + native("/usr/lib/libblas.so.3", 6)), 0));
  CHECK(near2(
      transformed(fetch + seen(10, 3, 4) + seen(40, 6, 22) + native("/usr/bin/python3.11", 6)),
      0));  // after the model: it scores
}

// Function cut() calls a library's C code, of which only the kernel's samples say what it is.
TEST_CASE(
    "without a loader a function makes data whose code stores, decodes, fetches or reads files") {
  const auto cut = [](const std::string& file, const char* function, int samples = 6) {
    const std::string native = "10ms native thread=1 duration=50ms stack=22 file=\"" + file +
                               "\" function=\"" + function +
                               "\" samples=" + std::to_string(samples) + "\n";
    const std::string other =
        "60ms native thread=1 duration=9ms stack=22 file=\"/u/own.so\" "
        "function=\"score\" samples=6\n";
    return transformed(kBelow + seen(10, 6, 22) + seen(70, 3, 4) + native +
                       (samples < 6 ? other : ""));
  };
  CHECK(near2(cut("/usr/lib/libsqlite3.so.0", "sqlite3VdbeExec"), 0.7));
  CHECK(near2(cut("/usr/lib/libturbojpeg.so.0", "jsimd_idct_islow"), 0.7));
  CHECK(near2(cut("[kernel]", "pread64"), 0.7));
  CHECK(near2(cut("/u/own.so", "score"), 0));
  CHECK(near2(cut("[kernel]", "futex"), 0));
  CHECK(near2(cut("/usr/lib/libz.so.1", "inflate", 1), 0));
  const std::string rows =
      "10ms native thread=1 duration=50ms stack=22 file=\"/usr/lib/libsqlite3.so.0\" "
      "function=\"sqlite3VdbeExec\" samples=6\n";
  CHECK(near2(transformed(kBelow + seen(10, 3, 22) + seen(40, 3, 24) + seen(70, 3, 4) + rows), 0));
  const std::string written =
      "10ms native thread=1 duration=50ms stack=22 file=\"[kernel]\" function=\"pwrite64\" "
      "samples=1\n";
  CHECK(near2(transformed(kBelow + seen(10, 6, 22) + seen(70, 3, 4) + rows + written), 0));
}

namespace {

// 120 steps of 20 ms; after every 30th (`each`: of those 20 ms, 10), 400 ms at `stack`.
Analysis withRareWork(int stack, const std::string& wait = "running", bool each = false,
                      const std::string& beside = "") {
  const std::string run = wait == "running" ? " run=400ms" : "";
  std::string text = beside + test::kTrainer + kReadFrames +
                     "0 stack stack=21 caller=1 file=\"train.py\" function=\"accuracy\" line=70\n"
                     "0 stack stack=22 caller=21 file=\"/u/site-packages/torch/nn/linear.py\" "
                     "function=\"Linear.forward\" line=9\n"
                     "0 stack stack=23 caller=1 file=\"train.py\" function=\"collect_rollout\" "
                     "line=80\n"
                     "0 stack stack=24 caller=23 file=\"/u/site-packages/torch/nn/linear.py\" "
                     "function=\"Linear.forward\" line=9\n"
                     "0 stack stack=25 file=\"train.py\" function=\"main\" line=34\n"
                     "0 stack stack=26 caller=25 file=\"/u/site-packages/torch/nn/linear.py\" "
                     "function=\"Linear.forward\" line=9\n"
                     "0 stack stack=27 caller=25 file=\"/usr/lib/python3.11/subprocess.py\" "
                     "function=\"Popen._try_wait\" line=9\n"
                     "0 stack stack=28 caller=25 file=\"/usr/lib/python3.11/subprocess.py\" "
                     "function=\"Popen._communicate\" line=9\n"
                     "0 stack stack=29 caller=28 file=\"/usr/lib/python3.11/selectors.py\" "
                     "function=\"_PollLikeSelector.select\" line=9\n"
                     "0 stack stack=30 caller=25 file=\"train.py\" function=\"RobotEnv.step\" "
                     "line=90\n"
                     "0 stack stack=31 caller=25 file=\"/u/site-packages/joblib/parallel.py\" "
                     "function=\"Parallel._retrieve\" line=9\n";
  for (int i = 0; i < 4; ++i) {
    const int at = 1000 * i;
    text += "repeat 30 every 20ms\n" + std::to_string(at) +
            "ms slice thread=1 duration=20ms run=20ms samples=2 wait=running\n" +
            seen(at + 1, each ? 1 : 2, 4) + (each ? seen(at + 11, 1, stack) : "") +
            std::to_string(at + 19) + "ms optimizer thread=1 duration=1ms optimizer=1\nend\n" +
            std::to_string(at + 600) + "ms slice thread=1 duration=400ms" + run +
            " samples=40 wait=" + wait + "\n" + seen(at + 601, 40, stack);
  }
  return analyze(test::traceOf(text));
}

double periodicOf(const Analysis& a) {
  return a.breakdown.phase ? a.breakdown.phase->periodic : -1;
}

}  // namespace

TEST_CASE("a function that runs the model in a few long steps, and never updates it, evaluates") {
  // 0.8 s of 2.48: steps of the first 1.12 s are warm-up
  CHECK(near2(periodicOf(withRareWork(22)), 0.32));
  CHECK(near2(periodicOf(withRareWork(24)), 0));
  CHECK(near2(periodicOf(withRareWork(4)), 0));
}

TEST_CASE("a line below the update that runs the model in a few long steps evaluates") {
  const Analysis a = withRareWork(26);
  CHECK(near2(periodicOf(a), 0.32));
  REQUIRE(test::find(a, "periodic.evaluation"));
  CHECK(test::find(a, "periodic.evaluation")->confidence <= Confidence::kMedium);
  // By its place: it is not said to evaluate, nor advised as evaluations are.
  CHECK(test::find(a, "periodic.evaluation")->title.find("valuat") == std::string::npos);
  REQUIRE(test::find(a, "periodic.evaluation")->advice.size() == 1);
  CHECK(test::find(a, "periodic.evaluation")->advice[0].id == "rarer_work");
  CHECK(near2(periodicOf(withRareWork(26, "running", true)), 0));  // in each step, too
}

// As JAX's: main() calls its step at line 32, and waits for the loss there (22) or does not (21).
// After every 30th step, 400 ms at line 34 wait for a result (25), or call operators (24).
TEST_CASE("a line below the call of a step that has no frame of its own evaluates likewise") {
  const auto of = [](int step, int rare, int line = 32) {
    std::string text = test::kTrainer + kReadFrames +
                       "0 stack stack=21 caller=16 file=\"/u/site-packages/jax/_src/pjit.py\" "
                       "function=\"call\" line=9\n"
                       "0 stack stack=22 caller=16 file=\"/u/site-packages/jax/_src/array.py\" "
                       "function=\"ArrayImpl._value\" line=9\n"
                       "0 stack stack=23 file=\"train.py\" function=\"main\" line=34\n"
                       "0 stack stack=24 caller=23 file=\"/u/site-packages/jax/_src/numpy/"
                       "reductions.py\" function=\"mean\" line=9\n"
                       "0 stack stack=25 caller=23 file=\"/u/site-packages/jax/_src/array.py\" "
                       "function=\"ArrayImpl._value\" line=9\n"
                       "0 step_place thread=1 optimizer=1 line=" +
                       std::to_string(line) + " function=\"main\" file=\"train.py\"\n";
    for (int at = 0; at < 4000; at += 1000)
      text += "repeat 30 every 20ms\n" + std::to_string(at) +
              "ms slice thread=1 duration=20ms run=20ms samples=2 wait=running\n" +
              seen(at + 1, 1, 21) + seen(at + 11, 1, step) + std::to_string(at + 19) +
              "ms optimizer thread=1 duration=1ms optimizer=1\nend\n" + std::to_string(at + 600) +
              "ms slice thread=1 duration=400ms run=400ms samples=40 wait=running\n" +
              seen(at + 601, 40, rare);
    return periodicOf(analyze(test::traceOf(text)));
  };
  CHECK(near2(of(22, 24), 0.32));
  CHECK(near2(of(22, 25), 0.32));
  CHECK(near2(of(21, 24), 0.32));
  CHECK(near2(of(21, 25), 0));  // of steps that were only dispatched, perhaps
  CHECK(near2(of(22, 24, 34), 0));
}

TEST_CASE("a line that is asleep, or waits for a program, in a few long steps alone is a pause") {
  for (const auto& [stack, wait] : {std::pair(25, "sleep"), std::pair(27, "child"),
                                    std::pair(29, "poll"), std::pair(29, "event_loop")}) {
    const Analysis a = withRareWork(stack, wait);
    CHECK(near2(periodicOf(a), 0.32));
    REQUIRE(test::find(a, "periodic.pause"));
    CHECK(near2(test::find(a, "periodic.pause")->shareRatio, 0.32));
    CHECK(test::find(a, "periodic.pause")->where.line == 34);
    CHECK_FALSE(test::find(a, "periodic.evaluation"));
  }
  CHECK_FALSE(test::find(withRareWork(30, "sleep"), "periodic.pause"));  // is trained on
  CHECK(near2(periodicOf(withRareWork(25, "futex")), 0));        // may be a wait for the model
  CHECK(near2(periodicOf(withRareWork(31, "sleep")), 0));        // for a pool, asked for anything
  CHECK(near2(periodicOf(withRareWork(26, "sleep")), 0.32));     // the model's: evaluation
  CHECK(near2(periodicOf(withRareWork(25, "sleep", true)), 0));  // in each step, too
}

TEST_CASE("what another program computes, that is waited for, is computed beside the step") {
  const auto gain = [](int cpu) {
    const Analysis a = withRareWork(
        27, "child", false,
        "manifest cores_usable=2\n0 host busy=0 idle=0 job_cpu=0\n4s host busy=8s idle=0 job_cpu=" +
            std::to_string(cpu) + "ms\n");
    const Finding* pause = test::find(a, "periodic.pause");
    REQUIRE(pause);
    CHECK(test::says(*pause, "of the usable cores on average") == (cpu > 6000));
    return *pause->advice.at(0).predicted.high;
  };
  CHECK(gain(100) > 1.4);  // 0.32 of the time
  CHECK(std::abs(gain(6400) - 1 / 0.8) < 0.03);
}

// main() trains at line 32 (17).
TEST_CASE("a line above the model's at which a program without a loader sleeps makes data") {
  const auto of = [](int stack, const std::string& first) {
    const Analysis a = analyze(
        test::traceOf(test::kTrainer + kReadFrames + kBelow + "repeat 200 every 100ms\n" + first +
                      "0ms slice thread=1 duration=60ms samples=6 wait=sleep\n" +
                      "60ms slice thread=1 duration=40ms run=40ms samples=4 wait=running\n" +
                      seen(1, 6, stack, "released") + seen(70, 3, 17) +
                      "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    return a.breakdown.phase ? a.breakdown.phase->transform : -1;
  };
  CHECK(near2(of(14, ""), 0.6));
  CHECK(near2(of(21, ""), 0));  // below the update
  // Beside a loader it may be the step's own.
  CHECK(near2(of(14, "0ms fetch thread=1 loader=1 epoch=1 duration=10us cpu=1us batch=0\n"), 0));
}

// Line 31 (14) works with the lock let go: it may be the model's.
TEST_CASE("of a loop without a loader the line that takes most of the time is named") {
  const auto lineOfFirst = [](int samples) {
    const Analysis a = analyze(
        test::traceOf(test::kTrainer + kReadFrames + "repeat 200 every 100ms\n" +
                      "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
                      seen(1, samples, 14, "released") + seen(51, 10 - samples, 17) +
                      "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    REQUIRE(!a.findings.empty());
    CHECK(a.findings[0].id == "compute.cpu_bound");
    return a.findings[0].where.line;
  };
  CHECK(lineOfFirst(7) == 31);
  CHECK(lineOfFirst(3) == 32);
}

// Two of 100 samples are the model's, at the line that calls cut() for its data.
TEST_CASE("what is called for the model's first line before the model runs makes data") {
  const auto of = [](const std::string& gil, int stack) {
    const Analysis a =
        analyze(test::traceOf(test::kTrainer + kReadFrames + kBelow + "repeat 20 every 1s\n" +
                              "0ms slice thread=1 duration=1s run=1s samples=100 wait=running\n" +
                              seen(1, 97, stack, gil) + seen(975, 2, 4) +
                              "995ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    return a.breakdown.phase ? a.breakdown.phase->transform : -1;
  };
  CHECK(near2(of("holds", 9), 0.97));
  CHECK(near2(of("released", 9), 0));  // may be operators
  CHECK(near2(of("holds", 22), 0));    // called below: it may score the step before
}

// main() itself trains (17). Its line 31 reads a mapped file (15) and makes a batch of it.
TEST_CASE("a line of the loop's own that reads before the model is met makes data") {
  const std::string model = seen(70, 3, 17);
  CHECK(near2(transformed(seen(10, 2, 15) + seen(30, 4, 14) + model), 0.4));
  // Up to Python 3.11 a list comprehension is a function of its own; what is around it is the
  // line's.
  CHECK(near2(transformed(seen(10, 2, 20) + seen(30, 2, 19) + seen(50, 2, 14) + model), 0.4));
}

TEST_CASE(
    "a line that reads and also runs the model, or once it was met, makes no data of its own") {
  CHECK(near2(transformed(seen(10, 2, 18) + seen(30, 4, 16) + seen(70, 3, 17)), 0));
  CHECK(near2(transformed(seen(10, 3, 17) + seen(40, 2, 15) + seen(60, 4, 14)), 0));
}

TEST_CASE(
    "a line that reads now and then, and mostly does something else, makes no data of its own") {
  // A sample of seven in a reader, each step or every other one.
  CHECK(near2(transformed(seen(10, 1, 15) + seen(20, 6, 14, "released") + seen(80, 2, 17)), 0.6));
  const Analysis a = analyze(test::traceOf(
      test::kTrainer + kReadFrames + "repeat 100 every 200ms\n" +
      "0ms slice thread=1 duration=200ms run=200ms samples=20 wait=running\n" + seen(10, 1, 15) +
      seen(20, 6, 14, "released") + seen(80, 2, 17) +
      "95ms optimizer thread=1 duration=5ms optimizer=1\n" + seen(110, 7, 14, "released") +
      seen(180, 2, 17) + "195ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near2(a.breakdown.phase->transform, 0));
}

TEST_CASE("a function that is blocked writing a file is periodic, what it formats and opens too") {
  const Analysis a = analyze(test::traceOf(
      test::kTrainer + kReadFrames +
      "0 stack stack=21 caller=1 file=\"train.py\" function=\"store\" line=70\n"
      "repeat 200 every 100ms\n"
      "0ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\n" +
      seen(10, 5, 4) + "50ms slice thread=1 duration=20ms samples=2 wait=file_write\n" +
      seen(60, 2, 21) + "70ms slice thread=1 duration=10ms samples=1 wait=file_meta\n" +
      seen(80, 1, 21) + "80ms slice thread=1 duration=20ms run=20ms samples=2 wait=running\n" +
      seen(90, 2, 21) + "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  REQUIRE(a.breakdown.phase);
  CHECK(near2(a.breakdown.phase->periodic, 0.5));
  CHECK(near2(a.breakdown.phase->extract, 0));
  REQUIRE(!a.findings.empty());
  CHECK(a.findings[0].id == "periodic.checkpoint");
  CHECK(a.findings[0].where.line == 70);
}

// main() trains at line 32 (17), and makes its batch at 31 (14) in C alone.
TEST_CASE("a line above the model's, by the kernel's samples in no framework, makes data") {
  const auto at = [](int stack, const char* file) {
    return std::string("10ms native thread=1 duration=50ms stack=") + std::to_string(stack) +
           " file=\"" + file + "\" offset=64 samples=6\n";
  };
  const std::string own = seen(10, 6, 14), model = seen(70, 3, 17);
  CHECK(near2(transformed(own + model + at(14, "/usr/bin/python3.11")), 0.7));
  CHECK(near2(transformed(own + model + at(14, "/u/site-packages/torch/libtorch_cpu.so")), 0));
  // Line 33, once the model was met in the step before: what is done with its result.
  CHECK(near2(transformed("0 stack stack=21 file=\"train.py\" function=\"main\" line=33\n" +
                          seen(10, 6, 21) + model + at(21, "/usr/bin/python3.11")),
              0));
}

// Four steps with one sample each: line 31 in the first and third; of those at the model one comes
// right after an update, so that no instant between updates is the model's alone.
TEST_CASE("where samples are too far apart to be placed, the order of lines decides") {
  const auto data = [](const char* file) {
    std::string text = test::kTrainer + kReadFrames + "repeat 100 every 400ms\n" +
                       "0ms slice thread=1 duration=400ms run=400ms samples=4 wait=running\n" +
                       seen(50, 1, 14) + seen(105, 1, 17) + seen(250, 1, 14) + seen(360, 1, 17) +
                       "50ms native thread=1 duration=200ms stack=14 file=\"" + file +
                       "\" offset=64 samples=3\n";
    for (const int end : {95, 195, 295, 395})
      text += std::to_string(end) + "ms optimizer thread=1 duration=5ms optimizer=1\n";
    const Analysis a = analyze(test::traceOf(text + "end\n"));
    return a.breakdown.phase ? a.breakdown.phase->transform : -1;
  };
  CHECK(near2(data("/usr/bin/python3.11"), 0.59));
  CHECK(near2(data("/u/site-packages/torch/libtorch_cpu.so"), 0));
}

TEST_CASE("own lines and formats of a function that logs are periodic as its logging is") {
  const std::string logs =
      "0 stack stack=21 caller=1 file=\"train.py\" function=\"report\" line=70\n"
      "0 stack stack=22 caller=21 file=\"/usr/lib/python3.11/logging/__init__.py\" "
      "function=\"info\" line=9\n"
      "0 stack stack=23 caller=21 file=\"/usr/lib/python3.11/json/__init__.py\" "
      "function=\"dumps\" line=9\n";
  const Analysis a = analyze(
      test::traceOf(test::kTrainer + kReadFrames + logs + "repeat 200 every 100ms\n" +
                    "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
                    seen(10, 4, 4) + seen(50, 2, 22) + seen(70, 2, 23) + seen(90, 1, 21) +
                    "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  REQUIRE(a.breakdown.phase);
  CHECK(near2(a.breakdown.phase->periodic, 0.5));
  CHECK(near2(a.breakdown.phase->transform, 0));
}

namespace {

// loop() runs backward at line 38 (22) and the optimizer at 40 (24).
const std::string kUpdateFrames =
    "0 stack stack=21 file=\"train.py\" function=\"loop\" line=38\n"
    "0 stack stack=22 caller=21 file=\"/u/site-packages/torch/_tensor.py\" "
    "function=\"Tensor.backward\" line=9\n"
    "0 stack stack=23 file=\"train.py\" function=\"loop\" line=40\n"
    "0 stack stack=24 caller=23 file=\"/u/site-packages/torch/optim/sgd.py\" "
    "function=\"SGD.step\" line=9\n";

// `last` is the line of metrics() in it, which works on tensors (27) and in Python (26).
Analysis withMetricsAt(int last, const std::string& samples, bool optimizer = true,
                       const std::string& function = "metrics") {
  const std::string frames =
      kUpdateFrames +
      "0 stack stack=25 file=\"train.py\" function=\"loop\" line=" + std::to_string(last) +
      "\n"
      "0 stack stack=26 caller=25 file=\"train.py\" function=\"" +
      function +
      "\" line=70\n"
      "0 stack stack=27 caller=26 file=\"/u/site-packages/torch/functional.py\" "
      "function=\"einsum\" line=9\n"
      "0 stack stack=28 caller=25 file=\"/u/site-packages/torch/serialization.py\" "
      "function=\"save\" line=9\n"
      "0 stack stack=29 caller=26 file=\"/u/site-packages/torch/optim/sgd.py\" "
      "function=\"SGD.step\" line=9\n";
  return analyze(
      test::traceOf(test::kTrainer + frames + "repeat 200 every 100ms\n" +
                    "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" +
                    seen(10, 3, 22) + seen(40, 2, optimizer ? 24 : 22) + samples +
                    "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
}

}  // namespace

TEST_CASE("compute at lines below the optimizer's step is said to follow the update") {
  const std::string work = seen(60, 2, 27) + seen(80, 2, 26);
  const Analysis a = withMetricsAt(41, work);
  const Finding* found = test::find(a, "compute.after_update");
  REQUIRE(found);
  CHECK(near2(found->shareRatio, 0.4));
  CHECK(found->confidence == Confidence::kMedium);
  CHECK(found->where.line == 70);
  REQUIRE(a.breakdown.phase);
  CHECK(near2(a.breakdown.phase->compute, 1));  // what it is for is not known
  CHECK_FALSE(test::find(withMetricsAt(39, work), "compute.after_update"));
  // The update may be written by hand.
  CHECK_FALSE(test::find(withMetricsAt(41, work, false), "compute.after_update"));
}

TEST_CASE("so is a callback that a library calls at the end of each step, by its name") {
  const std::string work = seen(60, 2, 27) + seen(80, 2, 26);
  const Analysis a = withMetricsAt(39, work, true, "Histograms.on_train_batch_end");
  const Finding* found = test::find(a, "compute.after_update");
  REQUIRE(found);
  CHECK(near2(found->shareRatio, 0.4));
  CHECK(found->where.line == 70);
  CHECK_FALSE(test::find(withMetricsAt(39, work, true, "Histograms.on_train_batch_start"),
                         "compute.after_update"));
  // The step itself may be made in it.
  CHECK_FALSE(test::find(withMetricsAt(39, work + seen(90, 1, 29), true, "on_step_end"),
                         "compute.after_update"));
}

namespace {

// track() waits for a network at `line` of the loop, from 60 ms of each 100 on. Line 38 runs
// backward, and line 40 the optimizer, at `update` ms.
Analysis tracking(int line, int update, const std::string& wait = "socket") {
  const std::string frames =
      "0 loader process=1 loader=1 kind=\"torch.DataLoader\" workers=0 batch_size=4\n" +
      kUpdateFrames +
      "0 stack stack=25 file=\"train.py\" function=\"loop\" line=" + std::to_string(line) +
      "\n0 stack stack=26 caller=25 file=\"train.py\" function=\"track\" line=70\n"
      "0 stack stack=27 caller=26 file=\"/usr/lib/python3.11/socket.py\" "
      "function=\"SocketIO.readinto\" line=9\n";
  return analyze(test::traceOf(
      test::kTrainer + frames + "repeat 200 every 100ms\n" +
      "0ms fetch thread=1 loader=1 epoch=1 duration=2ms cpu=2ms batch=0+1*i\n"
      "0ms slice thread=1 duration=60ms run=60ms samples=6 wait=running\n"
      "60ms slice thread=1 duration=40ms run=0 samples=4 wait=" +
      wait + "\n" + seen(10, 3, 22) + seen(45, 2, 24) + seen(65, 4, wait == "socket" ? 27 : 26) +
      std::to_string(update) + "ms optimizer thread=1 duration=1ms optimizer=1\nend\n"));
}

}  // namespace

TEST_CASE(
    "what is waited for from a network below the update is no data of a loader that is known") {
  const Analysis a = tracking(41, 50);
  REQUIRE(a.breakdown.phase);
  CHECK(a.breakdown.phase->other > 0.3);
  CHECK(a.breakdown.phase->extract < 0.02);
  CHECK_FALSE(test::find(a, "transform.in_process"));
  const Finding* found = test::find(a, "compute.after_update");
  REQUIRE(found);
  CHECK(found->shareRatio > 0.3);
  CHECK(found->where.line == 70);
  CHECK(found->title == "Waiting after the model update delays the next step");
  CHECK_FALSE(a.verdict.withheld);  // what it waits for is not known, where it does is
  CHECK(a.verdict.boundBy == "compute");
}

TEST_CASE("nor are sleeps, locks and programs, wherever their lines lie: the update was before") {
  for (const char* wait : {"sleep", "futex", "child", "pipe"}) {
    const Analysis a = tracking(37, 50, wait);
    REQUIRE(a.breakdown.phase);
    CHECK(a.breakdown.phase->other > 0.3);
    CHECK(test::find(a, "compute.after_update"));
    const Analysis before = tracking(37, 98, wait);
    REQUIRE(before.breakdown.phase);
    CHECK(before.breakdown.phase->other < 0.02);
  }
}

TEST_CASE("nor is what is waited for between the backward pass and the update") {
  const Analysis a = tracking(39, 98);
  REQUIRE(a.breakdown.phase);
  CHECK(a.breakdown.phase->other > 0.3);
  CHECK(a.breakdown.phase->extract < 0.02);
  CHECK_FALSE(test::find(a, "compute.after_update"));  // it may be for gradients
  const Analysis above = tracking(37, 98);
  REQUIRE(above.breakdown.phase);
  CHECK(above.breakdown.phase->extract > 0.3);  // for the model
}

TEST_CASE("images that a library encodes below the update are no data of a loader that is known") {
  const auto written = [](int line, bool loader) {
    const std::string frames =
        std::string(loader ? "0 loader process=1 loader=1 kind=\"torch.DataLoader\" workers=0 "
                             "batch_size=4\n"
                           : "") +
        kUpdateFrames +
        "0 stack stack=25 file=\"train.py\" function=\"loop\" line=" + std::to_string(line) +
        "\n0 stack stack=26 caller=25 file=\"/u/site-packages/PIL/ImageFile.py\" "
        "function=\"_save\" line=70\n";
    return analyze(test::traceOf(
        test::kTrainer + frames + "repeat 200 every 100ms\n" +
        (loader ? "0ms fetch thread=1 loader=1 epoch=1 duration=2ms cpu=2ms batch=0+1*i\n" : "") +
        "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n" + seen(10, 3, 22) +
        seen(40, 2, 24) + seen(60, 4, 26) +
        "55ms optimizer thread=1 duration=1ms optimizer=1\nend\n"));
  };
  const Analysis a = written(41, true);
  REQUIRE(a.breakdown.phase);
  CHECK(a.breakdown.phase->transform < 0.03);
  const Finding* found = test::find(a, "compute.after_update");
  REQUIRE(found);
  CHECK(found->shareRatio > 0.3);
  CHECK(found->where.line == 41);
  for (const auto& [line, loader] : {std::pair(37, true), std::pair(41, false)}) {
    const Analysis data = written(line, loader);
    REQUIRE(data.breakdown.phase);
    CHECK(data.breakdown.phase->transform > 0.3);
    CHECK_FALSE(test::find(data, "compute.after_update"));
  }
}

TEST_CASE("what is known as saving is no code of that kind, wherever it lies") {
  const Analysis a = withMetricsAt(41, seen(60, 4, 28));
  CHECK_FALSE(test::find(a, "compute.after_update"));
  REQUIRE(a.breakdown.phase);
  CHECK(near2(a.breakdown.phase->periodic, 0.4));
}

TEST_CASE("between the epochs of a loader own code is no part of a step") {
  // Of each second two steps of 200 ms; in the rest read() prepares what follows, or torch
  // computes.
  const auto of = [](int stack) {
    const Analysis a = analyze(test::traceOf(
        test::kTrainer + kReadFrames +
        "0 loader process=1 loader=1 kind=\"torch.DataLoader\" workers=0 batch_size=4\n"
        "repeat 40 every 1s\n"
        "0ms iterator thread=1 loader=1 epoch=1+1*i duration=1ms\n"
        "1ms fetch thread=1 loader=1 epoch=1+1*i duration=1ms cpu=1ms batch=0\n"
        "150ms optimizer thread=1 duration=5ms optimizer=1\n"
        "200ms fetch thread=1 loader=1 epoch=1+1*i duration=1ms cpu=1ms batch=1\n"
        "350ms optimizer thread=1 duration=5ms optimizer=1\n"
        "399ms fetch thread=1 loader=1 epoch=1+1*i duration=1ms cpu=1ms end=1\n"
        "0ms slice thread=1 duration=1s run=1s samples=100 wait=running\n" +
        seen(10, 38, 17) + seen(410, 58, stack) + "end\n"));
    REQUIRE(a.breakdown.phase);
    return *a.breakdown.phase;
  };
  const auto own = of(3), arrays = of(6), model = of(4);
  CHECK(near2(own.other, 0.6));
  CHECK(near2(own.compute, 0.4));
  CHECK(near2(arrays.other, 0.6));
  CHECK(near2(model.compute, 1));
}
