// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "present/chrome_trace.h"
#include "present/stack_export.h"
#include "present/trace_check.h"
#include "present/units.h"
#include "stallprof/arguments.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"
#include "trace/load.h"
#include "trace/native_symbols.h"

namespace stallprof {
namespace {

int fail(const std::string& message, int status) {
  std::fprintf(stderr, "stallprof: %s\n", message.c_str());
  return status;
}

struct ExportWords {
  std::string recording, format, file, by = "phase", state = "running", rules, amount = "bounded",
                                       trainer, check;
};

StackGroup groupOf(const std::string& by) {
  if (by == "role") return StackGroup::kRole;
  if (by == "process") return StackGroup::kProcess;
  return by == "none" ? StackGroup::kNone : StackGroup::kPhase;
}

int exportStacks(const ExportWords& words, const RuleTable& rules) {
  Result<Trace> trace = loadTrace(words.recording);
  if (!trace.ok()) return fail(trace.error().message, 1);
  (void)nameNativeSymbols(trace.value());
  const bool natives = std::any_of(trace.value().threads.begin(), trace.value().threads.end(),
                                   [](const ThreadLife& t) { return !t.natives.empty(); });
  if (trace.value().stacks.empty() && !natives)
    return fail("'" + escapeTerminal(words.recording, 400) + "' holds no stacks", 1);
  const auto stacks =
      weighStacks(trace.value(), findRoles(trace.value()), StackLabels(trace.value(), rules),
                  groupOf(words.by), words.state == "all");
  const std::string text = words.format == "folded"
                               ? foldedStacks(stacks)
                               : speedscopeJson(stacks, escapeTerminal(words.recording, 200));
  const Status written = writeOutput(words.file, text);
  return written.ok() ? 0 : fail(written.error().message, 1);
}

// On stderr: what the file holds, since it may stand for more than it shows.
void sayWritten(const TraceWritten& written) {
  const TimelineSummary& s = written.summary;
  std::fprintf(stderr, "stallprof: %s, %s slices%s\n",
               bytesText(static_cast<double>(written.bytes)).c_str(),
               countText(static_cast<std::int64_t>(s.slices)).c_str(),
               s.whole ? ", the whole recording" : "; in full:");
  if (s.whole) return;
  for (const std::string& stretch : s.detail) std::fprintf(stderr, "  %s\n", stretch.c_str());
  std::fprintf(stderr, "  (elsewhere %s slices merged; --detail full writes all)\n",
               countText(static_cast<std::int64_t>(s.merged)).c_str());
}

using TimelineWriter = TraceWritten (*)(const Trace&, const Analyzed&, const TimelineOptions&,
                                        const WriteBytes&);

int exportTimeline(const ExportWords& words, const Reading& reading, TimelineWriter writer) {
  TimelineOptions options;
  options.full = words.amount == "full";
  TraceWritten written;
  const Status status = writeOutputBy(words.file, [&](const TakeBytes& take) {
    written = writer(reading.trace, reading.analyzed, options, take);
    return written.ok;
  });
  if (!status.ok()) return fail(status.error().message, 1);
  sayWritten(written);
  return 0;
}

int checkFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return fail("cannot read '" + escapeTerminal(path, 400) + "'", 1);
  const TraceCheck check = checkTrace(file);
  std::fclose(file);
  for (const std::string& problem : check.problems) std::printf("%s\n", problem.c_str());
  if (check.wrong > check.problems.size())
    std::printf("and %s more\n",
                countText(static_cast<std::int64_t>(check.wrong - check.problems.size())).c_str());
  if (!check.ok()) return 1;
  std::printf("%s: %s events, nothing wrong\n", check.format.c_str(),
              countText(static_cast<std::int64_t>(check.events)).c_str());
  return 0;
}

}  // namespace

int verbExport(const Words& given) {
  ExportWords words;
  const auto status = parseArguments(
      "export", "A recording for other tools.",
      {{"recording", "the recording's directory, NAME.stallprof", &words.recording},
       {"-f,--format",
        "chrome; folded or speedscope (stacks)",
        &words.format,
        nullptr,
        {"chrome", "folded", "speedscope"}},
       {"-o,--output", "write to this file instead of stdout", &words.file},
       {"--detail",
        "timelines: bounded (default: representative steps in full, the rest merged where the "
        "recording is long), or full",
        &words.amount,
        nullptr,
        {"bounded", "full"}},
       {"--by",
        "stacks: phase (default), role, process or none: what they are grouped by",
        &words.by,
        nullptr,
        {"phase", "role", "process", "none"}},
       {"--state",
        "stacks: running (default), or all: looks that found the thread blocked too",
        &words.state,
        nullptr,
        {"running", "all"}},
       {"--check", "a file to check instead: does what opens such traces take it?", &words.check},
       {"--rules", "phase rules of your own, in TOML", &words.rules}},
      joinedWords(given));
  if (status) return *status;
  if (!words.check.empty()) return checkFile(words.check);
  if (words.format.empty() || words.recording.empty())
    return fail("export needs a recording and -f FORMAT", 2);
  const Result<RuleTable> table = readRules(words.rules);
  if (!table.ok()) return fail(table.error().message, 2);
  if (words.format == "folded" || words.format == "speedscope")
    return exportStacks(words, table.value());
  const Result<Reading> reading = readRecording(words.recording, std::nullopt, table.value());
  if (!reading.ok()) return fail(reading.error().message, 1);
  return exportTimeline(words, reading.value(), writeChromeTrace);
}

}  // namespace stallprof
