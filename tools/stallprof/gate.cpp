// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "gate/outputs.h"
#include "stallprof/arguments.h"
#include "stallprof/gate_baseline.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

constexpr int kUsageStatus = 2;

struct Request {
  std::string policy, format = "text", file, baseline, colour = "auto";
  std::vector<std::string> base, head, reports;
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

int judge(Request& request) {
  for (const std::string& word : request.reports)
    if (reportOf(word).first.empty())
      return fail("--report takes FORMAT=FILE, such as junit=gate.xml, not '" +
                  escapeTerminal(word, 200) + "'; see stallprof gate --help");
  const Result<Policy> policy = readPolicy(request.policy);
  if (!policy.ok()) return fail(policy.error().message);
  auto sides = readSides(policy.value(), request.base, request.head);
  if (!sides.ok()) return fail(sides.error().message);
  Result<GateResult> result = judgeGate(policy.value(), sides.value().base, sides.value().head);
  if (!result.ok()) return fail(result.error().message);
  auto& notes = result.value().notes;
  notes.insert(notes.begin(), sides.value().notes.begin(), sides.value().notes.end());
  return writeAll(request, result.value());
}

}  // namespace

int verbGate(const Words& words) {
  Request request;
  const auto status = parseArguments(
      "gate",
      "Whether a change may pass: BASE... -- HEAD..., five runs or more a side for a verdict. Exit "
      "status: 0 pass, 1 regression, 2 usage or unknown metric, 3 not comparable, or inconclusive "
      "where the policy says so, 4 a run's command failed.\n"
      "--baseline save DIR RUN... keeps runs as a base in a directory; --baseline update DIR "
      "RUN... "
      "replaces them.",
      {{"base", "recordings, JSON reports or a baseline's directory, before a bare --", nullptr,
        &request.base},
       {"-c,--config", "the policy (default: stallprof-gate.toml, where there is one)",
        &request.policy},
       {"--format", "text (default), json, junit, sarif, markdown, github, gitlab", &request.format,
        nullptr, gateFormats()},
       {"-o,--output", "write to this file instead of stdout, and text to stdout", &request.file},
       {"--report", "FORMAT=FILE: one more output, any number of times", nullptr, &request.reports},
       {"--baseline", "save or update: DIR RUN...", &request.baseline, nullptr, {"save", "update"}},
       {"--color",
        "auto (default), always, never",
        &request.colour,
        nullptr,
        {"auto", "always", "never"}}},
      words.before);
  if (status) return *status;
  request.head = words.after;
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
