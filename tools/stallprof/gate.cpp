// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/fd.h"
#include "gate/outputs.h"
#include "stallprof/arguments.h"
#include "stallprof/gate_baseline.h"
#include "stallprof/gate_turns.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

constexpr int kUsageStatus = 2;

struct Request {
  std::string policy, format = "text", file, baseline, colour = "auto";
  std::string runs, baseDirectory, keep;  // --ab and what belongs to it
  std::vector<std::string> base, head, reports;
  std::vector<std::string> baseCommand, headCommand;  // with --ab
};

int fail(const std::string& message, int status = kUsageStatus) {
  std::fprintf(stderr, "stallprof: %s\n", message.c_str());
  return status;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  char text[16];
  gmtime_r(&now, &utc);
  return std::strftime(text, sizeof text, "%Y-%m-%d", &utc) == 0 ? "" : text;
}

// The file named, else stallprof-gate.toml where it stands, else the default policy.
Result<Policy> readPolicy(std::string& file) {
  constexpr char kUsual[] = "stallprof-gate.toml";
  constexpr std::size_t kLargest = 1u << 20;
  std::error_code ignored;
  if (file.empty() && std::filesystem::exists(kUsual, ignored)) file = kUsual;
  if (file.empty()) return defaultPolicy();
  const Result<std::string> text = readFile(file, kLargest);
  if (!text.ok()) return text.error();
  return parsePolicy(text.value(), file, today());
}

// "FORMAT=FILE" of --report. Empty format: wrong, said.
std::pair<std::string, std::string> reportOf(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string format = word.substr(0, equals);
  const auto& formats = gateFormats();
  if (equals == std::string::npos || equals + 1 == word.size() ||
      std::find(formats.begin(), formats.end(), format) == formats.end())
    return {};
  return {format, word.substr(equals + 1)};
}

int writeAll(const Request& request, const GateResult& result) {
  GateOutput options;
  options.policy = request.policy;
  const auto write = [&](const std::string& format, const std::string& file) {
    GateOutput one = options;
    const bool toStdout = file.empty() || file == "-";
    one.colour = toStdout ? stdoutColour(request.colour) : request.colour == "always";
    if (toStdout) one.width = stdoutColumns();
    return writeOutput(file, gateOutput(format, result, one));
  };
  std::vector<std::pair<std::string, std::string>> outputs;
  for (const std::string& word : request.reports) outputs.push_back(reportOf(word));
  outputs.emplace_back(request.format, request.file);
  // What goes to a file for a machine is said in the log as well.
  if (!request.file.empty() && request.file != "-" && request.format != "text")
    outputs.emplace_back("text", "");
  for (const auto& [format, file] : outputs)
    if (const Status written = write(format, file); !written.ok())
      return fail(written.error().message);
  return exitStatus(result.outcome);
}

// With --ab the sides are made first.
Result<Turns> takeTurns(const Request& request) {
  constexpr std::size_t kMostRuns = 1000;
  TurnsPlan plan;
  const char* end = request.runs.data() + request.runs.size();
  const auto [stop, error] = std::from_chars(request.runs.data(), end, plan.runs);
  if (error != std::errc() || stop != end || plan.runs < 1 || plan.runs > kMostRuns)
    return Error{Error::Kind::kUsage, "--ab takes the runs of a side, 1 to 1000, not '" +
                                          escapeTerminal(request.runs, 80) + "'"};
  plan.base = request.baseCommand.empty() ? request.headCommand : request.baseCommand;
  plan.head = request.headCommand;
  plan.baseDirectory = request.baseDirectory;
  plan.keep = request.keep;
  return runByTurns(plan);
}

Result<GateResult> judgeSides(const Policy& policy, const Request& request) {
  auto sides = readSides(policy, request.base, request.head);
  if (!sides.ok()) return sides.error();
  Result<GateResult> result = judgeGate(policy, sides.value().base, sides.value().head);
  if (!result.ok()) return result;
  auto& notes = result.value().notes;
  notes.insert(notes.begin(), sides.value().notes.begin(), sides.value().notes.end());
  return result;
}

int judge(Request& request) {
  for (const std::string& word : request.reports)
    if (reportOf(word).first.empty())
      return fail("--report takes FORMAT=FILE, such as junit=gate.xml, not '" +
                  escapeTerminal(word, 200) + "'; see stallprof gate --help");
  const Result<Policy> policy = readPolicy(request.policy);
  if (!policy.ok()) return fail(policy.error().message);
  Turns turns;
  if (!request.runs.empty()) {
    Result<Turns> taken = takeTurns(request);
    if (!taken.ok()) return fail(taken.error().message);
    turns = std::move(taken).value();
    request.base = turns.base, request.head = turns.head;
  }
  Result<GateResult> result = judgeSides(policy.value(), request);
  if (!result.ok()) return fail(result.error().message);
  auto& notes = result.value().notes;
  notes.insert(notes.end(), turns.notes.begin(), turns.notes.end());
  return writeAll(request, result.value());
}

