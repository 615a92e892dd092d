// SPDX-License-Identifier: MIT
#include "analysis/findings/loader_setting.h"

#include <utility>

namespace stallprof {
namespace {

// Libraries that make the loader and name its settings themselves: Hugging Face's.
constexpr std::pair<std::string_view, std::string_view> kHolders[] = {
    {"transformers", "TrainingArguments"},
    {"sentence_transformers", "SentenceTransformerTrainingArguments"},
    {"trl", "the trainer's config"}};

constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
    {"num_workers", "dataloader_num_workers"},
    {"prefetch_factor", "dataloader_prefetch_factor"},
    {"persistent_workers", "dataloader_persistent_workers"},
    {"pin_memory", "dataloader_pin_memory"},
    {"batch_size", "per_device_train_batch_size"}};

}  // namespace

std::string_view settingsHolder(const AdviceContext& c) {
  if (c.loader)
    for (const auto& [package, holder] : kHolders)
      if (package == c.loader->package) return holder;
  return {};
}

std::string settingOf(const AdviceContext& c, const std::string& name) {
  if (!settingsHolder(c).empty())
    for (const auto& [setting, option] : kOptions)
      if (setting == name) return std::string(option);
  return name;
}

std::string atSetting(const AdviceContext& c) {
  const SourceLine& line = c.loader ? c.loader->where : c.finding.where;
  const std::string_view holder = settingsHolder(c);
  if (!holder.empty()) return " in " + std::string(holder);
  if (!c.loader || c.loader->package.empty()) return atLine(line);
  const std::string called = line.file.empty() ? "" : " (called" + atLine(line) + ")";
  return " where " + escapeTerminal(c.loader->package, 64) + " takes it" + called;
}

std::string atLine(const SourceLine& line) {
  if (line.file.empty()) return {};
  return " at " + escapeTerminal(line.file.raw(), 200) + ":" + std::to_string(line.line);
}

}  // namespace stallprof
