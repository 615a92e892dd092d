// SPDX-License-Identifier: MIT
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "classify/frames.h"
#include "gate/interim.h"
#include "gate/outputs.h"
#include "sampler/proc/proc_file.h"
#include "stallprof/command_line.h"
#include "stallprof/gate_baseline.h"
#include "stallprof/gate_turns.h"
#include "stallprof/output.h"

namespace stallprof {
namespace {

namespace fs = std::filesystem;

constexpr int kUsageStatus = 2;

struct Request {
  std::string policy, format = "text", file, baseline, colour = "auto";
  std::size_t runs = 0, maximum = 0;  // --ab and --max-runs; 0: not given
  std::string baseDirectory, keep;    // what else belongs to --ab
  std::vector<std::string> base, head, reports;
  std::vector<std::string> baseCommand, headCommand;  // with --ab
  std::map<std::string, int> statuses;                // of GateTurns
};

// The file named, else stallprof-gate.toml where it stands, else the default policy.
Result<Policy> readPolicy(std::string& file) {
  constexpr char kUsual[] = "stallprof-gate.toml";
  constexpr std::size_t kLargest = 1u << 20;
  std::error_code ignored;
  if (file.empty() && fs::exists(kUsual, ignored)) file = kUsual;
  if (file.empty()) return defaultPolicy();
  const Result<std::string> text = readFile(file, kLargest);
  if (!text.ok()) return text.error();
  return parsePolicy(text.value(), file, utcText(realtimeNow(), "%Y-%m-%d"));
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

// Each format and its file; "" and "-" are stdout.
std::vector<std::pair<std::string, std::string>> outputsOf(const Request& request) {
  std::vector<std::pair<std::string, std::string>> outputs;
  for (const std::string& word : request.reports) outputs.push_back(reportOf(word));
  outputs.emplace_back(request.format, request.file);
  // What goes to a file for a machine is said in the log as well.
  if (!request.file.empty() && request.file != "-" && request.format != "text")
    outputs.emplace_back("text", "");
  return outputs;
}

// The text that earlier steps of a GitHub job have written to `file`; "" for any other file, which
// is replaced.
std::string earlierSummary(const std::string& file) {
  constexpr std::size_t kLargest = 1u << 20;  // GitHub's own limit
  const char* const summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (summary == nullptr || file.empty() || file != summary) return "";
  const Result<std::string> text = readFile(file, kLargest);
  return text.ok() ? text.value() : "";
}

// The root of the repository that `directory` is in, from which CI names files: the nearest with a
// .git, else what the CI system says, else `directory`.
std::string checkoutOf(const fs::path& directory) {
  std::error_code unknown;
  for (fs::path root = directory; !root.empty(); root = root.parent_path()) {
    if (fs::exists(root / ".git", unknown)) return root.string();
    if (root == root.parent_path()) break;
  }
  for (const char* const name : {"GITHUB_WORKSPACE", "CI_PROJECT_DIR"})
    if (const char* const value = std::getenv(name); value != nullptr) {
      const std::string root = fs::canonical(value, unknown).string();
      if (!root.empty() && isBelow(directory.string(), root)) return root;
    }
  return directory.string();
}

int writeResults(const Request& request, const GateResult& result) {
  GateOutput options;
  options.policy = request.policy;
  std::error_code unknown;
  const fs::path here = fs::current_path(unknown);
  options.directory = here.string();
  options.checkout = checkoutOf(here);
  const auto write = [&](const std::string& format, const std::string& file) {
    GateOutput one = options;
    const bool toStdout = file.empty() || file == "-";
    one.colour = toStdout ? stdoutColour(request.colour) : request.colour == "always";
    if (toStdout) one.width = stdoutColumns();
    return writeOutput(file, earlierSummary(file) + gateOutput(format, result, one));
  };
  // The verdict is seen whatever becomes of the others.
  std::vector<std::pair<std::string, std::string>> outputs = outputsOf(request);
  std::stable_partition(outputs.begin(), outputs.end(), [](const auto& output) {
    return output.first == "text" && (output.second.empty() || output.second == "-");
  });
  int status = exitStatus(result.outcome);
  for (const auto& [format, file] : outputs)
    if (const Status written = write(format, file); !written.ok())
      status = fail(written.error().message, kUsageStatus);
  return status;
}

// With --base-dir: of the user's files that a run of the base had the first that lies in this
// directory, the head's, and not in its own; "" none. An installed package is found by both sides,
// as is a script that the command names by its absolute path.
std::string fileOfTheHead(const std::vector<std::string>& files, const Request& request) {
  std::error_code error;
  const std::string here = fs::current_path(error).string(),
                    base = fs::canonical(request.baseDirectory, error).string();
  const auto& command = request.baseCommand.empty() ? request.headCommand : request.baseCommand;
  for (const std::string& file : files)
    if (isBelow(file, here) && !isBelow(file, base) && modulePathOf(file).users &&
        std::find(command.begin(), command.end(), file) == command.end())
      return file;
  return "";
}

// A recorder that died kept nothing of the command's end: what was waited for says how that was.
void addWaited(const std::map<std::string, int>& statuses, GateRun& run) {
  const auto found = statuses.find(run.path);
  if (found == statuses.end() || failed(run)) return;
  const int status = found->second;
  run.cutOff = status == 0 && !run.exitCode && !run.exitSignal;
  if (WIFSIGNALED(status)) run.exitSignal = WTERMSIG(status);
  if (WIFEXITED(status)) run.exitCode = WEXITSTATUS(status);
}

Result<GateResult> judgeSides(const Policy& policy, const Request& request) {
  auto sides = readSides(policy, request.base, request.head);
  if (!sides.ok()) return sides.error();
  if (!request.baseDirectory.empty())
    for (GateRun& run : sides.value().base) run.foreignFile = fileOfTheHead(run.files, request);
  for (auto* side : {&sides.value().base, &sides.value().head})
    for (GateRun& run : *side) addWaited(request.statuses, run);
  Result<GateResult> result = judgeGate(policy, sides.value().base, sides.value().head);
  if (!result.ok()) return result;
  auto& notes = result.value().notes;
  notes.insert(notes.begin(), sides.value().notes.begin(), sides.value().notes.end());
  return result;
}

// With --ab the sides are made first; with --max-runs some more before each further interim
// analysis, while the gate is unsure.
Result<GateResult> judgeTurns(const Policy& policy, Request& request) {
  const std::size_t maximum = std::max(request.maximum, request.runs);
  const auto interims = interimsOf(request.runs, maximum, policy.minRuns);
  const Policy each = policyOfInterim(policy, interims.size());
  const auto& baseCommand = request.baseCommand.empty() ? request.headCommand : request.baseCommand;
  const TurnsPlan plan = {
      maximum,     interims.size() > 1, baseCommand, request.headCommand, request.baseDirectory,
      request.keep};
  GateTurns turns;
  // A metric that these runs cannot have is reported after the first two, not after the last.
  if (const Status ran = runByTurns(plan, 1, turns); !ran.ok()) return ran.error();
  request.base = turns.base;
  request.head = turns.head;
  request.statuses = turns.statuses;
  Result<GateResult> asked = judgeSides(each, request);
  if (!asked.ok() || asked.value().outcome == Outcome::kNotComparable) return asked;
  for (std::size_t taken = 1;; ++taken) {
    const Status ran = runByTurns(plan, interims[taken - 1], turns);
    if (!ran.ok()) return ran.error();
    request.base = turns.base;
    request.head = turns.head;
    request.statuses = turns.statuses;
    Result<GateResult> result = judgeSides(each, request);
    if (!result.ok()) return result;
    if (taken < interims.size() && !turns.ended && wantsMore(result.value())) continue;
    auto& notes = result.value().notes;
    if (interims.size() > 1 && !turns.ended)
      notes.push_back(interimText(interims, taken, policy.alpha));
    notes.insert(notes.end(), turns.notes.begin(), turns.notes.end());
    return result;
  }
}

// A run or the policy itself: the Error says which.
Status checkNoInput(const Request& request, const Policy& policy, const std::string& file) {
  std::vector<std::string> inputs = request.base;
  inputs.insert(inputs.end(), request.head.begin(), request.head.end());
  inputs.push_back(policy.file);
  inputs.push_back(baselineOf(policy));
  for (const std::string& input : inputs) {
    std::error_code unknown;
    if (file.empty() || input.empty()) continue;
    if (fs::equivalent(input, file, unknown))
      return Error{Error::Kind::kUsage, inQuotes(file) + " is an input of this gate"};
    const fs::path parent = fs::path(file).parent_path();
    if (fs::equivalent(input, parent.empty() ? "." : parent, unknown))
      return Error{Error::Kind::kUsage,
                   inQuotes(file) + " lies in " + inQuotes(input) + ", an input of this gate"};
  }
  return Done{};
}

int judge(Request& request) {
  for (const std::string& word : request.reports)
    if (reportOf(word).first.empty())
      return fail("--report takes FORMAT=FILE, such as junit=gate.xml, not '" +
                      escapeTerminal(word, 200) + "'; see stallprof gate --help",
                  kUsageStatus);
  for (const auto& [format, file] : outputsOf(request))
    if (const Status fit = checkPlace(file); !fit.ok())
      return fail(fit.error().message, kUsageStatus);
  const Result<Policy> policy = readPolicy(request.policy);
  if (!policy.ok()) return fail(policy.error().message, kUsageStatus);
  for (const auto& [format, file] : outputsOf(request))
    if (const Status fit = checkNoInput(request, policy.value(), file); !fit.ok())
      return fail(fit.error().message, kUsageStatus);
  const Result<GateResult> result =
      request.runs == 0 ? judgeSides(policy.value(), request) : judgeTurns(policy.value(), request);
  return result.ok() ? writeResults(request, result.value())
                     : fail(result.error().message, kUsageStatus);
}

// "" or what is wrong with --ab and what belongs to it. `stood`: it stood before the command.
std::string checkTurns(const Request& request, bool stood) {
  if (request.runs == 0)
    return request.baseDirectory.empty() && request.keep.empty() && request.maximum == 0
               ? ""
               : "--max-runs, --base-dir and --keep need --ab";
  if (!stood)
    return "--ab must be on the command line, before the first argument that is not an option";
  if (!request.baseline.empty()) return "--ab and --baseline cannot be combined";
  if (request.maximum > 0 && request.maximum < request.runs)
    return "--max-runs is less than --ab: it is the maximum number of runs per side";
  if (request.headCommand.empty()) return "gate --ab takes [BASE-COMMAND...] -- COMMAND...";
  if (request.baseCommand.empty() && request.baseDirectory.empty())
    return "both sides of --ab are the same: give the base's command before the --, or its "
           "directory with --base-dir";
  return "";
}

class GateCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Decides whether a change passes: BASE... -- HEAD..., with five runs or more per side for "
        "a verdict. Exit status: 0 pass, 1 regression, 2 usage or unknown metric, 3 not "
        "comparable, or inconclusive if the policy says fail, 4 a run's command failed.\n"
        "--baseline save DIR RUN... stores runs as a base in a directory; --baseline update DIR "
        "RUN... replaces them.\n"
        "--ab N [--max-runs M] [BASE-COMMAND...] -- COMMAND... first makes N runs per side, "
        "alternating, and up to M per side while the result is inconclusive.");
    app.add_option(
        "base", request_.base,
        "base runs, before a bare --: recordings, JSON reports or a baseline's directory");
    addText(app, "-c,--config", request_.policy,
            "the policy (default: stallprof-gate.toml, if it exists)");
    addChoice(app, "--format", request_.format, gateFormats(),
              "text (default), json, junit, sarif, markdown, github, gitlab");
    addText(app, "-o,--output", request_.file,
            "write to this file instead of stdout, and text to stdout");
    addRepeated(app, "--report", request_.reports, "an additional output, FORMAT=FILE; repeatable");
    addChoice(app, "--baseline", request_.baseline, {"save", "update"},
              "save or update the base in DIR: DIR RUN...");
    declareTurns(app);
    addChoice(app, "--color", request_.colour, {"auto", "always", "never"},
              "auto (default), always, never");
  }

