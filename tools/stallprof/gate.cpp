// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/fd.h"
#include "gate/looks.h"
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
  std::string runs, most, baseDirectory, keep;  // --ab and what belongs to it
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

// The runs of a side that `text` says, 1 to 1000; `most` "" is as many.
Result<std::size_t> runsOf(const std::string& option, const std::string& text) {
  constexpr std::size_t kMostRuns = 1000;
  std::size_t runs = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, runs);
  if (error == std::errc() && stop == end && runs >= 1 && runs <= kMostRuns) return runs;
  return Error{Error::Kind::kUsage, option + " takes the runs of a side, 1 to 1000, not '" +
                                        escapeTerminal(text, 80) + "'"};
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

// With --ab the sides are made first; with --most some more, look by look, while the gate is
// unsure.
Result<GateResult> judgeTurns(const Policy& policy, Request& request) {
  const auto runs = runsOf("--ab", request.runs);
  if (!runs.ok()) return runs.error();
  const auto most = request.most.empty() ? runs : runsOf("--most", request.most);
  if (!most.ok()) return most.error();
  if (most.value() < runs.value())
    return Error{Error::Kind::kUsage, "--most is less than --ab: it is the most runs of a side"};
  const std::vector<std::size_t> looks = looksOf(runs.value(), most.value(), policy.minRuns);
  const Policy each = policyOfALook(policy, looks.size());
  const auto& baseCommand = request.baseCommand.empty() ? request.headCommand : request.baseCommand;
  const TurnsPlan plan = {most.value(),        looks.size() > 1,      baseCommand,
                          request.headCommand, request.baseDirectory, request.keep};
  Turns turns;
  // What these runs cannot be asked is told after the first two, not after the last.
  if (const Status ran = runByTurns(plan, 1, turns); !ran.ok()) return ran.error();
  request.base = turns.base, request.head = turns.head;
  if (Result<GateResult> asked = judgeSides(each, request); !asked.ok()) return asked;
  for (std::size_t taken = 1;; ++taken) {
    const Status ran = runByTurns(plan, looks[taken - 1], turns);
    if (!ran.ok()) return ran.error();
    request.base = turns.base, request.head = turns.head;
    Result<GateResult> result = judgeSides(each, request);
    if (!result.ok()) return result;
    if (taken < looks.size() && !turns.ended && wantsMore(result.value())) continue;
    auto& notes = result.value().notes;
    if (looks.size() > 1 && !turns.ended) notes.push_back(looksText(looks, taken, policy.alpha));
    notes.insert(notes.end(), turns.notes.begin(), turns.notes.end());
    return result;
  }
}

int judge(Request& request) {
  for (const std::string& word : request.reports)
    if (reportOf(word).first.empty())
      return fail("--report takes FORMAT=FILE, such as junit=gate.xml, not '" +
                  escapeTerminal(word, 200) + "'; see stallprof gate --help");
  const Result<Policy> policy = readPolicy(request.policy);
  if (!policy.ok()) return fail(policy.error().message);
  const Result<GateResult> result = request.runs.empty() ? judgeSides(policy.value(), request)
                                                         : judgeTurns(policy.value(), request);
  return result.ok() ? writeAll(request, result.value()) : fail(result.error().message);
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
      {"--most",
       "with --ab: while the gate is unsure make more runs, up to so many a side; alpha is divided "
       "among the looks planned",
       &request.most},
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
    return request.baseDirectory.empty() && request.keep.empty() && request.most.empty()
               ? ""
               : "--most, --base-dir and --keep belong to --ab";
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
      "--ab N [--most M] [BASE-COMMAND...] -- COMMAND... runs both by turns first, N times each, "
      "and "
      "up to M times while that tells nothing.",
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
