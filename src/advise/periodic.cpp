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
  return {};
}

}  // namespace stallprof
