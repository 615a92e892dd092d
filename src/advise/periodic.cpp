// SPDX-License-Identifier: MIT
#include "advise/catalogue.h"

namespace stallprof {

std::string periodicText(const AdviceContext& c) {
  const std::string& id = c.advice.id;
  if (id == "background_checkpoints")
    return "Save in the background" + atLine(c.finding.where) +
           ": copy the state to CPU memory, then write it from a thread "
           "(torch.distributed.checkpoint.async_save from PyTorch 2.3).";
  if (id == "rarer_checkpoints")
    return "Save half as often" + atLine(c.finding.where) +
           ": the time per step halves, and so does the protection.";
  if (id == "rarer_logging")
    return "Log every 10 steps instead of each" + atLine(c.finding.where) +
           ", collect values as tensors until then, and write from a thread or a queue.";
  if (id == "gc_freeze")
    return "Call gc.collect() and gc.freeze() once before the loop, so that what setup made is not "
           "walked again; with many ranks, gc.disable() and gc.collect() every N steps on all at "
           "once.";
  if (id == "rarer_evaluation")
    return "Evaluate half as often, or on a fixed part of the data, or in a job of its own from "
           "the checkpoints.";
  return {};
}

}  // namespace stallprof
