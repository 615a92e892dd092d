// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "advise/catalogue.h"

namespace stallprof {
namespace {

const char* python(bool b) { return b ? "True" : "False"; }

// Libraries that make the loader and say its settings in words of their own: Hugging Face's.
struct Holder {
  std::string_view package, name;
};
constexpr Holder kHolders[] = {{"transformers", "TrainingArguments"},
                               {"sentence_transformers", "SentenceTransformerTrainingArguments"},
                               {"trl", "the trainer's config"}};

struct Option {
  std::string_view setting, name;
};
constexpr Option kOptions[] = {{"num_workers", "dataloader_num_workers"},
                               {"prefetch_factor", "dataloader_prefetch_factor"},
                               {"persistent_workers", "dataloader_persistent_workers"},
                               {"pin_memory", "dataloader_pin_memory"},
                               {"batch_size", "per_device_train_batch_size"}};

const Holder* holderOf(const AdviceContext& c) {
  const std::string library = c.loader ? c.loader->package : "";
  const auto* known = std::find_if(std::begin(kHolders), std::end(kHolders),
                                   [&](const Holder& h) { return h.package == library; });
  return known == std::end(kHolders) ? nullptr : known;
}

// The library's own call, where its name is one and it has the option.
std::string diffOfHolder(const AdviceContext& c, const Holder& holder) {
  const auto& change = c.advice.change;
  const std::string option = settingOf(c, change.name), call = std::string(holder.name) + "(..., ";
  if (holder.name.find(' ') != std::string_view::npos || option == change.name) return {};
  const bool first = change.name == "num_workers" && change.from == "0";
  return "- " + call + option + "=" + change.from + ")\n+ " + call + option + "=" + change.to +
         (first ? ", " + settingOf(c, "persistent_workers") + "=True)" : ")");
}

// The call as its settings were seen: those that matter here, and "..." for the rest.
std::string call(const LoaderInfo& l, const std::string& change, const std::string& value) {
  std::string args = "...";
  if (change == "batch_size")
    args += ", batch_size=" + value;
  else if (l.batchSize && *l.batchSize > 0)
    args += ", batch_size=" + std::to_string(*l.batchSize);
  args += ", num_workers=" + (change == "num_workers" ? value : std::to_string(l.workers));
  const bool firstWorkers =
      change == "num_workers" && l.workers == 0 && !value.empty() && value != "0";
  if (l.persistent || firstWorkers) args += ", persistent_workers=True";
  if (change == "prefetch_factor") args += ", prefetch_factor=" + value;
  if (change == "pin_memory") args += ", pin_memory=" + value;
  if (change == "in_order") args += ", in_order=" + value;
  if (change == "persistent_workers" && !l.persistent) args += ", persistent_workers=" + value;
  return "DataLoader(" + args + ")";
}

std::string before(const LoaderInfo& l, const std::string& change) {
  if (change == "prefetch_factor")
    return call(l, change, l.prefetch ? std::to_string(*l.prefetch) : "2");
  if (change == "in_order") return call(l, change, python(l.inOrder));
  if (change == "pin_memory") return call(l, change, python(l.pinMemory));
  return call(l, "", "");
}

}  // namespace

std::string diffOf(const AdviceContext& c) {
  const auto& change = c.advice.change;
  if (change.kind == "env" && change.name.find('/') == std::string::npos && !change.to.empty())
    return "+ export " + change.name + "=" + change.to;
  if (change.kind != "loader_arg" || !c.loader || change.from.empty()) return {};
  if (const Holder* holder = holderOf(c)) return diffOfHolder(c, *holder);
  if (!c.loader->package.empty()) return {};  // no such call is at that line
  return "- " + before(*c.loader, change.name) + "\n+ " + call(*c.loader, change.name, change.to);
}

std::string atLine(const SourceLine& line) {
  if (line.file.empty()) return {};
  return " at " + escapeTerminal(line.file.raw(), 200) + ":" + std::to_string(line.line);
}

std::string settingOf(const AdviceContext& c, const std::string& name) {
  if (holderOf(c))
    for (const Option& option : kOptions)
      if (option.setting == name) return std::string(option.name);
  return name;
}

std::string atSetting(const AdviceContext& c) {
  const SourceLine& line = c.loader ? c.loader->where : c.finding.where;
  if (const Holder* holder = holderOf(c)) return " in " + std::string(holder->name);
  if (!c.loader || c.loader->package.empty()) return atLine(line);
  const std::string called = line.file.empty() ? "" : " (called" + atLine(line) + ")";
  return " where " + escapeTerminal(c.loader->package, 64) + " takes it" + called;
}

std::string verifyCommandOf(const AdviceContext& c, const std::string& recording) {
  if (c.analysis.run.command.empty()) return {};
  std::string line;
  const auto& change = c.advice.change;
  if (change.kind == "env" && change.name.find('/') == std::string::npos && !change.to.empty())
    line = change.name + "=" + quoteShell(change.to) + " ";
  line += "stallprof run -o after.stallprof --";
  for (const Untrusted& word : c.analysis.run.command) line += " " + quoteShell(word.raw());
  if (!recording.empty())
    line += " && stallprof compare " + quoteShell(recording) + " -- after.stallprof";
  return line;
}

}  // namespace stallprof
