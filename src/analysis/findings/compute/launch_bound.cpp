// SPDX-License-Identifier: MIT
// compute.launch_bound: the device waits for the host to launch its next kernel.
#include <algorithm>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/framework.h"
#include "analysis/findings/torch_version.h"

namespace stallprof {
namespace {

const AdviceDefinition kCompileStep{
    "compile_step", {}, [](const AdviceContext& c) {
      static constexpr PerFramework kOthers = {
          {},
          "tf.function(jit_compile=True) on the step (in Keras compile(jit_compile=True, "
          "steps_per_execution=N)) fuses kernels and launches many at once.",
          "put the whole step, with update and metrics, into one jax.jit, and several steps into "
          "one call (jax.lax.scan).",
          "record the step once as a CUDA graph (cudaStreamBeginCapture) and replay it with one "
          "launch; merge small kernels."};
      const std::string_view other = kOthers.of(frameworkOf(c));
      if (!other.empty()) return "Launch less: " + std::string(other);
      const Has has = hasSince(c, kCompileSince);
      return (has == Has::kNo ? "Launch less: replay the step as a CUDA graph"
                              : "Launch less: torch.compile(model, mode=\"reduce-overhead\")" +
                                    ifNewEnough(has, kCompileSince) +
                                    " fuses kernels and replays them as a CUDA graph") +
             "; without it, a fused or foreach optimizer, set_to_none gradients and fewer small "
             "operators help.";
    }};

Maybe<Finding> launchBound(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  const double gap = d.idleLaunch;
  if (!d.timeline || gap <= kNotable) return {};
  // A trainer without a core launches late for another reason.
  if (e.starved > gap / 2) return {};
  Finding f = deviceFinding(e, gap, "The device waits for the host to launch its next kernel");
  // Tracing makes each launch a little dearer, so a part of what is seen is its own doing.
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "the device is idle {} of the time in short gaps, while the training thread works",
              {ratioWord(gap)});
  addBusyEvidence(f, e);
  addKernelsEvidence(f, e);
  const double core = e.trainer.cpu > Nanos{} ? seconds(e.trainer.cpu) / e.window : 0;
  if (core > 0) addEvidence(f, "the training thread runs {} of the time", {ratioWord(core)});
  addTracedEvidence(f, e);
  return withAdvice(
      f, {adviceOf(kCompileStep, {"code", "model", "eager", compilerOf(e, "CUDA graph")},
                   predictSaved(e, {.own = gap}, {0.6, 0.1},
                                "six tenths of this idle time is removed, at most all of it"),
                   "compilation takes minutes at the start, and again for each new shape; graphs "
                   "need fixed shapes and addresses"),
          // The same launches serve twice the samples.
          largerBatch(e, kLargerBatch, {.own = gap}, {0.4, 0.1},
                      "four tenths of this idle time is removed, at most all of it")});
}

}  // namespace

extern const FindingDefinition kLaunchBound(
    "compute.launch_bound", launchBound, offers(kCompileStep, kLargerBatch),
    {.cause = R"(The device waits for the host to launch its next kernel.)",
     .rule =
         R"(for over 5 % of the traced time the device is idle in gaps under 1 ms while the training
  thread works. The thread then does not wait for data, a copy or the device. Does not fire if that
  thread has no core for half of that time.)",
     .fixes =
         R"(- torch.compile(mode="reduce-overhead") or CUDA graphs: one launch for many kernels.
- Fused or foreach optimizers, fewer small operators.
- Larger batches, where the device's memory has room (the advice says how much).)",
     .wrong = R"(tracing makes each launch slightly slower; the report's sources state this cost.
  If the host has too few cores, see compute.contention first. Gaps of 1 ms and more are the host's
  own work, not launching: see compute.host_work.)"});

}  // namespace stallprof