std::vector<Argument> argumentsOf(Request& request) {
  return {
      {"base", "recordings, JSON reports or a baseline's directory, before a bare --", nullptr,
       &request.base},
      {"-c,--config", "the policy (default: stallprof-gate.toml, where there is one)",
       &request.policy},
      {"--format", "text (default), json, junit, sarif, markdown, github, gitlab", &request.format,
       nullptr, gateFormats()},
      {"-o,--output", "write to this file instead of stdout, and text to stdout", &request.file},
      {"--report", "FORMAT=FILE: one more output, any number of times", nullptr, &request.reports},
      {"--baseline", "save or update: DIR RUN...", &request.baseline, nullptr, {"save", "update"}},
      {"--ab",
       "make the runs first, so many a side and by turns: [BASE-COMMAND...] -- COMMAND... "
       "after all options",
       &request.runs},
      {"--base-dir", "with --ab: run the base there; without a BASE-COMMAND it is COMMAND",
       &request.baseDirectory},
      {"--keep", "with --ab: a new directory for recordings and output (default gate.TIME.pPID)",
       &request.keep},
      {"--color",
       "auto (default), always, never",
       &request.colour,
       nullptr,
       {"auto", "always", "never"}}};
}

// Where the base's command begins in `words`; empty without --ab. Options end there: the command
// has options of its own.
std::optional<std::size_t> turnsBegin(Request& request, const std::vector<std::string>& words) {
  const std::size_t options = optionWords(argumentsOf(request), words);
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(options);
  const bool turns = std::any_of(words.begin(), end, [](const std::string& word) {
    return word == "--ab" || word.starts_with("--ab=");
  });
  return turns ? std::optional(options) : std::nullopt;
}

// "" or what is wrong with --ab and what belongs to it. `stood`: it stood before the command.
std::string checkTurns(const Request& request, bool stood) {
  if (request.runs.empty())
    return request.baseDirectory.empty() && request.keep.empty()
               ? ""
               : "--base-dir and --keep belong to --ab";
  if (!stood) return "--ab takes its place on the command line, before any word that is no option";
  if (!request.baseline.empty()) return "--ab and --baseline are two things";
  if (request.headCommand.empty()) return "gate --ab takes [BASE-COMMAND...] -- COMMAND...";
  if (request.baseCommand.empty() && request.baseDirectory.empty())
    return "both sides of --ab are the same: name the base's command before the --, or its "
           "directory with --base-dir";
  return "";
}

}  // namespace

int verbGate(const Words& words) {
  Request request;
  const std::optional<std::size_t> turns = turnsBegin(request, words.before);
  const auto split =
      words.before.begin() + static_cast<std::ptrdiff_t>(turns.value_or(words.before.size()));
  const auto status = parseArguments(
      "gate",
      "Whether a change may pass: BASE... -- HEAD..., five runs or more a side for a verdict. Exit "
      "status: 0 pass, 1 regression, 2 usage or unknown metric, 3 not comparable, or inconclusive "
      "where the policy says so, 4 a run's command failed.\n"
      "--baseline save DIR RUN... keeps runs as a base in a directory; --baseline update DIR "
      "RUN... replaces them.\n"
      "--ab N [BASE-COMMAND...] -- COMMAND... runs both by turns first, N times each.",
      argumentsOf(request), {words.before.begin(), split});
  if (status) return *status;
  if (turns) {
    request.baseCommand.assign(split, words.before.end());
    request.headCommand = words.after;
  } else {
    request.head = words.after;
  }
  if (const std::string why = checkTurns(request, turns.has_value()); !why.empty())
    return fail(why + "; see stallprof gate --help");
  if (turns) return judge(request);
  if (!request.baseline.empty()) {
    request.base.insert(request.base.end(), request.head.begin(), request.head.end());
    return keepBaseline(request.baseline == "update", request.base);
  }
  if (!words.dashes && request.base.size() == 2) {
    request.head = {request.base[1]};
    request.base.pop_back();
  }
  if (request.head.empty()) return fail("gate takes BASE... -- HEAD...; see stallprof gate --help");
  return judge(request);
}

}  // namespace stallprof
