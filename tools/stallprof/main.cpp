// SPDX-License-Identifier: MIT
// The first word is a verb: a function in the file of its name (verbs.cpp lists them).
#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "launch/setup/child_environment.h"
#include "stallprof/command_line.h"
#include "stallprof/output.h"
#include "stallprof/version.h"

int main(int argc, char** argv) {
  using namespace stallprof;
  restoreEnvironment();
  const std::vector<std::string> all(argv + std::min(argc, 1), argv + argc);
  std::string verb = all.empty() ? "--help" : all[0];
  std::vector<std::string> words(all.begin() + (all.empty() ? 0 : 1), all.end());
  if (verb == "help" && words.size() == 1) {  // as `VERB --help`
    verb = words[0];
    words = {"--help"};
  }
  if (verb == "--version") return afterPrinting(std::puts("stallprof " STALLPROF_VERSION) < 0);
  if (verb == "--help" || verb == "-h" || verb == "help")
    return afterPrinting(std::fputs(usage().c_str(), stdout) < 0);

  if (verb == "manual") return runVerb({"manual", "", "", makeManual}, words);  // for the build
  if (const Verb* found = findVerb(verb)) return afterPrinting(runVerb(*found, words));

  std::fprintf(stderr, "stallprof: '%s' is not a command of stallprof; see stallprof --help\n",
               escapeTerminal(verb, 64).c_str());
  return 2;
}
