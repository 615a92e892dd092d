// SPDX-License-Identifier: MIT
#include "advise/catalogue.h"

namespace stallprof {

std::string computeText(const AdviceContext& c) {
  const std::string& id = c.advice.id;
  const auto& change = c.advice.change;
  if (id == "faster_compute" && !change.to.empty())
    return "No wait is to be taken off: what takes the time is the thread's own work, in the "
           "functions "
           "named above. A faster device, lower precision, torch.compile or a smaller model; and "
           "where those functions make data, let a thread or a process make it ahead.";
  if (id == "faster_compute" && c.analysis.run.loaders.empty())
    return "Look first whether the step waits for data of its own making: no loader was seen, so "
           "such a wait is inside the step.";
  if (id == "faster_compute")
    return "Leave the loader alone: no change of it is predicted to gain 5 %. What is left is the "
           "step itself: a faster device, lower precision, torch.compile, or a smaller model.";
  if (id == "faster_device_work")
    return "Leave the loader alone: no change of it is predicted to gain 5 %, and the device is "
           "busy. What is left is its own work: lower precision (bf16, TF32), torch.compile, "
           "channels-last for convolutions, a smaller model, or a faster device.";
  if (id == "compile_step")
    return "Launch less: torch.compile(model, mode=\"reduce-overhead\") fuses kernels and replays "
           "them as a CUDA graph; a fused or foreach optimizer, set_to_none gradients and fewer "
           "small operators help without it.";
  if (id == "fuse_kernels")
    return "Give the device larger kernels: torch.compile fuses small ones, fused optimizers and "
           "attention replace many, and padding to multiples of 8 or 16 fills tensor cores.";
  if (id == "larger_batch")
    return (change.from.empty() ? std::string("Make the batch twice as large")
                                : "Raise " + settingOf(c, "batch_size") + " from " + change.from +
                                      " to " + change.to + (c.loader ? atSetting(c) : "")) +
           ": the same number of kernels then does twice the work, and the device's memory has "
           "room for it.";
  if (id == "fewer_syncs")
    return "Do not read values from the device in each step" + atLine(c.finding.where) +
           ": keep loss and metrics there (detach()), and call .item(), .cpu(), print or "
           "torch.cuda.synchronize() every N steps; use masks instead of nonzero() and boolean "
           "indexing.";
  if (id == "fewer_workers")
    return "Lower " + settingOf(c, "num_workers") + " from " + change.from + " to " + change.to +
           atSetting(c) +
           ": the training step gets its cores back, and the data still comes in time.";
  if (id == "less_python")
    return "Take " + (change.name.empty() ? std::string("the loop's own Python") : change.name) +
           " out of the step: work on whole tensors instead of element by element, keep metrics "
           "on the device and read them every N steps, or torch.compile the step.";
  return {};
}

}  // namespace stallprof
