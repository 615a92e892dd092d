// SPDX-License-Identifier: MIT
#include "stallprof/verbs.h"

#include <algorithm>

namespace stallprof {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs = {
      {"run", "[options] -- COMMAND...", "run a training command, watched; a report at the end",
       makeRun},
      {"attach", "-p PID", "record a program that runs already, from outside", makeAttach},
      {"report", "RECORDING", "the report of a recording, again or in another format", makeReport},
      {"compare", "BASE... -- HEAD...", "two sets of runs side by side", makeCompare},
      {"gate", "BASE... -- HEAD...", "whether a change may pass: exit status 1 on a regression",
       makeGate},
      {"verify", "RECORDING", "try the fixes of a report on its command: measured gains",
       makeVerify},
      {"tune", "RECORDING", "search the loader's best setting: workers, prefetch, threads",
       makeTune},
      {"export", "-f FORMAT RECORDING", "a recording for other tools", makeExport},
      {"import", "FILE -o RECORDING", "a trace of PyTorch's profiler as a recording", makeImport},
      {"explain", "ID", "what a finding means, how it is found, when it is wrong", makeExplain},
      {"top", "[RECORDING|PID]", "a run that still goes on, live, from a second terminal", makeTop},
      {"doctor", "", "what this host lets us see, and what would show more", makeDoctor},
      {"completion", "SHELL", "completions for bash, zsh or fish, on stdout", makeCompletion},
  };
  return kVerbs;
}

const Verb* findVerb(std::string_view name) {
  const auto found = std::find_if(verbs().begin(), verbs().end(),
                                  [&](const Verb& verb) { return verb.name == name; });
  return found == verbs().end() ? nullptr : &*found;
}

std::string usage() {
  constexpr std::size_t kColumn = 42;
  std::string text = "stallprof finds what holds a training run back.\n\n";
  for (const Verb& verb : verbs()) {
    std::string line = "  stallprof " + std::string(verb.name);
    if (!verb.takes.empty()) line += " " + std::string(verb.takes);
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    text += line + std::string(verb.summary) + "\n";
  }
  return text + "  stallprof --version\n\nEach command has its own --help, and a manual page.\n";
}

}  // namespace stallprof
