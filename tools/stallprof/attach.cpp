// SPDX-License-Identifier: MIT
#include "launch/attach.h"

#include "stallprof/command_line.h"
#include "stallprof/launch_command.h"

namespace stallprof {
namespace {

// What needs the command to be started by us, or means something else there, is no option here.
class AttachCommand final : public LaunchCommand {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Records a running program from outside, until it ends or Ctrl-C; then prints the report. "
        "No code is injected, so steps are inferred.");
    constexpr unsigned kMaxPid = 1u << 22;  // PID_MAX_LIMIT
    addWhole(app, "-p,--pid", {1, kMaxPid, "the number of a process"},
             "the process to record, with all of its descendants",
             [this](unsigned pid) { pid_ = static_cast<pid_t>(pid); })
        ->required();
    addWhole(app, "--for", {1, 30 * 86400, "whole seconds"},
             "stop recording after this many seconds (default: when the process ends)",
             [this](unsigned limit) { limit_ = std::chrono::seconds(limit); });
    declareRecording(app);
    declareOutput(app);
    app.add_flag_callback(
        "--no-native", [this] { options_.native = false; },
        "do not sample what threads execute in native code");
    app.add_flag_callback(
        "--no-python", [this] { options_.python = false; }, "do not read Python stacks");
  }

  int run() override { return attachSession(pid_, options_, limit_); }

 private:
  pid_t pid_ = 0;
  Nanos limit_{};
};

}  // namespace

std::unique_ptr<Command> makeAttach() { return std::make_unique<AttachCommand>(); }

}  // namespace stallprof
