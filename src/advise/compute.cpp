// SPDX-License-Identifier: MIT
#include "advise/catalogue.h"

namespace stallprof {

std::string computeText(const AdviceContext& c) {
  const std::string& id = c.advice.id;
  const auto& change = c.advice.change;
  if (id == "faster_compute" && c.analysis.run.loaders.empty())
    return "Look first whether the step waits for data of its own making: no loader was seen, so "
           "such a wait is inside the step.";
  if (id == "faster_compute")
    return "Leave the loader alone: no change of it is predicted to gain 5 %. What is left is the "
           "step itself: a faster device, lower precision, torch.compile, or a smaller model.";
  if (id == "fewer_workers")
    return "Lower num_workers from " + change.from + " to " + change.to + atLine(c.finding.where) +
           ": the training step gets its cores back, and the data still comes in time.";
  if (id == "less_python")
    return "Take " + (change.name.empty() ? std::string("the loop's own Python") : change.name) +
           " out of the step: work on whole tensors instead of element by element, keep metrics "
           "on the device and read them every N steps, or torch.compile the step.";
  return {};
}

}  // namespace stallprof
