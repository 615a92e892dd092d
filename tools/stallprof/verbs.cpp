// SPDX-License-Identifier: MIT
#include "stallprof/verbs.h"

#include <algorithm>

namespace stallprof {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs = {
      {"run", "[options] -- COMMAND...", "record a training command and print a report", makeRun},
      {"attach", "-p PID", "record a running program from outside", makeAttach},
      {"report", "RECORDING", "print the report of a recording, in any format", makeReport},
      {"compare", "BASE... -- HEAD...", "compare two sets of runs", makeCompare},
      {"gate", "BASE... -- HEAD...",
       "decide whether a change passes: exit status 1 on a regression", makeGate},
      {"verify", "RECORDING", "run the command with fixes of its report: measured gains",
       makeVerify},
      {"tune", "RECORDING", "search the loader's best settings: workers, prefetch, threads",
       makeTune},
      {"export", "-f FORMAT RECORDING", "export a recording for other tools", makeExport},
      {"import", "FILE -o RECORDING", "import a trace of PyTorch's profiler", makeImport},
      {"explain", "ID", "explain a finding: meaning, rule, fixes, limits", makeExplain},
      {"top", "[RECORDING|PID]", "show a running recording in a second terminal", makeTop},
      {"doctor", "", "list available data sources, and how to enable more", makeDoctor},
      {"completion", "SHELL", "print a completion script for bash, zsh or fish", makeCompletion},
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
  std::string text = "stallprof finds why a training run is slow.\n\n";
  for (const Verb& verb : verbs()) {
    std::string line = "  stallprof " + std::string(verb.name);
    if (!verb.takes.empty()) line += " " + std::string(verb.takes);
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    text += line + std::string(verb.summary) + "\n";
  }
  return text + "  stallprof --version\n\nEach command has its own --help, and a manual page.\n";
}

}  // namespace stallprof
