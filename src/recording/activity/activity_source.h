// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "recording/activity/activity_process.h"

namespace stallprof {

// The source "gpu", as all agents together have it; reported when it changes.
class ActivitySource {
 public:
  void report(const std::vector<const ActivityProcess*>& processes, Nanos now, EventOut& out);

 private:
  std::optional<ActivityProcess::Report> reported_;
};

}  // namespace stallprof
