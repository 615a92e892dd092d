// SPDX-License-Identifier: MIT
#include "analysis/facts/training_framework.h"

#include <algorithm>
#include <string_view>

namespace stallprof {

const FrameworkSeen* trainingFramework(const Trace& trace) {
  if (trace.frameworks.empty()) return nullptr;
  // As the hook numbers them (jax_calls.py, tf_steps.py); PyTorch's and Keras' are below.
  constexpr std::uint32_t kOfTensorFlow = 1u << 16, kOfJax = 1u << 17;
  const std::uint32_t number =
      trace.optimizerSteps.empty() ? 0 : trace.optimizerSteps.front().data.optimizer;
  const std::string_view wanted = number > kOfJax          ? "jax"
                                  : number > kOfTensorFlow ? "tensorflow"
                                                           : "";
  const auto found =
      std::find_if(trace.frameworks.begin(), trace.frameworks.end(),
                   [&](const auto& row) { return trace.text(row.data.name) == wanted; });
  return found == trace.frameworks.end() ? &trace.frameworks.front().data : &found->data;
}

}  // namespace stallprof
