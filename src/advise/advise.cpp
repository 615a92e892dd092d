// SPDX-License-Identifier: MIT
#include "advise/advise.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "advise/outside.h"
#include "analysis/describe/describe.h"
#include "analysis/findings/definition.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/verdict/registry.h"
#include "base/secrets.h"
#include "base/text.h"

namespace stallprof {
namespace {

const char* python(bool b) { return b ? "True" : "False"; }

// The library's own call, where its name is one and it has the option.
std::string diffOfHolder(const AdviceContext& c, std::string_view holder) {
  const auto& change = c.advice.change;
  const std::string option = settingOf(c, change.name), call = std::string(holder) + "(..., ";
  if (holder.find(' ') != std::string_view::npos || option == change.name) return {};
  const bool first = change.name == "num_workers" && change.from == "0";
  return "- " + call + option + "=" + change.from + ")\n+ " + call + option + "=" + change.to +
         (first ? ", " + settingOf(c, "persistent_workers") + "=True)" : ")");
}

// The call as its settings were seen: those that matter here, and "..." for the rest.
std::string call(const LoaderInfo& l, const std::string& change, const std::string& value) {
  std::string args = "...";
  if (change == "batch_size")
    args += ", batch_size=" + value;
  else if (l.batchSize && *l.batchSize > 0 && l.batching != "none" && l.batching != "batch_sampler")
    args += ", batch_size=" + std::to_string(*l.batchSize);
  const std::string workers = change == "num_workers" ? value : std::to_string(l.workers);
  args += ", num_workers=" + workers;
  const bool firstWorkers = change == "num_workers" && l.workers == 0 && !value.empty();
  // Without workers PyTorch refuses it.
  if ((l.persistent || firstWorkers) && workers != "0") args += ", persistent_workers=True";
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

// "- old" and "+ new" lines from the settings that were seen; "" where code is not ours to guess.
std::string diffOf(const AdviceContext& c) {
  const auto& change = c.advice.change;
  if (change.kind == "env" && change.name.find('/') == std::string::npos && !change.to.empty())
    return "+ export " + change.name + "=" + change.to +
           // OpenCV's own threads, which follow no other; `--threads` sets both.
           (change.name == "OMP_NUM_THREADS" ? " OPENCV_FOR_THREADS_NUM=" + change.to : "");
  if (change.name == SettingChanged::kThreads)
    return "- " + change.name + "(" + change.from + ")\n+ " + change.name + "(" + change.to + ")";
  if (change.kind != "loader_arg" || !c.loader || change.from.empty()) return {};
  if (const std::string_view holder = settingsHolder(c); !holder.empty())
    return diffOfHolder(c, holder);
  if (!c.loader->package.empty()) return {};  // no such call is at that line
  // PyTorch refuses it beside a batch_sampler.
  if (change.name == "batch_size" && c.loader->batching == "batch_sampler") return {};
  return "- " + before(*c.loader, change.name) + "\n+ " + call(*c.loader, change.name, change.to);
}

// What changed the recorded run from outside, as words before "--"; null where it holds a secret.
std::optional<std::string> overridesOf(const RunInfo& run) {
  std::string words;
  for (const Untrusted& word : run.overrides) {
    if (hasMask(word.raw())) return {};
    words += " " + quoteShell(word.raw());
  }
  return words;
}

// A shell line that tries the change by `stallprof verify`, where `run` can make it from outside;
// else one that runs the changed program and compares it with this recording. Words are quoted.
std::string verifyCommandOf(const AdviceContext& c, const std::string& recording) {
  const RunInfo& run = c.analysis.run;
  if (run.command.empty() || run.imported) return {};
  if (askedFor(run, "--replay") || askedFor(run, "--drain")) return {};  // a ceiling of it
  std::string command;
  const bool tried = decided(c.advice) || failedWhenTried(c.advice);
  bool masked = false;  // secrets are not recorded: the user knows them
  for (const Untrusted& word : run.command) {
    command += " " + quoteShell(word.raw());
    masked = masked || hasMask(word.raw());
  }
  if (!recording.empty() && !outsideOptions(c.analysis, c.finding, c.advice).empty())
    return std::string("stallprof verify ") + (tried ? "--force " : "") + "--fix " + c.advice.id +
           " " + quoteShell(recording) + (masked ? " -- COMMAND" : "");
  const auto overrides = overridesOf(run);
  if (!overrides) return {};
  std::string line;
  const auto& change = c.advice.change;
  if (change.kind == "env" && change.name.find('/') == std::string::npos && !change.to.empty())
    line = change.name + "=" + quoteShell(change.to) + " ";
  line += "stallprof run" + *overrides + " -o after.stallprof --" + (masked ? " COMMAND" : command);
  if (!recording.empty())
    line += " && stallprof compare " + quoteShell(recording) + " -- after.stallprof";
  return line;
}

}  // namespace

void advise(Analysis& analysis, const std::string& recording) {
  for (Finding& f : analysis.findings) {
    const FindingDefinition* definition = findingDefinition(f.id);
    for (Advice& advice : f.advice) {
      const AdviceContext c{analysis, f, advice, loaderAt(analysis, f.where, advice.change)};
      if (const auto* offered = definition ? definition->offered(advice.id) : nullptr)
        advice.text = offered->sentence(c);
      advice.diff = diffOf(c);
      advice.verifyCommand = verifyCommandOf(c, recording);
    }
  }
}

std::string changeLine(const Analysis& analysis, const LoaderInfo& loader,
                       const std::vector<Advice::Change>& changes) {
  const Finding finding;
  const Advice advice;
  const AdviceContext c{analysis, finding, advice, &loader};
  const std::string_view holder = settingsHolder(c);
  std::string line = holder.empty() ? "DataLoader" : std::string(holder);
  line += "(...";
  for (const Advice::Change& change : changes) {
    line += ", " + settingOf(c, change.name) + "=" + change.from + " -> " + change.to;
    if (change.name == "num_workers" && change.from == "0" && !loader.persistent)
      line += ", " + settingOf(c, "persistent_workers") + "=True";
  }
  return line + ")";
}

}  // namespace stallprof
