// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "base/text.h"
#include "launch/session.h"
#include "stallprof/command_line.h"
#include "stallprof/launch_command.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

// For the log of a job; nothing on a terminal, where the job may be drawing a bar of its own.
Nanos usualProgress() { return ::isatty(STDERR_FILENO) == 1 ? Nanos(0) : std::chrono::minutes(1); }

class RunCommand final : public LaunchCommand {
 public:
  RunCommand() { options_.progressEvery = usualProgress(); }

  void declare(CLI::App& app) override {
    app.description(
        "Runs a command, watched, and ends with the report: stallprof run [options] [--] COMMAND "
        "[ARG...]. Options come before the command.");
    declareRecording(app);
    addRepeated(app, "--map", map_, kMapHelp);
    addParsed(app, "--progress",
              "a line on stderr now and then: auto (default: each minute where stderr is no "
              "terminal), off, or seconds between two",
              [this](const std::string& text) { return takeProgress(text); });
    declareOutput(app);
    const auto none = [&app](const char* name, bool& value, const char* help) {
      app.add_flag_callback(
          name, [&value] { value = false; }, help);
    };
    none("--no-python", options_.python, "do not put the Python hook into the command");
    none("--no-native", options_.native, "do not sample what threads execute in native code");
    app.add_flag("--counters", options_.counters,
                 "count the CPUs' own events (cycles, cache misses, stalls) over the whole job");
    app.add_flag("--gpu", options_.gpu,
                 "trace CUDA and NVTX from inside the command (not yet tried on a real GPU)");
    app.add_flag("--nvtx", options_.nvtx,
                 "record the command's NVTX ranges, without tracing CUDA; --gpu and --map do, too");
  }

  void parse(CLI::App& app, const std::vector<std::string>& words) override {
    options_.command = parseOptionsBefore(app, words);
  }

  std::string check() override {
    std::string why = LaunchCommand::check();
    if (why.empty() && options_.command.empty()) why = "no command to run";
    options_.nvtx = options_.nvtx || options_.gpu || !map_.empty();
    return why;
  }

  int run() override { return runSession(options_); }
  int usageStatus() const override { return 125; }  // as `env`: our own failure, nothing started

 private:
  std::string takeProgress(const std::string& text) {
    const auto every = wholeNumber(text, 1, 86400);
    if (!every && text != "auto" && text != "off")
      return "--progress takes auto, off or seconds, not " + inQuotes(text);
    options_.progressEvery = std::chrono::seconds(every.value_or(0));
    if (text == "auto") options_.progressEvery = usualProgress();
    return "";
  }
};

}  // namespace

std::unique_ptr<Command> makeRun() { return std::make_unique<RunCommand>(); }

}  // namespace stallprof
