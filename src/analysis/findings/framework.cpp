// SPDX-License-Identifier: MIT
#include "analysis/findings/framework.h"

#include "analysis/facts/training_framework.h"

namespace stallprof {
namespace {

// Of "torch 2.6.0", or of the name alone.
Framework named(std::string_view name, bool python) {
  if (name.starts_with("torch")) return Framework::kTorch;
  if (name.starts_with("tensorflow")) return Framework::kTensorFlow;
  if (name.starts_with("jax")) return Framework::kJax;
  if (!name.empty()) return Framework::kOther;
  return python ? Framework::kUnknown : Framework::kNone;
}

}  // namespace

Framework frameworkOf(const Evidence& e) {
  const Trace& trace = e.trace;
  if (const FrameworkSeen* seen = trainingFramework(trace))
    return named(trace.text(seen->name), true);
  return named("", !trace.stacks.empty() || !trace.loaders.empty());
}

Framework frameworkOf(const AdviceContext& c) {
  return named(c.analysis.run.framework.value_or(""), !c.withoutPython());
}

}  // namespace stallprof
