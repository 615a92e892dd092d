// SPDX-License-Identifier: MIT
#include "stallprof/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "stallprof/config.h"

namespace stallprof {
namespace {

VerbHelp* asked = nullptr;  // set while helpOf asks a verb

void declare(CLI::App& app, const Argument& argument) {
  if (argument.flag != nullptr) {
    app.add_flag(argument.names, *argument.flag, argument.help);
    return;
  }
  CLI::Option* option = argument.many != nullptr
                            ? app.add_option(argument.names, *argument.many, argument.help)
                            : app.add_option(argument.names, *argument.text, argument.help);
  if (argument.many == nullptr) option->take_last();
  // An option that repeats takes one word each time, and leaves the places theirs.
  if (argument.many != nullptr && argument.option()) option->allow_extra_args(false);
  if (argument.number) option->check(CLI::NonNegativeNumber);
  if (!argument.choices.empty()) option->check(CLI::IsMember(argument.choices));
}

// "" or what is wrong with the configuration, as words of a command line.
std::string takeConfig(const std::string& verb, const std::vector<Argument>& arguments) {
  const auto config = configuredWords(verb);
  if (!config.ok()) return config.error().message;
  for (const ConfiguredWords& file : config.value()) {
    CLI::App app;
    for (const Argument& argument : arguments)
      if (argument.option()) declare(app, argument);
    std::vector<std::string> words(file.words.rbegin(), file.words.rend());
    try {
      app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
      return escapeTerminal(file.file, 400) + ": [" + verb + "] " +
             escapeTerminal(error.what(), 400);
    }
  }
  return "";
}

bool asksForHelp(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const auto& word) { return word == "-h" || word == "--help"; });
}

int usage(const std::string& verb, const std::string& why, int status) {
  std::fprintf(stderr, "stallprof: %s; see stallprof %s --help\n", why.c_str(), verb.c_str());
  return status;
}

}  // namespace

std::vector<std::string> Argument::spellings() const {
  std::vector<std::string> list;
  for (std::size_t from = 0; from <= names.size();) {
    const std::size_t comma = std::min(names.find(',', from), names.size());
    list.push_back(names.substr(from, comma - from));
    from = comma + 1;
  }
  return list;
}

std::string Argument::longName() const {
  for (const std::string& name : spellings())
    if (name.starts_with("--")) return name;
  return "";
}

std::optional<int> parseArguments(const std::string& verb, const std::string& about,
                                  const std::vector<Argument>& arguments,
                                  std::vector<std::string> words, int usageStatus) {
  if (asked != nullptr) {
    *asked = {verb, about, arguments};
    return 0;
  }
  CLI::App app(about, "stallprof " + verb);
  for (const Argument& argument : arguments) {
    declare(app, argument);
    if (argument.required) app.get_option(argument.spellings()[0])->required();
  }
  if (!asksForHelp(words))
    if (const std::string why = takeConfig(verb, arguments); !why.empty())
      return usage(verb, why, usageStatus);
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes a vector
    app.parse(std::move(words));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    return usage(verb, escapeTerminal(error.what(), 400), usageStatus);
  }
}

VerbHelp helpOf(int (*verb)(const Words&)) {
  VerbHelp help;
  VerbHelp* const outer = std::exchange(asked, &help);
  (void)verb({});
  asked = outer;
  return help;
}

std::size_t optionWords(const std::vector<Argument>& arguments,
                        const std::vector<std::string>& words) {
  std::size_t i = 0;
  while (i < words.size() && words[i].size() > 1 && words[i][0] == '-') {
    const bool attached =
        words[i].find('=') != std::string::npos || (words[i][1] != '-' && words[i].size() > 2);
    const bool takesValue =
        std::any_of(arguments.begin(), arguments.end(), [&](const Argument& argument) {
          const auto names = argument.spellings();
          return argument.flag == nullptr &&
                 std::find(names.begin(), names.end(), words[i]) != names.end();
        });
    i += !attached && takesValue ? 2 : 1;
  }
  return std::min(i, words.size());
}

std::vector<std::string> joinedWords(const Words& words) {
  std::vector<std::string> all = words.before;
  if (words.dashes) all.emplace_back("--");
  all.insert(all.end(), words.after.begin(), words.after.end());
  return all;
}

}  // namespace stallprof
