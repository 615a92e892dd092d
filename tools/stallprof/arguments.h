// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stallprof/command.h"

namespace stallprof {

// One thing a verb takes. Exactly one of `text`, `many` and `flag` is set: where its value goes.
struct Argument {
  std::string names;  // "-o,--output" for an option, "recording" for a place
  std::string help;
  std::string* text = nullptr;
  std::vector<std::string>* many = nullptr;
  std::vector<std::string> choices = {};  // empty: any
  bool required = false;
  bool number = false;   // not negative
  bool* flag = nullptr;  // an option without a value

  [[nodiscard]] bool option() const { return names[0] == '-'; }
  // The names as a list: {"-o", "--output"}; and the one that begins with two dashes, or "".
  [[nodiscard]] std::vector<std::string> spellings() const;
  [[nodiscard]] std::string longName() const;
};

// What a verb takes, as it tells parseArguments: for completions, manual pages and the
// configuration. Nothing in it may be written through.
struct VerbHelp {
  std::string verb, about;
  std::vector<Argument> arguments;
};

// Fills the arguments: first from the configuration (config.h), then from `words`. Empty: go on;
// else the exit status, everything said: 0 after --help, `usageStatus` after a usage error.
[[nodiscard]] std::optional<int> parseArguments(const std::string& verb, const std::string& about,
                                                const std::vector<Argument>& arguments,
                                                std::vector<std::string> words,
                                                int usageStatus = 2);

// Asks a verb what it takes: it is called, and its parseArguments answers instead of parsing.
// Not for more than one thread.
[[nodiscard]] VerbHelp helpOf(int (*verb)(const Words&));

// How many of `words` are options of `arguments` with their values: what follows is no option.
[[nodiscard]] std::size_t optionWords(const std::vector<Argument>& arguments,
                                      const std::vector<std::string>& words);

// All the words of a verb to which a bare `--` means no more than "no options after this".
[[nodiscard]] std::vector<std::string> joinedWords(const Words& words);

}  // namespace stallprof
