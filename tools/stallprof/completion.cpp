// SPDX-License-Identifier: MIT
#include "stallprof/arguments.h"
#include "stallprof/completion_scripts.h"
#include "stallprof/output.h"

namespace stallprof {

int verbCompletion(const Words& words) {
  std::string shell;
  const auto status = parseArguments(
      "completion",
      "A completion script on stdout, for those who have no package: eval \"$(stallprof completion "
      "bash)\" in ~/.bashrc, or its like.",
      {{"shell", "bash, zsh or fish", &shell, nullptr, {"bash", "zsh", "fish"}, true}},
      joinedWords(words));
  if (status) return *status;
  const std::string script = shell == "bash"  ? bashCompletion()
                             : shell == "zsh" ? zshCompletion()
                                              : fishCompletion();
  return writeOutput("", script).ok() ? 0 : 1;
}

}  // namespace stallprof
