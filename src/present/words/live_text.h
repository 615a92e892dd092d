// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/analysis.h"

// A run that still goes on, as `stallprof top` shows it: a screenful, or a line. Text is escaped
// and fits the width; lines have no line feed.
namespace stallprof {

struct LiveView {
  std::string recording;         // its path
  Nanos ran{};                   // since the recording began
  Nanos span{};                  // what the analysis is of: the time before the latest event
  Nanos silent{};                // since the latest event
  std::uint64_t batches = 0;     // since the recording began
  std::int64_t bytes = 0;        // of the recording
  double recorderCpuRatio = -1;  // of one core, over the span; -1: not known
  double viewCpuRatio = -1;      // what this view itself costs, of one core
  bool ended = false;
};

[[nodiscard]] std::vector<std::string> liveScreen(const Analysis& analysis, const LiveView& view,
                                                  int width);
[[nodiscard]] std::string liveLine(const Analysis& analysis, const LiveView& view);

}  // namespace stallprof
