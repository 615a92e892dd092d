// SPDX-License-Identifier: MIT
#include "stallprof/reading.h"

#include <sys/stat.h>

#include "advise/advise.h"
#include "analysis/blame/facts_accumulator.h"
#include "base/fd.h"
#include "base/text.h"
#include "experiment/trials_file.h"
#include "present/metrics/report_json.h"
#include "trace/load.h"
#include "trace/native_symbols.h"
#include "trace/range_map.h"
#include "trace/source_text.h"

namespace stallprof {
namespace {

// A report is kilobytes; a file far above that is something else.
constexpr std::size_t kLargestReport = 64u << 20;
constexpr std::size_t kLargestRules = 1u << 20;

// Names the path once, whoever named it first.
Error about(const std::string& path, Error error) {
  if (error.message.find(path) != std::string::npos) return error;
  return std::move(error).within(inQuotes(path));
}

void quoteLines(const Manifest& run, Analysis& analysis) {
  for (LineInfo& l : analysis.lines)
    l.text = Untrusted(
        sourceLineAt(l.where.file.raw(), run.directory.raw(), l.where.line, run.startedRealtime));
}

// What trials of the recording measured (`stallprof verify`), where there were some.
void addTrials(const std::string& path, Analysis& analysis) {
  const auto read = readTrials(path);
  if (!read.ok())
    analysis.caveats.push_back("What its trials measured is not shown: " +
                               escapeTerminal(read.error().message, 400) + ".");
  if (!read.ok() || !read.value()) return;
  const Trials& trials = *read.value();
  applyTrials(trials, analysis);
  for (const Trial& trial : trials.trials)
    if (trial.verdict == TrialVerdict::kFailed)
      analysis.caveats.push_back("The fix " + trial.advice + " of " + trial.finding +
                                 " was tried and " + escapeTerminal(outcomeText(trial), 400) + ".");
  for (const std::string& note : trials.notes)
    analysis.caveats.push_back(escapeTerminal(note, 400));
}

}  // namespace

Result<RuleTable> readRules(const std::string& file) {
  if (file.empty()) return RuleTable::builtIn();
  const Result<std::string> text = readFile(file, kLargestRules);
  if (!text.ok()) return about(file, text.error());
  return RuleTable::withUsers(text.value(), file);
}

Result<Reading> readRecording(const std::string& path, const RuleTable& rules,
                              const std::vector<Untrusted>& maps, const TraceBounds& bounds) {
  TraceReader reader(recordingEvents(path, maps), bounds);
  FactsAccumulator facts(rules);
  Result<Trace> trace = facts.read(reader);
  if (!trace.ok()) return about(path, trace.error());
  Reading reading{std::move(trace).value(), {}};
  (void)nameNativeSymbols(reading.trace);
  reading.analyzed = analyzeWithFacts(reading.trace, facts, {&rules});
  quoteLines(reading.trace.manifest, reading.analyzed.analysis);
  advise(reading.analyzed.analysis, {path, {}});
  addTrials(path, reading.analyzed.analysis);
  return reading;
}

Result<std::vector<Untrusted>> readMaps(const std::vector<std::string>& words) {
  std::vector<Untrusted> maps;
  for (const std::string& word : words) {
    if (const auto meaning = parseRangeMeaning(word); !meaning.ok()) return meaning.error();
    maps.emplace_back(word);
  }
  return maps;
}

Result<Analysis> readAnalysis(const std::string& path, const RuleTable& rules) {
  Result<Reading> reading = readRecording(path, rules);
  if (!reading.ok()) return reading.error();
  return std::move(reading.value().analyzed.analysis);
}

Result<std::string> readReport(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    Result<std::string> json = readFile(path, kLargestReport);
    if (!json.ok()) return about(path, json.error());
    return json;
  }
  const Result<Analysis> analysis = readAnalysis(path);
  if (!analysis.ok()) return analysis.error();
  return reportJson(analysis.value());
}

Result<RunNumbers> readNumbers(const std::string& path) {
  const Result<std::string> json = readReport(path);
  if (!json.ok()) return json.error();
  Result<RunNumbers> numbers = reportNumbers(json.value());
  if (!numbers.ok()) return about(path, numbers.error());
  return numbers;
}

}  // namespace stallprof
