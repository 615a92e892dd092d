// SPDX-License-Identifier: MIT
// compute.small_ops: what PyTorch does for each operator, by native samples of the training thread.
#include <cmath>

#include "tests/unit/analysis/found.h"

using namespace stallprof;

namespace {

// main(): a loss by elements (1) and backward (2, 3).
const std::string kLossFrames =
    "0 stack stack=1 file=\"train.py\" function=\"weighted\" line=13\n"
    "0 stack stack=2 file=\"train.py\" function=\"main\" line=20\n"
    "0 stack stack=3 caller=2 file=\"/u/site-packages/torch/autograd/__init__.py\" "
    "function=\"backward\" line=9\n";

std::string nativeIn(int at, int stack, int samples, const std::string& library,
                     const std::string& function) {
  return std::to_string(at) + "ms native thread=1 duration=1ms stack=" + std::to_string(stack) +
         " file=\"/u/lib/" + library + "\" samples=" + std::to_string(samples) + " function=\"" +
         function + "\"\n";
}

// 200 updates of 50 ms, with those native samples in each.
Analysis training(const std::string& natives) {
  return analyze(test::traceOf(test::kTrainer + kLossFrames + "repeat 200 every 50ms\n" +
                               "1000ms slice thread=1 duration=50ms run=50ms samples=5 "
                               "wait=running\n" +
                               natives +
                               "1040ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
}

const std::string kEngine = "torch::autograd::Engine::evaluate_function";

}  // namespace

TEST_CASE("an operator for each element is found by what surrounds it, at the line of the loop") {
  const Analysis a = training(nativeIn(1001, 1, 1, "libtorch_python.so.1.13", "") +
                              nativeIn(1003, 1, 1, "libc.so.6", "_int_malloc") +
                              nativeIn(1005, 3, 1, "libtorch_cpu.so.1.13", kEngine) +
                              nativeIn(1007, 3, 1, "libblas.so.3", "sgemm_"));
  const Finding* f = test::find(a, "compute.small_ops");
  REQUIRE(f != nullptr);
  CHECK(std::abs(f->shareRatio - 0.75) < 0.02);
  CHECK(f->where.line == 13);
  CHECK(a.findings[0].id == "compute.small_ops");
  CHECK(a.verdict.healthy != true);
  REQUIRE(!f->advice.empty());
  CHECK(f->advice[0].predicted.basis == Basis::kAssumed);
}

TEST_CASE("memory at a line that is mostly NumPy's is no overhead of operators") {
  const auto found = [](const std::string& library) {
    return training(nativeIn(1001, 1, 1, "libtorch_python.so.1.13", "") +
                    nativeIn(1003, 1, 3, "libc.so.6", "_int_malloc") +
                    nativeIn(1005, 1, 2, library, "add") +
                    nativeIn(1007, 3, 1, "libtorch_cpu.so.1.13", kEngine));
  };
  const Analysis arrays = found("_multiarray_umath.cpython-311-x86_64-linux-gnu.so");
  CHECK(test::find(arrays, "compute.small_ops") == nullptr);
  CHECK(test::find(found("libblas.so.3"), "compute.small_ops") != nullptr);
}

TEST_CASE("no line is named where no line calls half of the operators, or another library does") {
  // A second line and a third (5, 6); an operator of torch's (8) called by a library (7) that 13
  // calls.
  const std::string frames =
      "0 stack stack=5 file=\"train.py\" function=\"more\" line=30\n"
      "0 stack stack=6 file=\"train.py\" function=\"more\" line=31\n"
      "0 stack stack=7 caller=1 file=\"/u/site-packages/rl/ppo.py\" function=\"learn\" line=7\n"
      "0 stack stack=8 caller=7 file=\"/u/site-packages/torch/nn/f.py\" function=\"f\" line=7\n";
  const auto lineWith = [&](const std::string& natives) {
    const Analysis a = analyze(
        test::traceOf(test::kTrainer + kLossFrames + frames + "repeat 200 every 50ms\n" +
                      "1000ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\n" +
                      natives + nativeIn(1009, 3, 2, "libtorch_cpu.so.1.13", kEngine) +
                      "1040ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    const Finding* f = test::find(a, "compute.small_ops");
    REQUIRE(f != nullptr);
    REQUIRE(f->advice.size() == 1);
    return f->advice[0].change.name;
  };
  const auto at = [](int ms, int stack, int samples) {
    return nativeIn(1000 + ms, stack, samples, "libtorch_python.so.1.13", "");
  };
  CHECK(lineWith(at(1, 1, 2) + at(3, 5, 1) + at(5, 6, 1)) == "train.py:13 weighted");
  CHECK(lineWith(at(1, 1, 2) + at(3, 5, 2) + at(5, 6, 1)) == "operators");
  CHECK(lineWith(at(1, 1, 1) + at(3, 8, 2)) == "operators");
}

TEST_CASE(
    "of a step that sleeps or has no core, operators take no more than the time that it ran") {
  const auto share = [](const std::string& slices) {
    const Analysis a =
        analyze(test::traceOf(test::kTrainer + kLossFrames + "repeat 200 every 50ms\n" + slices +
                              nativeIn(1003, 3, 4, "libtorch_cpu.so.1.13", kEngine) +
                              "1040ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    const Finding* f = test::find(a, "compute.small_ops");
    REQUIRE(f != nullptr);
    return f->shareRatio;
  };
  CHECK(std::abs(share("1000ms slice thread=1 duration=10ms run=10ms samples=1 wait=running\n"
                       "1010ms slice thread=1 duration=40ms samples=4 wait=sleep\n") -
                 0.20) < 0.02);
  CHECK(std::abs(share("1000ms slice thread=1 duration=50ms run=20ms queued=30ms samples=5 "
                       "wait=running\n") -
                 0.40) < 0.02);
}

TEST_CASE("where the device is busy, operators that are launched ahead of it gain nothing") {
  const std::string traced = "0 device_trace process=1 duration=20s kernels=1 calls=1\n";
  const auto of = [&](int busy) {
    return analyze(test::traceOf(
        test::kTrainer + kLossFrames + traced + "repeat 200 every 50ms\n" +
        "1000ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\n" +
        nativeIn(1003, 3, 4, "libtorch_cpu.so.1.13", kEngine) +
        "1001ms device_span device=\"GPU-1\" process=1 duration=" + std::to_string(busy) +
        "ms busy=" + std::to_string(busy) + "ms works=100\n" +
        "1040ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  };
  CHECK(test::find(of(10), "compute.small_ops") != nullptr);
  const Analysis bound = of(45);
  CHECK(test::find(bound, "compute.small_ops") == nullptr);
  CHECK(bound.findings[0].id == "compute.device_bound");
}

// Below the loader: a sample of the data set (5).
const std::string kFetched =
    "0 stack stack=4 caller=2 file=\"/u/site-packages/torch/utils/data/dataloader.py\" "
    "function=\"__next__\" line=9\n"
    "0 stack stack=5 caller=4 file=\"train.py\" function=\"__getitem__\" line=5\n";

TEST_CASE("samples that must be of a fetch, by its time, are no operators of the step's") {
  const auto training = [](const std::string& natives) {
    return analyze(test::traceOf(
        test::kTrainer + kLossFrames + kFetched +
        "0 loader process=1 loader=1 kind=\"torch.DataLoader\" workers=0 batch_size=8\n"
        "990ms iterator thread=1 loader=1 epoch=1 key=7 duration=1ms\nrepeat 200 every 50ms\n"
        "1000ms fetch thread=1 loader=1 epoch=1 duration=20ms cpu=20ms batch=0+1*i "
        "process_cpu=20ms\n"
        "1000ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\n" +
        natives + "1040ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  };
  const std::string step = nativeIn(1005, 3, 4, "libtorch_cpu.so.1.13", kEngine);
  const Analysis paired = training(nativeIn(1001, 5, 4, "python3.11", "") + step +
                                   nativeIn(1007, 3, 2, "libblas.so.3", "sgemm_"));
  const Finding* f = test::find(paired, "compute.small_ops");
  REQUIRE(f != nullptr);
  CHECK(std::abs(f->shareRatio - 0.6 * 2 / 3) < 0.02);
  // None is known to be of the fetch, which takes two fifths of the time.
  const Analysis unpaired = training(step + nativeIn(1007, 3, 6, "libblas.so.3", "sgemm_"));
  CHECK(test::find(unpaired, "compute.small_ops") == nullptr);
}

TEST_CASE("operators of a loader in the training process are not the step's") {
  const Analysis a = analyze(
      test::traceOf(test::kTrainer + kLossFrames + kFetched + "repeat 200 every 50ms\n" +
                    "1000ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\n" +
                    nativeIn(1001, 5, 6, "libtorch_python.so.1.13", "") +
                    nativeIn(1005, 3, 1, "libtorch_cpu.so.1.13", kEngine) +
                    nativeIn(1007, 3, 5, "libblas.so.3", "sgemm_") +
                    "1040ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  CHECK(test::find(a, "compute.small_ops") == nullptr);
}

// main() trains at line 20 (3) in a loop whose iterator (4), C alone, is at line 18.
TEST_CASE("operators of a line that makes data are not the step's") {
  const auto with = [](const char* iterates) {
    return analyze(
        test::traceOf(test::kTrainer + kLossFrames +
                      "0 stack stack=4 file=\"train.py\" function=\"main\" line=18" + iterates +
                      "\nrepeat 200 every 50ms\n" +
                      "1000ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\n"
                      "1010ms stack_slice thread=1 duration=10ms samples=2 stack=4 gil=released\n"
                      "1030ms stack_slice thread=1 duration=20ms samples=3 stack=3 gil=released\n" +
                      nativeIn(1001, 4, 6, "libtorch_python.so.1.13", "") +
                      nativeIn(1032, 3, 1, "libtorch_cpu.so.1.13", kEngine) +
                      nativeIn(1037, 3, 5, "libblas.so.3", "sgemm_") +
                      "1040ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  };
  CHECK(test::find(with(" iterates=1"), "compute.small_ops") == nullptr);
  CHECK(test::find(with(""), "compute.small_ops") != nullptr);
}

TEST_CASE("a recording's stack of a hundred thousand frames is followed to its end") {
  Trace trace =
      test::traceOf(test::kTrainer + kLossFrames + "repeat 200 every 50ms\n" +
                    "1000ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\n" +
                    nativeIn(1005, 1, 4, "libtorch_cpu.so.1.13", kEngine) +
                    "1040ms optimizer thread=1 duration=5ms optimizer=1\nend\n");
  constexpr std::uint32_t kDeep = 100'000;
  while (trace.stacks.size() < kDeep) {
    StackSeen frame = trace.stacks.front().data;
    frame.caller = StackId{static_cast<std::uint32_t>(trace.stacks.size())};
    frame.stack = StackId{frame.caller.value + 1};
    trace.stacks.push_back({Nanos{}, frame});
  }
  for (auto& row : trace.threads.at(0).natives) row.data.stack = StackId{kDeep};
  CHECK(test::find(analyze(trace), "compute.small_ops") != nullptr);
}

TEST_CASE("large operators, memory and unnamed kernels are none") {
  const Analysis a = training(nativeIn(1001, 1, 2, "libc.so.6", "_int_malloc") +
                              nativeIn(1003, 3, 1, "libtorch_cpu.so.1.13", kEngine) +
                              nativeIn(1005, 3, 3, "libtorch_cpu.so.1.13", "") +
                              nativeIn(1007, 3, 4, "libblas.so.3", "sgemm_"));
  CHECK(test::find(a, "compute.small_ops") == nullptr);
}

TEST_CASE("the loop of a kernel over its elements is the operator's own work") {
  const Analysis a = training(
      nativeIn(1001, 1, 6, "libtorch_cpu.so",
               "_ZN3c1012function_refIFvPPcPKlllEE11callback_fnIZ4mainEUlS2_S4_llE_EEvlS2_S4_ll") +
      nativeIn(1003, 1, 1, "libtorch_cpu.so", "at::_ops::relu::call") +
      nativeIn(1007, 3, 3, "libtorch_cpu.so", "mkl_blas_sgemm"));
  CHECK(test::find(a, "compute.small_ops") == nullptr);
}