  // With --ab the options end where the base's command begins, which has options of its own.
  void parse(CLI::App& app, const std::vector<std::string>& words) override {
    const SplitWords split = splitAtDashes(words);
    CLI::App options;
    declare(options);
    options.remove_option(options.get_option("base"));
    std::vector<std::string> command = parseOptionsBefore(options, split.before);
    turns_ = options.count("--ab") > 0;
    // Options of a configuration file that need --ab apply only with it.
    if (!turns_ && options.count("--max-runs") == 0) request_.maximum = 0;
    if (!turns_ && options.count("--base-dir") == 0) request_.baseDirectory.clear();
    if (!turns_ && options.count("--keep") == 0) request_.keep.clear();
    if (turns_) {
      request_.baseCommand = std::move(command);
      request_.headCommand = split.after;
      return;
    }
    parseWords(app, split.before);
    request_.head = split.after;
    dashes_ = split.dashes;
  }

  std::string check() override { return checkTurns(request_, turns_); }

  int run() override {
    if (turns_) return judge(request_);
    if (!request_.baseline.empty()) {
      request_.base.insert(request_.base.end(), request_.head.begin(), request_.head.end());
      return keepBaseline(request_.baseline == "update", request_.base);
    }
    if (!dashes_ && request_.base.size() == 2) {
      request_.head = {request_.base[1]};
      request_.base.pop_back();
    }
    if (request_.head.empty())
      return fail("gate takes BASE... -- HEAD...; see stallprof gate --help", kUsageStatus);
    return judge(request_);
  }

 private:
  static void addRuns(CLI::App& app, const std::string& name, std::size_t& into,
                      const std::string& help) {
    addWhole(app, name, {1, 1000, "the runs of a side, 1 to 1000"}, help,
             [&into](unsigned runs) { into = runs; });
  }

  void declareTurns(CLI::App& app) {
    addRuns(app, "--ab", request_.runs,
            "make N runs per side first, alternating: [BASE-COMMAND...] -- COMMAND... after all "
            "options");
    addRuns(app, "--max-runs", request_.maximum,
            "with --ab: while the result is inconclusive make more runs, up to M per side; alpha "
            "is divided among the planned interim analyses");
    addText(
        app, "--base-dir", request_.baseDirectory,
        "with --ab: the directory for runs of the base; without a BASE-COMMAND they run COMMAND");
    addText(app, "--keep", request_.keep,
            "with --ab: a new directory for recordings and output (default gate.TIME.pPID)");
  }

  Request request_;
  bool turns_ = false, dashes_ = false;
};

}  // namespace

std::unique_ptr<Command> makeGate() { return std::make_unique<GateCommand>(); }

}  // namespace stallprof
