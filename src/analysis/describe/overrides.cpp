// SPDX-License-Identifier: MIT
#include <algorithm>
#include <csignal>
#include <filesystem>

#include "analysis/describe/describe.h"
#include "analysis/facts/source_lines.h"
#include "base/text.h"

namespace stallprof {
namespace {

// Ranks make the same loader each; a list longer than this names a loader made again and again.
constexpr std::size_t kMaxSettings = 32;

bool same(const RunInfo::Setting& a, const RunInfo::Setting& b) {
  return a.name == b.name && a.from == b.from && a.to == b.to && a.where.file == b.where.file &&
         a.where.line == b.where.line;
}

bool changes(const RunInfo& run, std::string_view name) {
  return std::any_of(run.settings.begin(), run.settings.end(),
                     [&](const RunInfo::Setting& s) { return s.name == name && s.from != s.to; });
}

// "num_workers 0 -> 2 at train.py:30"
std::string settingText(const RunInfo::Setting& s) {
  std::string text = escapeTerminal(s.name, 60) + " " + escapeTerminal(s.from, 60) + " -> " +
                     escapeTerminal(s.to, 60);
  if (s.where.file.empty()) return text;
  const std::string file = std::filesystem::path(s.where.file.raw()).filename().string();
  return text + " at " + escapeTerminal(file, 100) + ":" + std::to_string(s.where.line);
}

}  // namespace

bool askedFor(const RunInfo& run, std::string_view option) {
  return std::any_of(run.overrides.begin(), run.overrides.end(),
                     [&](const Untrusted& word) { return word.raw().starts_with(option); });
}

bool endedAsAsked(const std::vector<Untrusted>& overrides, Maybe<std::int64_t> exitCode,
                  Maybe<std::int64_t> exitSignal) {
  const bool asked = std::any_of(overrides.begin(), overrides.end(), [](const Untrusted& word) {
    return word.raw() == "--steps" || word.raw() == "--for";
  });
  return asked && (exitSignal ? *exitSignal == SIGTERM : exitCode == 128 + SIGTERM);
}

void describeOverrides(const Trace& trace, RunInfo& run) {
  run.overrides = trace.manifest.overrides;
  for (const auto& row : trace.settings) {
    const std::string_view name = trace.text(row.data.name);
    if (name == "replay" || name == "drain") continue;  // of no loader's arguments
    run.ownThreads = run.ownThreads || name == SettingChanged::kThreads;
    if (name == SettingChanged::kThreads && row.data.from == row.data.to) continue;
    RunInfo::Setting setting{toUtf8(trace.text(row.data.name)), toUtf8(trace.text(row.data.from)),
                             toUtf8(trace.text(row.data.to)),
                             lineAt(trace, row.data.file, row.data.line)};
    const bool known = std::any_of(run.settings.begin(), run.settings.end(),
                                   [&](const auto& other) { return same(other, setting); });
    if (!known && run.settings.size() < kMaxSettings) run.settings.push_back(std::move(setting));
  }
}

void measureCeiling(Analysis& a) {
  const bool replay = askedFor(a.run, "--replay="), drain = askedFor(a.run, "--drain=");
  if ((!replay && !drain) || !a.steps.ratePerSecond) return;
  const bool reads = a.breakdown.phase && a.breakdown.phase->extract > a.breakdown.phase->transform;
  a.ceilings = {{replay  ? "compute"
                 : reads ? "extract"
                         : "transform",
                 *a.steps.ratePerSecond, 0, replay ? "data always ready" : "the loader alone",
                 "measured"}};
}

// As the recorder counts them (launch/recorder/progress.h).
bool noStepSeen(const Trace& trace) {
  return trace.fetches.empty() && trace.optimizerSteps.empty() && trace.steps.empty();
}

std::vector<std::string> overrideCaveats(const Trace& trace, const RunInfo& run) {
  if (run.overrides.empty()) return {};
  std::vector<std::string> out;
  std::string asked, done;
  for (const Untrusted& word : run.overrides) asked += " " + quoteShell(word.raw());
  for (const auto& setting : run.settings)
    done += (done.empty() ? "" : ", ") + settingText(setting);
  out.push_back("Changed from outside for this run:" + escapeTerminal(asked, 400) +
                (done.empty() ? "." : " (" + done + ")."));
  const bool iterable = std::any_of(trace.loaders.begin(), trace.loaders.end(),
                                    [](const auto& row) { return row.data.iterable; });
  const struct {
    bool holds;
    const char* text;
  } caveats[] = {
      {changes(run, "num_workers"),
       "PyTorch gives each worker its own seed: random draws of a data set differ with "
       "num_workers."},
      {changes(run, "persistent_workers"),
       "Persistent workers use one seed, not one per epoch: from the second epoch on PyTorch draws "
       "another order of samples."},
      {changes(run, "num_workers") && iterable,
       "A data set is iterable: each worker iterates over all of it, unless it divides itself by "
       "get_worker_info(). Compare the batches of an epoch."},
      {changes(run, "num_parallel_calls"),
       "Batches keep their order, but a map that draws random numbers draws them in another order "
       "if its calls run in parallel."},
      {(askedFor(run, "--steps") || askedFor(run, "--for")) && noStepSeen(trace),
       "Nothing that --steps and --for count was seen (a loader's batches, annotated steps, "
       "updates of a model): they did not end the program."},
      {askedFor(run, "--replay="),
       "Batches were repeated: the pace is that of the training with data always ready. Its losses "
       "have no meaning, and idle workers leave it more CPU than a normal run has."},
      {askedFor(run, "--drain="),
       "Only the loader ran: the pace is that of its data, without training."},
      {changes(run, "in_order"),
       "With in_order=False batches arrive as they are ready: their order varies."},
  };
  for (const auto& caveat : caveats)
    if (caveat.holds) out.emplace_back(caveat.text);
  return out;
}

}  // namespace stallprof
