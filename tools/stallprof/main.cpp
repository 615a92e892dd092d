// SPDX-License-Identifier: MIT
// The table of contents: a verb is a function in the file of its name.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/text.h"
#include "stallprof/command.h"
#include "stallprof/usage.h"

int main(int argc, char** argv) {
  using namespace stallprof;
  const std::vector<std::string> all(argv + std::min(argc, 1), argv + argc);
  const std::string verb = all.empty() ? "--help" : all[0];
  if (verb == "--version") return std::puts(kVersionLine), 0;
  if (verb == "--help" || verb == "-h" || verb == "help") return std::fputs(kUsage, stdout), 0;

  Words words;
  const auto dashes = std::find(all.begin() + 1, all.end(), "--");
  words.before.assign(all.begin() + 1, dashes);
  words.dashes = dashes != all.end();
  if (words.dashes) words.after.assign(dashes + 1, all.end());

  const std::map<std::string, int (*)(const Words&)> verbs = {
      {"run", verbRun},         {"report", verbReport},   {"doctor", verbDoctor},
      {"explain", verbExplain}, {"compare", verbCompare}, {"export", verbExport},
      {"gate", verbGate},       {"import", verbImport}};
  if (const auto found = verbs.find(verb); found != verbs.end()) return found->second(words);

  const std::set<std::string> planned = {"verify", "merge", "attach", "top", "completion"};
  const char* what = planned.count(verb) != 0
                         ? "is not built yet in this version"
                         : "is not a command of stallprof; see stallprof --help";
  std::fprintf(stderr, "stallprof: '%s' %s\n", escapeTerminal(verb, 64).c_str(), what);
  return 2;
}
