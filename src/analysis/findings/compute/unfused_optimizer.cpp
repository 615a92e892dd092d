// SPDX-License-Identifier: MIT
// compute.unfused_optimizer: on a CPU, PyTorch updates each parameter by a dozen operators, each a
// pass over its memory, unless asked to do all in one.
#include <algorithm>
#include <array>

#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"
#include "analysis/findings/torch_version.h"

namespace stallprof {
namespace {

constexpr double kMuchUpdating = 0.08;  // of the training thread's time

// What is left of an update's time, measured with PyTorch 2.15 on one and on two cores, for
// parameters of 16 to 4 million elements: Adam, AdamW and Adagrad 0.08 to 0.36, SGD 0.18 to 0.67.
struct Left {
  std::string_view loop;  // the end of the functions' names
  double likely, maximum, minimum;
};
constexpr std::array<Left, 4> kLeft = {{{"_tensor_adam", 0.25, 0.4, 0.08},
                                        {"_tensor_adamw", 0.25, 0.4, 0.08},
                                        {"_tensor_adagrad", 0.3, 0.4, 0.2},
                                        {"_tensor_sgd", 0.45, 0.7, 0.18}}};

// Of the loop over parameters ("_single_tensor_adam"), or the same by lists of tensors
// ("_multi_tensor_adam"), which on a CPU are as many passes.
const Left* leftOf(const Trace& trace, const FunctionSamples& f) {
  if (f.side != Side::kTrainer || f.rule != "torch.optimizer" || f.hot.none()) return nullptr;
  const std::string_view name = trace.text(trace.stack(f.hot).function);
  if (!name.starts_with("_single") && !name.starts_with("_multi")) return nullptr;
  const auto found = std::find_if(kLeft.begin(), kLeft.end(),
                                  [&](const Left& left) { return name.ends_with(left.loop); });
  return found == kLeft.end() ? nullptr : &*found;
}

const AdviceDefinition kFusedOptimizer{
    "fused_optimizer", {}, [](const AdviceContext& c) {
      const bool transformers = c.loader && c.loader->package == "transformers";
      return "Create the optimizer with fused=True" +
             std::string(transformers ? " (TrainingArguments: optim=\"adamw_torch_fused\")" : "") +
             ": one pass over each parameter instead of one per operator." +
             (c.finding.where.known() ? " It is called" + atLine(c.finding.where) + "." : "");
    }};

// What other processes of the job use slows whatever the step does.
bool otherProcessesTakeCores(const Evidence& e) {
  constexpr double kMuch = 0.25;  // of the usable cores
  const double own = e.window > 0 ? seconds(e.trainer.processCpu) / e.window / e.run.cores : 0;
  return e.contended && e.run.jobCpuRatio.value_or(0) - own > kMuch;
}

Maybe<Finding> unfusedOptimizer(const Evidence& e) {
  if (e.device.seen || hasSince(e, kFusedOnCpuSince) != Has::kYes) return {};
  const StackFacts& s = e.trainer.stacks;
  const FunctionSamples* hottest = nullptr;
  double time = 0;
  for (const FunctionSamples& f : s.functions) {  // most samples first
    if (!leftOf(e.trace, f)) continue;
    if (!hottest) hottest = &f;
    // Each operator takes the interpreter's lock again. Where other threads hold it, waiting for it
    // is their doing, and their work does not get less by fewer operators.
    if (f.samples > 0) time += f.seconds * (1 - f.lockWaits / f.samples);
  }
  if (!hottest || s.trainerTime <= 0) return {};
  const Share share = shareOf(time / s.trainerTime * s.trainer.samples, s.trainer);
  if (share.low <= kMuchUpdating) return {};
  Finding f =
      overheadFinding(e, share.value, "The optimizer updates parameters one operator at a time");
  if (share.high - share.value > share.value / 2) f.confidence = lowered(f.confidence);
  if (otherProcessesTakeCores(e)) f.confidence = Confidence::kLow;  // its samples may be waiting
  addEvidence(f, "{} of the time is in parameter updates by separate operators",
              {ratioWord(share.value)});
  addIntervalEvidence(f, share, s.trainer.samples);
  point(f, {lineOf(e.trace, hottest->hot), lineOf(e.trace, hottest->user), hottest->rule, 0, 0});
  const Left& left = *leftOf(e.trace, *hottest);
  return withAdvice(
      f,
      {adviceOf(kFusedOptimizer, {"code", "fused", "False", "True"},
                assuming("a fused update takes " + ratioWord(left.likely).text +
                             " of the time, at best " + ratioWord(left.minimum).text,
                         withoutOverhead(e, share.value, left.likely, left.maximum, left.minimum)),
                "rounding differs in the last digits")});
}

}  // namespace

extern const FindingDefinition kUnfusedOptimizer(
    "compute.unfused_optimizer", unfusedOptimizer, offers(kFusedOptimizer), {},
    {.cause =
         R"(On a CPU, PyTorch's optimizers update each parameter with a dozen operators, unless they are
  created with fused=True. Each operator is a separate pass over memory with its own result.)",
     .rule =
         R"(PyTorch is 2.4 or newer, no device was used, and over 8 % of the samples of the training
  thread (at the low end of a 90 % interval) are in the loops of Adam, AdamW, Adagrad or SGD:
  _single_tensor_* or _multi_tensor_*. Waits for the GIL do not count.)",
     .fixes = R"(- torch.optim.Adam(..., fused=True); transformers: optim="adamw_torch_fused".)",
     .wrong = R"(gradients are sparse, or the optimizer is created with foreach=True or
  differentiable=True. PyTorch then refuses fused=True.)"});

}  // namespace stallprof
