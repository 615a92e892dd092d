// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "recording/activity_process.h"

namespace stallprof {

// The source "gpu", as all agents together have it; told when it changes.
class ActivitySource {
 public:
  void tell(const std::vector<const ActivityProcess*>& processes, Nanos now, EventOut& out);

 private:
  std::optional<ActivityProcess::Report> told_;
};

}  // namespace stallprof
