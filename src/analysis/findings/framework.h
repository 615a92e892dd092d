// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "analysis/findings/definition.h"
#include "analysis/findings/evidence.h"

// Advice speaks of what the program is made of.
namespace stallprof {

enum class Framework {
  kTorch,
  kTensorFlow,
  kJax,
  kUnknown,  // Python without one that is known; PyTorch is likely, and named with a condition
  kOther,    // Python with another, as XGBoost: no advice is specific to it
  kNone,     // no Python was seen
};

// The one of the trainer's run: its first, as the report names it.
[[nodiscard]] Framework frameworkOf(const Evidence& e);
[[nodiscard]] Framework frameworkOf(const AdviceContext& c);

inline bool mayBeTorch(Framework framework) {
  return framework == Framework::kTorch || framework == Framework::kUnknown;
}

// What each of them has for something.
struct PerFramework {
  std::string_view torch, tensorflow, jax, none;
  [[nodiscard]] std::string_view of(Framework framework) const {
    switch (framework) {
      case Framework::kTensorFlow:
        return tensorflow;
      case Framework::kJax:
        return jax;
      case Framework::kOther:
      case Framework::kNone:
        return none;
      default:
        return torch;
    }
  }
};

}  // namespace stallprof
