// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>

#include "analysis/long_run.h"
#include "base/text.h"
#include "present/csv_tables.h"
#include "present/openmetrics.h"
#include "present/perfetto_trace.h"
#include "present/stack_export.h"
#include "present/trace_check.h"
#include "present/units.h"
#include "stallprof/arguments.h"
#include "stallprof/export_timeline.h"
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
                                       table = "steps", check;
  bool force = false;
  std::vector<std::string> map;
};

StackGroup groupOf(const std::string& by) {
  if (by == "role") return StackGroup::kRole;
  if (by == "process") return StackGroup::kProcess;
  return by == "none" ? StackGroup::kNone : StackGroup::kPhase;
}

int exportText(const ExportWords& words, const std::string& text) {
  const Status written = writeOutput(words.file, text);
  return written.ok() ? 0 : fail(written.error().message, 1);
}

int exportStacks(const ExportWords& words, const RuleTable& rules,
                 const std::vector<Untrusted>& maps) {
  // Looks at stacks are all there is to them: of what the program did it counts who did it.
  LongRun parts(rules);
  Result<Trace> trace = loadTrace(words.recording, maps, {},
                                  [&](const Trace& part) { return parts.takeRoles(part); });
  if (!trace.ok()) return fail(trace.error().message, 1);
  (void)nameNativeSymbols(trace.value());
  const bool natives = std::any_of(trace.value().threads.begin(), trace.value().threads.end(),
                                   [](const ThreadLife& t) { return !t.natives.empty(); });
  if (trace.value().stacks.empty() && !natives)
    return fail(inQuotes(words.recording) + " holds no stacks", 1);
  const auto stacks =
      weighStacks(trace.value(), parts.rolesOf(trace.value()), StackLabels(trace.value(), rules),
                  groupOf(words.by), words.state == "all");
  return exportText(words, words.format == "folded"
                               ? foldedStacks(stacks)
                               : speedscopeJson(stacks, escapeTerminal(words.recording, 200)));
}

int exportCsv(const ExportWords& words, const Reading& reading) {
  if (words.table == "findings") return exportText(words, findingsCsv(reading.analyzed.analysis));
  const Status written = writeOutputBy(words.file, [&](const TakeBytes& take) {
    return writeStepsCsv(reading.trace, reading.analyzed, take);
  });
  if (const TrainerFacts& trainer = reading.analyzed.trainer; trainer.joined.steps > 0)
    std::fprintf(stderr, "stallprof: %s of %s steps; --detail full writes all\n",
                 countText(static_cast<std::int64_t>(trainer.steps.size())).c_str(),
                 countText(static_cast<std::int64_t>(trainer.stepCount())).c_str());
  return written.ok() ? 0 : fail(written.error().message, 1);
}

int exportReading(const ExportWords& words, const Reading& reading) {
  const bool full = words.amount == "full";
  if (words.format == "csv") return exportCsv(words, reading);
  if (words.format == "openmetrics")
    return exportText(words, openMetrics(reading.analyzed.analysis));
  if (words.format == "hta") return exportHta(words.file, reading, full);
  return exportTimeline(words.file, reading, full,
                        words.format == "perfetto" ? writePerfettoTrace : writeChromeTrace);
}

int checkFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return fail("cannot read " + inQuotes(path), 1);
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
        "chrome, perfetto or hta (timelines); folded or speedscope (stacks); csv (tables), "
        "openmetrics (the report's numbers)",
        &words.format,
        nullptr,
        {"chrome", "perfetto", "hta", "folded", "speedscope", "csv", "openmetrics"}},
       {"-o,--output",
        "write to this file instead of stdout; hta: a new directory, for a trace a rank",
        &words.file},
       {"--force", kForceHelp, nullptr, nullptr, {}, false, false, &words.force},
       {"--table",
        "csv: steps (default) or findings",
        &words.table,
        nullptr,
        {"steps", "findings"}},
       {"--detail",
        "timelines: bounded (default: representative steps in full, the rest merged where the "
        "recording is long), or full; csv of a long run: some of its steps, or all",
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
       {"--rules", "phase rules of your own, in TOML", &words.rules},
       {"--map", kMapHelp, nullptr, &words.map}},
      joinedWords(given));
  if (status) return *status;
  if (!words.check.empty()) return checkFile(words.check);
  if (words.format.empty() || words.recording.empty())
    return fail("export needs a recording and -f FORMAT", 2);
  if (const Status free = wouldReplace(words.file); !words.force && !free.ok())
    return fail(free.error().message, 1);
  const Result<RuleTable> table = readRules(words.rules);
  if (!table.ok()) return fail(table.error().message, 2);
  const auto maps = readMaps(words.map);
  if (!maps.ok()) return fail(maps.error().message, 2);
  if (words.format == "folded" || words.format == "speedscope")
    return exportStacks(words, table.value(), maps.value());
  const Result<Reading> reading =
      readRecording(words.recording, std::nullopt, table.value(), maps.value(),
                    words.amount == "full" ? TraceBounds::none() : TraceBounds());
  if (!reading.ok()) return fail(reading.error().message, 1);
  return exportReading(words, reading.value());
}

}  // namespace stallprof
