// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/steps/roles.h"
#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

// All samples of stacks, for the tools that draw them.
enum class StackGroup : std::uint8_t { kNone, kPhase, kRole, kProcess };

struct WeighedStack {
  std::string group;                // "transform", "worker", "102 pt_data_worker"; "" for kNone
  std::vector<std::string> frames;  // outermost first, as nameOf(SourceLine) without lines
  Nanos time{};  // that its samples stand for: rates differ by thread and over a run
};
// Where `blocked` is false, samples that found a thread neither running nor runnable are left out;
// then each stack ends in the native functions that were sampled under it. What threads run without
// a Python frame is written by their native samples. Sorted by group, then by frames.
[[nodiscard]] std::vector<WeighedStack> weighStacks(const Trace& trace, const Roles& roles,
                                                    const StackLabels& labels, StackGroup by,
                                                    bool blocked);

// Brendan Gregg's folded stacks, in microseconds: "transform;train.py:main;PIL/Image.py:resize 42"
// a line.
[[nodiscard]] std::string foldedStacks(const std::vector<WeighedStack>& stacks);

// https://www.speedscope.app/file-format-schema.json, one sampled profile a group.
[[nodiscard]] std::string speedscopeJson(const std::vector<WeighedStack>& stacks,
                                         const std::string& name);

}  // namespace stallprof
