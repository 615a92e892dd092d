// SPDX-License-Identifier: MIT
#include "stallprof/reading.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "advise/advise.h"
#include "analysis/blame/facts_accumulator.h"
#include "base/fd.h"
#include "base/secrets.h"
#include "base/text.h"
#include "experiment/trials_file.h"
#include "present/metrics/report_json.h"
#include "trace/native_symbols.h"
#include "trace/range_map.h"

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

std::string_view withoutSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\f\v";
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// A line of a source file as it lies on this host, without the space around it; at most 200 bytes,
// the job's: escape at the sink. "" where the file has not that line, is no regular file, is too
// large, or has changed since `started` (CLOCK_REALTIME): then the line may be another one. A path
// that is not absolute is taken from `directory`. What seems to be a secret is masked. A recording
// may be made to name any file of its reader's: only Python's source is quoted.
std::string sourceLineAt(const std::string& path, const std::string& directory, std::uint32_t line,
                         Nanos started) {
  constexpr off_t kLargestSource = 4 << 20;
  constexpr std::size_t kLongestLine = 200;
  if (!path.ends_with(".py") || line == 0) return "";
  const std::string full = path[0] == '/' ? path : directory + "/" + path;
  const Fd file = openRegularAt(AT_FDCWD, full.c_str());
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || status.st_size > kLargestSource)
    return "";
  const Nanos changed = std::chrono::seconds(status.st_mtim.tv_sec) + Nanos(status.st_mtim.tv_nsec);
  if (changed > started) return "";
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  text.resize(readAt(file.get(), text.data(), text.size(), 0));
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < line; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return "";
    ++begin;
  }
  const std::string_view found =
      std::string_view(text).substr(begin, text.find('\n', begin) - begin);
  return maskSource(withoutSpace(found).substr(0, kLongestLine));
}

// Of its boot, as in another container, or by its name.
bool ofThisHost(const Manifest& run) {
  utsname names{};
  return ofThisBoot(run) || (::uname(&names) == 0 && run.host.name == names.nodename);
}

// Where the same path is on another host, the file may be any.
void quoteLines(const Manifest& run, Analysis& analysis) {
  if (!ofThisHost(run)) return;
  for (LineInfo& l : analysis.lines)
    l.text = Untrusted(
        sourceLineAt(l.where.file.raw(), run.directory.raw(), l.where.line, run.startedRealtime));
}

// What trials of the recording measured (`stallprof verify`), where there were some.
void addTrials(const std::string& path, Analysis& analysis) {
  const auto read = readTrials(path);
  if (!read.ok())
    analysis.caveats.push_back("The results of its trials are not shown: " +
                               escapeTerminal(read.error().message, 400) + ".");
  if (!read.ok() || !read.value()) return;
  const Trials& trials = *read.value();
  applyTrials(trials, analysis);
  if (std::string other = otherPace(trials, analysis); !other.empty())
    analysis.caveats.push_back(std::move(other));
  for (const Trial& trial : trials.trials)
    if (!trial.why.empty())
      analysis.caveats.push_back("The fix " + trial.advice + " of " + trial.finding +
                                 " was tried and " + escapeTerminal(outcomeText(trial), 400) + ".");
  for (const std::string& note : trials.notes)
    analysis.caveats.push_back(escapeTerminal(note, 400));
}

}  // namespace

bool ofThisBoot(const Manifest& manifest) {
  const auto id = readFile("/proc/sys/kernel/random/boot_id", 64);
  return id.ok() && !manifest.host.bootId.empty() && id.value().starts_with(manifest.host.bootId);
}

Result<RuleTable> readRules(const std::string& file) {
  if (file.empty()) return RuleTable::builtIn();
  const Result<std::string> text = readFile(file, kLargestRules);
  if (!text.ok()) return about(file, text.error());
  return RuleTable::withUsers(text.value(), file);
}

Result<Reading> readRecording(const std::string& path, const RuleTable& rules,
                              const std::vector<Untrusted>& maps, const TraceBounds& bounds) {
  FactsAccumulator facts(rules);
  Result<Trace> trace = facts.read(recordingEvents(path, maps), bounds);
  if (!trace.ok()) return about(path, trace.error());
  Reading reading{std::move(trace).value(), {}};
  (void)nameNativeSymbols(reading.trace);
  reading.analyzed = analyzeWithFacts(reading.trace, facts);
  quoteLines(reading.trace.manifest, reading.analyzed.analysis);
  addTrials(path, reading.analyzed.analysis);
  advise(reading.analyzed.analysis, asOperand(path));
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

Result<std::string> readReport(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    Result<std::string> json = readFile(path, kLargestReport);
    if (!json.ok()) return about(path, json.error());
    return json;
  }
  const Result<Reading> reading = readRecording(path);
  if (!reading.ok()) return reading.error();
  return reportJson(reading.value().analyzed.analysis);
}

}  // namespace stallprof
