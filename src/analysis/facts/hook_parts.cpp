// SPDX-License-Identifier: MIT
#include "analysis/facts/hook_parts.h"

#include <algorithm>
#include <span>

namespace stallprof {
namespace {

constexpr std::string_view kHook = "hook.";
// By what they report (src/hook/stallprof_hook).
constexpr std::string_view kOfBatches[] = {"torch_loader", "torch_worker", "torchdata_loader",
                                           "tf_data",      "batches",      "watch",
                                           "other_loaders"};
constexpr std::string_view kOfSteps[] = {"torch_optim", "tf_steps", "tf_keras", "jax_steps",
                                         "boosting"};
constexpr std::string_view kOfCheckpoints = "torch_save";

bool isOneOf(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "torch_loader" of "hook.torch_loader.fetches"; empty: no source of the hook's.
std::string_view adapterOf(std::string_view source) {
  if (!source.starts_with(kHook)) return {};
  source.remove_prefix(kHook.size());
  return source.substr(0, source.find('.'));
}

// The adapter of one framework's loader says nothing of another's.
bool concerns(std::string_view adapter, std::string_view loader) {
  return loader.empty() ||
         adapter.substr(0, adapter.find('_')) == loader.substr(0, loader.find('.'));
}

}  // namespace

HookParts missingParts(const Trace& trace, std::string_view loader, bool updates) {
  HookParts parts;
  for (const auto& row : trace.sources) {
    const std::string_view adapter = adapterOf(trace.text(row.data.source));
    if (row.data.state == Coverage::kFull || adapter.empty()) continue;
    const bool batches = isOneOf(kOfBatches, adapter) && concerns(adapter, loader);
    const bool steps = isOneOf(kOfSteps, adapter) && !updates;
    parts.fetches = parts.fetches || (batches && loader.empty());
    parts.checkpoints = parts.checkpoints || adapter == kOfCheckpoints;
    parts.missing = parts.missing || batches || steps || parts.checkpoints;
  }
  return parts;
}

HookParts missingParts(const Trace& trace, const TrainerFacts& t) {
  const bool seen = t.loader >= 0 && static_cast<std::size_t>(t.loader) < trace.loaders.size();
  return missingParts(
      trace, seen ? trace.text(trace.loaders[static_cast<std::size_t>(t.loader)].data.kind) : "",
      t.optimizerSteps > 0);
}

}  // namespace stallprof
