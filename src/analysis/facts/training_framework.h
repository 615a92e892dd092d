// SPDX-License-Identifier: MIT
#pragma once

#include "trace/trace.h"

namespace stallprof {

// The framework that updates the model, by the numbers of its optimizers; without an update the
// first that was imported. Null: none was.
[[nodiscard]] const FrameworkSeen* trainingFramework(const Trace& trace);

}  // namespace stallprof
