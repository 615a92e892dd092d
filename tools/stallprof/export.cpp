// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "analysis/blame/facts_accumulator.h"
#include "analysis/describe/describe.h"
#include "base/text.h"
#include "base/units.h"
#include "present/metrics/csv_tables.h"
#include "present/metrics/openmetrics.h"
#include "present/timeline/chrome_trace.h"
#include "present/timeline/hta_trace.h"
#include "present/timeline/perfetto_trace.h"
#include "present/timeline/stack_export.h"
#include "present/words/wording.h"
#include "stallprof/command_line.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"
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

// A table or a timeline does not show that the recording lacks something.
void sayIncomplete(const Analysis& analysis) {
  for (const std::string& what : incomplete(analysis))
    std::fprintf(stderr, "stallprof: %s\n", what.c_str());
}

int exportStacks(const ExportRequest& request, const RuleTable& rules,
                 const std::vector<Untrusted>& maps) {
  // These forms hold samples of stacks alone; the rest of the trace counts only for the roles.
  FactsAccumulator facts(rules);
  Result<Trace> trace = facts.readRoles(recordingEvents(request.recording, maps));
  if (!trace.ok()) return fail(trace.error().message, 1);
  Analysis described;
  described.run = describeRun(trace.value());
  described.coverage = describeCoverage(trace.value());
  sayIncomplete(described);
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

// What the file holds, since it may stand for more than it shows.
void sayWritten(const std::string& what, const TraceWritten& written) {
  const TimelineSummary& s = written.summary;
  std::fprintf(stderr, "stallprof: %s%s, %s slices%s\n", what.c_str(),
               bytesText(static_cast<double>(written.bytes)).c_str(),
               countText(static_cast<std::int64_t>(s.slices)).c_str(),
               s.whole ? ", nothing left out" : "; in full:");
  if (s.whole) return;
  for (const std::string& interval : s.detail) std::fprintf(stderr, "  %s\n", interval.c_str());
  if (s.merged > 0)
    std::fprintf(stderr, "  (elsewhere %s slices merged or left out; --detail full writes more)\n",
                 countText(static_cast<std::int64_t>(s.merged)).c_str());
}

using TimelineWriter = TraceWritten (*)(const Trace&, const Analyzed&, const TimelineOptions&,
                                        const WriteBytes&);

Status writeTimeline(const std::string& file, const Reading& reading,
                     const TimelineOptions& options, TimelineWriter writer, TraceWritten& written) {
  return writeOutputBy(file, [&](const TakeBytes& take) {
    written = writer(reading.trace, reading.analyzed, options, take);
    return written.ok;
  });
}

bool isRankTrace(const std::string& name) {
  return name.rfind("rank", 0) == 0 && std::filesystem::path(name).extension() == ".json";
}

// Traces of other ranks may lie there; the Error says what else is in the way.
Status makeDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directory(directory, error);
  const auto refused = [&](const std::string& why) {
    return Error{Error::Kind::kIo, "cannot write into " + inQuotes(directory) + ": " + why};
  };
  if (error) return refused(error.message());
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    if (const std::string name = at->path().filename().string(); !isRankTrace(name))
      return refused("HTA reads all files in it as traces, and " + inQuotes(name) +
                     " is not a trace of a rank; name a new directory");
  if (error) return refused(error.message());
  return Done{};
}

Status mustBeNew(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return Done{};
  return Error{Error::Kind::kIo, inQuotes(path) + " exists; name a new directory"};
}

int exportTimeline(const std::string& file, const Reading& reading, bool full,
                   TimelineWriter writer) {
  TimelineOptions options;
  options.full = full;
  TraceWritten written;
  const Status status = writeTimeline(file, reading, options, writer, written);
  if (!status.ok()) return fail(status.error().message, 1);
  sayWritten("", written);
  return 0;
}

