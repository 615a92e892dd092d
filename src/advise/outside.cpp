// SPDX-License-Identifier: MIT
#include "advise/outside.h"

#include <algorithm>
#include <array>

#include "event/hook_events.h"

namespace stallprof {
namespace {

constexpr std::array<std::string_view, 5> kLoaderArguments = {
    "num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "in_order"};

// More calls at once, and batches made ahead, in the program's pipelines of tf.data.
std::vector<std::string> pipelineOptions(const std::vector<LoaderInfo>& loaders) {
  bool calls = false, ahead = false;
  for (const LoaderInfo& loader : loaders) {
    const std::string stages = "." + loader.pipeline + ".";
    calls = calls || stages.find(".Map.") != std::string::npos ||
            stages.find(".Interleave.") != std::string::npos;
    ahead = ahead || (!loader.pipeline.empty() && stages.find(".Prefetch(") == std::string::npos);
  }
  std::vector<std::string> options;
  if (calls) options = {"--set", "num_parallel_calls=auto"};
  if (ahead) options.insert(options.end(), {"--set", "prefetch=auto"});
  return options;
}

// What the change begins with is what that loader was made with; true of one that says nothing.
bool hadSetting(const LoaderInfo& loader, const Advice::Change& change) {
  if (change.kind != "loader_arg" || change.from.empty()) return true;
  const auto number = [&](const auto& value) { return change.from == std::to_string(value); };
  const auto flag = [&](bool value) { return change.from == (value ? "True" : "False"); };
  if (change.name == "num_workers") return number(loader.workers);
  if (change.name == "batch_size") return number(loader.batchSize.value_or(0));
  if (change.name == "prefetch_factor") return number(loader.prefetch.value_or(2));
  if (change.name == "persistent_workers") return flag(loader.persistent);
  if (change.name == "pin_memory") return flag(loader.pinMemory);
  return change.name != "in_order" || flag(loader.inOrder);
}

}  // namespace

bool takesSettings(const LoaderInfo& loader) {
  return loader.kind == kTorchLoader || loader.kind == kStatefulLoader;
}

const LoaderInfo* loaderAt(const Analysis& analysis, const SourceLine& where,
                           const Advice::Change& change) {
  const auto& loaders = analysis.run.loaders;
  const LoaderInfo* first = nullptr;
  for (const LoaderInfo& loader : loaders) {
    if (where.file.empty() || loader.where.file != where.file || loader.where.line != where.line)
      continue;
    if (hadSetting(loader, change)) return &loader;
    if (first == nullptr) first = &loader;
  }
  return first != nullptr || loaders.size() != 1 ? first : &loaders[0];
}

std::vector<std::string> loaderPlace(const Analysis& analysis, const LoaderInfo& loader) {
  if (loader.where.file.empty() || analysis.run.loaders.size() < 2) return {};
  return {"--loader", loader.where.file.raw() + ":" + std::to_string(loader.where.line)};
}

std::vector<std::string> settingOptions(const Analysis& analysis, const LoaderInfo& loader,
                                        const std::vector<Advice::Change>& changes) {
  std::vector<std::string> options;
  for (const Advice::Change& change : changes) {
    options.insert(options.end(), {"--set", change.name + "=" + change.to});
    // As the advice has it (advise/advise.cpp): workers that end with each epoch would cost a part.
    if (change.name == "num_workers" && loader.workers == 0 && change.to != "0")
      options.insert(options.end(), {"--set", "persistent_workers=true"});
  }
  if (options.empty()) return options;
  const std::vector<std::string> place = loaderPlace(analysis, loader);
  options.insert(options.end(), place.begin(), place.end());
  return options;
}

std::vector<std::string> outsideOptions(const Analysis& analysis, const Finding& finding,
                                        const Advice& advice) {
  const Advice::Change& change = advice.change;
  if (change.to.empty()) return {};
  if (change.kind == "code" && change.name == "producers")
    return pipelineOptions(analysis.run.loaders);
  if (change.kind == "code" && change.name == "fused") return {"--set", "fused=true"};
  // Where the program sets the number itself, --threads would change that, too.
  const bool ofThreads = change.name == "OMP_NUM_THREADS" && !analysis.run.ownThreads;
  if (ofThreads || change.name == SettingChanged::kThreads) return {"--threads", change.to};
  if (change.kind == "env" && change.name.find('/') == std::string::npos)
    return {"--env", change.name + "=" + change.to};
  const bool known = std::find(kLoaderArguments.begin(), kLoaderArguments.end(), change.name) !=
                     kLoaderArguments.end();
  const LoaderInfo* loader = loaderAt(analysis, finding.where, change);
  if (change.kind != "loader_arg" || !known || loader == nullptr) return {};
  if (!takesSettings(*loader)) return {};
  return settingOptions(analysis, *loader, {change});
}

}  // namespace stallprof
