// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>

#include "analysis/blame/facts_accumulator.h"
#include "base/text.h"
#include "base/units.h"
#include "present/metrics/csv_tables.h"
#include "present/metrics/openmetrics.h"
#include "present/timeline/perfetto_trace.h"
#include "present/timeline/stack_export.h"
#include "stallprof/command_line.h"
#include "stallprof/export_timeline.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"
#include "trace/load.h"
#include "trace/native_symbols.h"

namespace stallprof {
namespace {

struct ExportRequest {
  std::string recording, format, file, by = "phase", state = "running", rules, amount = "bounded",
                                       table = "steps";
  bool force = false;
  std::vector<std::string> map;
};

StackGroup groupOf(const std::string& by) {
  if (by == "role") return StackGroup::kRole;
  if (by == "process") return StackGroup::kProcess;
  return by == "none" ? StackGroup::kNone : StackGroup::kPhase;
}

int exportText(const ExportRequest& request, const std::string& text) {
  const Status written = writeOutput(request.file, text);
  return written.ok() ? 0 : fail(written.error().message, 1);
}

int exportStacks(const ExportRequest& request, const RuleTable& rules,
                 const std::vector<Untrusted>& maps) {
  // These forms hold samples of stacks alone; the rest of the trace counts only for the roles.
  TraceReader reader(recordingEvents(request.recording, maps));
  FactsAccumulator facts(rules);
  Result<Trace> trace = facts.readRoles(reader);
  if (!trace.ok()) return fail(trace.error().message, 1);
  (void)nameNativeSymbols(trace.value());
  const bool natives = std::any_of(trace.value().threads.begin(), trace.value().threads.end(),
                                   [](const ThreadLife& t) { return !t.natives.empty(); });
  if (trace.value().stacks.empty() && !natives)
    return fail(inQuotes(request.recording) + " holds no stacks", 1);
  const auto stacks =
      weighStacks(trace.value(), facts.rolesOf(trace.value()), StackLabels(trace.value(), rules),
                  groupOf(request.by), request.state == "all");
  return exportText(request, request.format == "folded"
                                 ? foldedStacks(stacks)
                                 : speedscopeJson(stacks, escapeTerminal(request.recording, 200)));
}

int exportCsv(const ExportRequest& request, const Reading& reading) {
  if (request.table == "findings")
    return exportText(request, findingsCsv(reading.analyzed.analysis));
  const Status written = writeOutputBy(request.file, [&](const TakeBytes& take) {
    return writeStepsCsv(reading.trace, reading.analyzed, take);
  });
  if (const TrainerFacts& trainer = reading.analyzed.trainer; trainer.joined.steps > 0)
    std::fprintf(stderr, "stallprof: %s of %s steps; --detail full writes all\n",
                 countText(static_cast<std::int64_t>(trainer.steps.size())).c_str(),
                 countText(static_cast<std::int64_t>(trainer.stepCount())).c_str());
  return written.ok() ? 0 : fail(written.error().message, 1);
}

int exportReading(const ExportRequest& request, const Reading& reading) {
  const bool full = request.amount == "full";
  if (request.format == "csv") return exportCsv(request, reading);
  if (request.format == "openmetrics")
    return exportText(request, openMetrics(reading.analyzed.analysis));
  if (request.format == "hta") return exportHta(request.file, reading, full);
  return exportTimeline(request.file, reading, full,
                        request.format == "perfetto" ? writePerfettoTrace : writeChromeTrace);
}

class ExportCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description("A recording for other tools.");
    addText(app, "recording", request_.recording, "the recording's directory, NAME.stallprof");
    addChoice(app, "-f,--format", request_.format,
              {"chrome", "perfetto", "hta", "folded", "speedscope", "csv", "openmetrics"},
              "chrome, perfetto or hta (timelines); folded or speedscope (stacks); csv (tables), "
              "openmetrics (the report's numbers)");
    addText(app, "-o,--output", request_.file,
            "write to this file instead of stdout; hta: a new directory, for a trace a rank");
    app.add_flag("--force", request_.force, kForceHelp);
    declareContent(app);
  }

  int run() override {
    if (request_.format.empty() || request_.recording.empty())
      return fail("export needs a recording and -f FORMAT", 2);
    if (const Status free = wouldReplace(request_.file); !request_.force && !free.ok())
      return fail(free.error().message, 1);
    const Result<RuleTable> table = readRules(request_.rules);
    if (!table.ok()) return fail(table.error().message, 2);
    const auto maps = readMaps(request_.map);
    if (!maps.ok()) return fail(maps.error().message, 2);
    if (request_.format == "folded" || request_.format == "speedscope")
      return exportStacks(request_, table.value(), maps.value());
    const Result<Reading> reading =
        readRecording(request_.recording, table.value(), maps.value(),
                      request_.amount == "full" ? TraceBounds::none() : TraceBounds());
    if (!reading.ok()) return fail(reading.error().message, 1);
    return exportReading(request_, reading.value());
  }

 private:
  void declareContent(CLI::App& app) {
    addChoice(app, "--table", request_.table, {"steps", "findings"},
              "csv: steps (default) or findings");
    addChoice(
        app, "--detail", request_.amount, {"bounded", "full"},
        "timelines: bounded (default: representative steps in full, the rest merged where the "
        "recording is long), or full; csv of a long run: some of its steps, or all");
    addChoice(app, "--by", request_.by, {"phase", "role", "process", "none"},
              "stacks: phase (default), role, process or none: what they are grouped by");
    addChoice(app, "--state", request_.state, {"running", "all"},
              "stacks: running (default), or all: samples that found the thread blocked too");
    addText(app, "--rules", request_.rules, "phase rules of your own, in TOML");
    addRepeated(app, "--map", request_.map, kMapHelp);
  }

  ExportRequest request_;
};

}  // namespace

std::unique_ptr<Command> makeExport() { return std::make_unique<ExportCommand>(); }

}  // namespace stallprof