// One trace a rank into `directory`, which is made where it is not there, and holds nothing else:
// HTA takes every .json in it. A rank's trace that is there already is never overwritten.
int exportHta(const std::string& directory, const Reading& reading, bool full) {
  const Roles& roles = reading.analyzed.roles;
  if (directory.empty() || directory == "-")
    return fail("hta writes a directory with one trace per rank: name it with -o", 2);
  if (roles.trainers.empty() || reading.analyzed.analysis.steps.count == 0)
    return fail("the recording has no training steps, which HTA needs", 1);
  if (const Status made = makeDirectory(directory); !made.ok())
    return fail(made.error().message, 1);
  TimelineOptions options;
  options.full = full;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < roles.trainers.size(); ++i) {
    names.push_back(htaFileName(rankOf(reading.trace, roles, i)));
    if (const Status fresh = mustBeNew(directory + "/" + names.back()); !fresh.ok())
      return fail(fresh.error().message, 1);
  }
  for (; options.trainer < roles.trainers.size(); ++options.trainer) {
    const std::string& name = names[options.trainer];
    const std::string file = directory + "/" + name;
    TraceWritten written;
    const Status status = writeTimeline(file, reading, options, writeHtaTrace, written);
    if (!status.ok()) return fail(status.error().message, 1);
    sayWritten(name + ": ", written);
  }
  if (reading.trace.deviceWorks.empty())
    std::fprintf(stderr,
                 "  (no individual GPU work: HTA reads steps and ranks; its views of kernels and "
                 "idle time are empty)\n");
  return 0;
}

int exportReading(const ExportRequest& request, const Reading& reading) {
  sayIncomplete(reading.analyzed.analysis);
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
    app.description("Exports a recording for other tools.");
    addText(app, "recording", request_.recording, "the recording's directory, NAME.stallprof");
    addChoice(app, "-f,--format", request_.format,
              {"chrome", "perfetto", "hta", "folded", "speedscope", "csv", "openmetrics"},
              "chrome, perfetto or hta (timelines); folded or speedscope (stacks); csv (tables), "
              "openmetrics (the report's numbers)");
    addText(app, "-o,--output", request_.file,
            "write to this file instead of stdout; hta: a new directory, with one trace per rank");
    app.add_flag("--force", request_.force, kForceHelp);
    declareContent(app);
  }

  void parse(CLI::App& app, const std::vector<std::string>& words) override {
    parseWords(app, words);
    without_ = withoutEffect(app);
  }
  std::string check() override { return without_; }

  int run() override {
    if (request_.format.empty() || request_.recording.empty())
      return fail("export needs a recording and -f FORMAT", 2);
    if (const Status free = wouldReplace(request_.file, kOrForce); !request_.force && !free.ok())
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
  // "" or which option of the command line, not of a configuration, says nothing of this format.
  [[nodiscard]] std::string withoutEffect(const CLI::App& app) const {
    const std::string& format = request_.format;
    const bool stacks = format == "folded" || format == "speedscope", csv = format == "csv";
    const std::pair<const char*, bool> options[] = {
        {"--table", csv},
        {"--detail", !stacks && format != "openmetrics"},
        {"--by", stacks},
        {"--state", stacks}};
    for (const auto& [option, counts] : options)
      if (!counts && !format.empty() && app.get_option(option)->count() > 0)
        return std::string(option) + " has no effect with -f " + format;
    return "";
  }

  void declareContent(CLI::App& app) {
    addChoice(app, "--table", request_.table, {"steps", "findings"},
              "csv: steps (default) or findings");
    addChoice(app, "--detail", request_.amount, {"bounded", "full"},
              "timelines: bounded (default: for a long recording, representative steps in full "
              "and the rest merged) or full; csv of a long run: some of its steps, or all");
    addChoice(app, "--by", request_.by, {"phase", "role", "process", "none"},
              "stacks: group by phase (default), role, process or none");
    addChoice(app, "--state", request_.state, {"running", "all"},
              "stacks: samples of running threads (default), or all, with blocked threads");
    addText(app, "--rules", request_.rules, "file of your phase rules, in TOML");
    addRepeated(app, "--map", request_.map, kMapHelp);
  }

  ExportRequest request_;
  std::string without_;
};

}  // namespace

std::unique_ptr<Command> makeExport() { return std::make_unique<ExportCommand>(); }

}  // namespace stallprof
