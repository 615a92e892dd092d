// SPDX-License-Identifier: MIT
#include "analysis/facts/hook_parts.h"

#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

std::string missing(const std::string& source, const char* state = "absent") {
  return "1s source source=\"hook." + source + "\" state=" + state + " why=\"moved\"\n";
}

// 60 updates 100 ms apart; with `fetches`, each after a batch of a torch loader with no workers.
std::string sixtyUpdates(bool fetches) {
  std::string text = kTrainer +
                     "0 framework process=1 name=\"torch\" version=\"2.15.0\"\n"
                     "0 loader process=1 loader=1 kind=\"torch.DataLoader\" batch_size=8\n"
                     "999ms iterator thread=1 loader=1 epoch=1\n"
                     "repeat 60 every 100ms\n";
  if (fetches) text += "1000ms fetch thread=1 loader=1 epoch=1 duration=1ms cpu=1ms batch=0+1*i\n";
  return text + "1090ms optimizer thread=1 duration=5ms optimizer=1\nend\n";
}

Analysis analyzed(const std::string& text) { return analyze(traceOf(text)); }

}  // namespace

TEST_CASE("without its fetches no part of a step is compute, and there is no verdict of it") {
  const Analysis whole = analyzed(sixtyUpdates(false));
  CHECK(whole.breakdown.ratio->compute == 1);
  for (const char* part : {"torch_loader.fetches", "torch_loader.settings", "torch_loader", "watch",
                           "torch_save.checkpoints", "tf_data.fetches"}) {
    INFO(part);
    const Analysis a = analyzed(sixtyUpdates(false) + missing(part));
    CHECK(a.breakdown.ratio->compute == 0);
    CHECK(a.breakdown.ratio->other == 1);
    CHECK_FALSE(a.verdict.healthy);
    CHECK(a.verdict.boundBy == "unknown");
    REQUIRE(a.coverage.sources.size() == 1);
    CHECK(a.coverage.sources[0].state == Coverage::kAbsent);
    CHECK(std::find(a.notMeasured.begin(), a.notMeasured.end(),
                    "moved (hook." + std::string(part) + ")") != a.notMeasured.end());
  }
}

TEST_CASE("calls of JAX that this Python does not show are a gap of a run that uses it alone") {
  const auto lacks = [](const std::string& text, const std::string& part) {
    const Analysis a = analyzed(text + missing(part));
    return std::find(a.notMeasured.begin(), a.notMeasured.end(), "moved (hook." + part + ")") !=
           a.notMeasured.end();
  };
  CHECK_FALSE(lacks(sixtyUpdates(true), "jax_steps.calls"));
  CHECK(lacks(sixtyUpdates(true) + "0 framework process=1 name=\"jax\" version=\"0.7\"\n",
              "jax_steps.calls"));
  // It may be what would have said that JAX is used.
  CHECK(lacks(sixtyUpdates(true), "jax_compiles.compiles"));
}

TEST_CASE("samples in a loader whose fetches were not seen wait for what is not known") {
  std::string text =
      sixtyUpdates(false) +
      "1s stack stack=1 file=\"train.py\" line=9 function=\"main\"\n"
      "1s stack stack=2 caller=1 file=\"/usr/lib/python3/dist-packages/torch/utils/data/"
      "dataloader.py\" line=2 function=\"_get\"\n";
  for (int half : {0, 1})
    text += "repeat 60 every 100ms\n" + std::to_string(1000 + 50 * half) +
            "ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\n" +
            std::to_string(1000 + 50 * half) +
            "ms stack_slice thread=1 duration=49ms stack=" + (half == 0 ? "2" : "1") +
            " samples=5\nend\n";
  const Analysis whole = analyzed(text), a = analyzed(text + missing("torch_loader.fetches"));
  CHECK(whole.breakdown.phase->load > 0.4);
  CHECK(a.breakdown.phase->load == 0);
  CHECK(a.breakdown.phase->unknown == whole.breakdown.phase->load);
  CHECK(a.breakdown.phase->compute == whole.breakdown.phase->compute);
  CHECK(a.breakdown.phase->compute > 0.4);
}

TEST_CASE(
    "a thread that is blocked in a step waits for what is not known, where a loader was unseen") {
  std::string text =
      sixtyUpdates(false) + "1s stack stack=1 file=\"train.py\" line=9 function=\"main\"\n";
  for (int half : {0, 1})
    text += "repeat 60 every 100ms\n" + std::to_string(1000 + 50 * half) +
            "ms slice thread=1 duration=50ms " +
            (half == 0 ? "run=0ms samples=5 wait=futex\n" : "run=50ms samples=5 wait=running\n") +
            std::to_string(1000 + 50 * half) +
            "ms stack_slice thread=1 duration=49ms stack=1 samples=5\nend\n";
  const Analysis whole = analyzed(text), a = analyzed(text + missing("other_loaders.grain"));
  CHECK(whole.breakdown.phase->compute == 1);
  CHECK(a.breakdown.phase->unknown > 0.4);
  CHECK(a.breakdown.phase->compute > 0.4);
}

TEST_CASE("a part that does not concern what was seen takes nothing from it") {
  for (const char* part : {"tf_data.fetches", "tf_steps.functions", "jax_steps.calls",
                           "torch_optim.steps", "torch_profiler.turns", "torch_graphs.captures"}) {
    INFO(part);
    const Trace trace = traceOf(sixtyUpdates(true) + missing(part));
    CHECK_FALSE(missingParts(trace, "torch.DataLoader", true).missing);
    CHECK(analyze(trace).breakdown.ratio->compute > 0.9);
  }
  CHECK_FALSE(missingParts(traceOf(missing("torch_loader", "full")), "", false).missing);
}

TEST_CASE("what is missing beside the trainer's own time lowers the confidence alone") {
  const Analysis whole = analyzed(sixtyUpdates(true));
  REQUIRE_FALSE(whole.findings.empty());
  for (const char* part : {"torch_worker.batches", "torch_loader.owners", "torch_loader"}) {
    INFO(part);
    const Analysis a = analyzed(sixtyUpdates(true) + missing(part));
    CHECK(a.breakdown.ratio->compute == whole.breakdown.ratio->compute);
    CHECK(a.findings[0].confidence <= Confidence::kMedium);
  }
  const HookParts steps =
      missingParts(traceOf(missing("torch_optim.steps")), "torch.DataLoader", false);
  CHECK(steps.missing);
  CHECK_FALSE(steps.stepsUnclear());
}
