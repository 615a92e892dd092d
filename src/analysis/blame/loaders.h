// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/blame/blame.h"
#include "analysis/facts/facts.h"

namespace stallprof {

// The loaders of a part of a trainer's run: how many batches each gave, and what those took that
// are fetched beside the steps' own.
[[nodiscard]] std::map<std::uint32_t, std::uint64_t> batchesOf(const TrainerTimeline& timeline,
                                                               const Interval& window);
// Index in Trace::loaders of the loader that gave most of the steps' batches; -1: none.
[[nodiscard]] int loaderIndex(const Trace& trace, const TrainerTimeline& timeline);
// Loaders whose batches train and begin no step, each of PyTorch's kind; by key.
using ZippedKey = std::tuple<StringId, std::uint32_t, int>;  // file, line, workers
[[nodiscard]] ZippedKey zippedKey(const Trace& trace, const ZippedLoader& zipped);
void addZipped(ZippedLoader& to, const ZippedLoader& more);
[[nodiscard]] std::vector<ZippedLoader> findZipped(const Trace& trace,
                                                   const TrainerTimeline& timeline,
                                                   const Interval& window,
                                                   const Producers& producers);

}  // namespace stallprof
