// SPDX-License-Identifier: MIT
#include "stallprof/command_line.h"
#include "stallprof/completion_scripts.h"
#include "stallprof/output.h"

namespace stallprof {
namespace {

class CompletionCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "A completion script on stdout, for those who have no package: eval \"$(stallprof "
        "completion "
        "bash)\" in ~/.bashrc, or its like.");
    addChoice(app, "shell", shell_, {"bash", "zsh", "fish"}, "bash, zsh or fish")->required();
  }

  int run() override {
    const std::string script = shell_ == "bash"  ? bashCompletion()
                               : shell_ == "zsh" ? zshCompletion()
                                                 : fishCompletion();
    return writeOutput("", script).ok() ? 0 : 1;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> makeCompletion() { return std::make_unique<CompletionCommand>(); }

}  // namespace stallprof
