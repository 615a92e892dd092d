// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "event/vocabulary.h"

namespace stallprof {

// What blocked time of a thread means, and the rule that says so.
struct WaitRule {
  Phase phase = Phase::kUnknown;
  std::string_view rule;
};

// For a thread that makes a batch (a worker in its fetch, or the trainer with no workers):
// kExtract, kTransform, or kUnknown where what it was blocked in says nothing about the work.
[[nodiscard]] WaitRule producerWait(Wait wait);

// For a trainer outside its loader: kExtract where it reads, kCompute where its own pool or its
// device works meanwhile, kPeriodic where it writes, kUnknown as above.
[[nodiscard]] WaitRule trainerWait(Wait wait);

}  // namespace stallprof
