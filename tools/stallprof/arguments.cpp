// SPDX-License-Identifier: MIT
#include "stallprof/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/text.h"

namespace stallprof {

std::optional<int> parseArguments(const std::string& verb, const std::string& about,
                                  const std::vector<Argument>& arguments,
                                  std::vector<std::string> words) {
  CLI::App app(about, "stallprof " + verb);
  for (const Argument& argument : arguments) {
    CLI::Option* option = argument.many != nullptr
                              ? app.add_option(argument.names, *argument.many, argument.help)
                              : app.add_option(argument.names, *argument.text, argument.help);
    if (argument.many == nullptr) option->take_last();
    // An option that repeats takes one word each time, and leaves the places theirs.
    if (argument.many != nullptr && argument.names[0] == '-') option->allow_extra_args(false);
    if (argument.required) option->required();
    if (argument.number) option->check(CLI::NonNegativeNumber);
    if (!argument.choices.empty()) option->check(CLI::IsMember(argument.choices));
  }
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes a vector
    app.parse(std::move(words));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "stallprof: %s; see stallprof %s --help\n",
                 escapeTerminal(error.what(), 400).c_str(), verb.c_str());
    return 2;
  }
}

std::vector<std::string> joinedWords(const Words& words) {
  std::vector<std::string> all = words.before;
  if (words.dashes) all.emplace_back("--");
  all.insert(all.end(), words.after.begin(), words.after.end());
  return all;
}

}  // namespace stallprof
