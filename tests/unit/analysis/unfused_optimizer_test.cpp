// SPDX-License-Identifier: MIT
#include <cmath>

#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

// Of 400 samples of the training thread in four seconds so many are in `function`.
Facts updating(double samples, std::string_view function, const char* version = "2.6.0+cpu") {
  Facts f = factsOf(Training{});
  f.with("torch", version);
  StackFacts& s = f.trainer.stacks;
  for (int i = 0; i < 400; ++i) s.trainer.add(&s + i);
  s.trainerTime = 4;
  FunctionSamples of;
  of.phase = Phase::kCompute;
  of.rule = "torch.optimizer";
  of.samples = samples;
  of.seconds = samples / 100;
  for (const std::uint32_t id : {1u, 2u}) {
    StackSeen frame;
    frame.stack = StackId{id};
    frame.function = f.trace.strings.intern(id == 1 ? function : "main");
    frame.file = f.trace.strings.intern(id == 1 ? "torch/optim/adam.py" : "train.py");
    frame.line = id == 1 ? 500 : 26;
    f.trace.stacks.push_back({Nanos{}, frame});
  }
  of.hot = StackId{1};
  of.user = StackId{2};
  s.functions.push_back(of);
  return f;
}

}  // namespace

TEST_CASE("an optimizer that updates by separate operators on a CPU is to be fused") {
  Facts f = updating(120, "_single_tensor_adam");
  const Judgement j = f.judge();
  const Finding* found = find(j, "compute.unfused_optimizer");
  REQUIRE(found);
  CHECK(std::abs(found->shareRatio - 0.3) < 0.001);
  CHECK(found->where.line == 26);
  CHECK(found->confidence == Confidence::kHigh);
  const Advice* fused = adviceIn(*found, "fused_optimizer");
  REQUIRE(fused);
  CHECK(fused->predicted.basis == Basis::kAssumed);
  CHECK(std::abs(*fused->predicted.speedup - 1 / (1 - 0.3 * 0.75)) < 0.001);
  CHECK(std::abs(*fused->predicted.high - 1 / (1 - 0.3 * 0.92)) < 0.001);
  CHECK(find(updating(120, "_multi_tensor_sgd").judge(), "compute.unfused_optimizer"));
}

TEST_CASE("where other processes of the job take the cores, its samples may be waiting") {
  Facts f = updating(120, "_single_tensor_adam");
  f.run.cores = 2;
  f.run.jobCpuRatio = 0.97;
  f.trainer.processCpu = f.trainer.window() * 19 / 10;
  CHECK(find(f.judge(), "compute.unfused_optimizer")->confidence == Confidence::kHigh);
  f.trainer.processCpu = f.trainer.window();
  CHECK(find(f.judge(), "compute.unfused_optimizer")->confidence == Confidence::kLow);
}

TEST_CASE("what an update waits for the interpreter's lock is not its own") {
  Facts f = updating(120, "_single_tensor_adam");
  f.trainer.stacks.functions[0].lockWaits = 60;
  const Judgement j = f.judge();
  REQUIRE(find(j, "compute.unfused_optimizer"));
  CHECK(std::abs(find(j, "compute.unfused_optimizer")->shareRatio - 0.15) < 0.001);
  f.trainer.stacks.functions[0].lockWaits = 90;
  CHECK_FALSE(find(f.judge(), "compute.unfused_optimizer"));
}

TEST_CASE("an optimizer is left alone where fusing it is little, impossible or done") {
  const auto fires = [](Facts f) {
    return find(f.judge(), "compute.unfused_optimizer") != nullptr;
  };
  CHECK_FALSE(fires(updating(36, "_single_tensor_adam")));
  CHECK_FALSE(fires(updating(120, "_fused_adam")));
  CHECK_FALSE(fires(updating(120, "_single_tensor_rprop")));
  CHECK_FALSE(fires(updating(120, "_single_tensor_adam", "2.3.1")));
  CHECK_FALSE(fires(updating(120, "_single_tensor_adam", "")));
  // On a device that is not seen.
  CHECK_FALSE(fires(updating(120, "_single_tensor_adam", "2.6.0+rocm6.2.4")));
  Facts f = updating(120, "_single_tensor_adam");
  f.trainer.device.seen = true;
  CHECK_FALSE(fires(f));
}
