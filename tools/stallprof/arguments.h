// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stallprof/command.h"

namespace stallprof {

// One thing a verb takes. Exactly one of `text` and `many` is set: where its value goes.
struct Argument {
  std::string names;  // "-o,--output" for an option, "recording" for a place
  std::string help;
  std::string* text = nullptr;
  std::vector<std::string>* many = nullptr;
  std::vector<std::string> choices = {};  // empty: any
  bool required = false;
  bool number = false;  // not negative
};

// Fills the arguments from `words`. Empty: go on; else the exit status, everything said: 0 after
// --help, 2 after a usage error.
[[nodiscard]] std::optional<int> parseArguments(const std::string& verb, const std::string& about,
                                                const std::vector<Argument>& arguments,
                                                std::vector<std::string> words);

// All the words of a verb to which a bare `--` means no more than "no options after this".
[[nodiscard]] std::vector<std::string> joinedWords(const Words& words);

}  // namespace stallprof
