// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stallprof/command.h"
#include "stallprof/verbs.h"

namespace stallprof {

// Parses `words`, after the configuration's (config.h), and runs the command. The exit status.
[[nodiscard]] int runVerb(const Verb& verb, const std::vector<std::string>& words);

// An option or place of a command, as CLI11 knows it.
struct Argument {
  std::vector<std::string> names;  // {"-o", "--output"}; of a place one
  std::string help;
  std::vector<std::string> choices;  // empty: any
  bool option = true;                // else a place
  bool takesValue = true;
  bool mayTakeValue = false;  // as --gpu=windows: without one it has its own
  bool repeats = false;
  bool number = false;  // takes a number: no file is offered

  [[nodiscard]] std::string longName() const;  // with its dashes; "": none
};
[[nodiscard]] std::vector<Argument> argumentsOf(const Verb& verb);  // --help is not among them

// Options of the kinds that commands share. Of one that takes a text the last one given counts.
CLI::Option* addText(CLI::App& app, const std::string& names, std::string& into,
                     const std::string& help);
CLI::Option* addChoice(CLI::App& app, const std::string& names, std::string& into,
                       const std::vector<std::string>& choices, const std::string& help);
// One value each time that it is given.
CLI::Option* addRepeated(CLI::App& app, const std::string& names, std::vector<std::string>& into,
                         const std::string& help);
// A number, not negative.
inline constexpr double kLargestNumber = 1e18;
CLI::Option* addNumber(CLI::App& app, const std::string& names, std::optional<double>& into,
                       const std::string& help);
// What is wrong with such a number, or "".
[[nodiscard]] std::string notNegative(const std::string& name, const std::string& text);
// A text for `take`, which returns what is wrong with it, or "".
CLI::Option* addParsed(CLI::App& app, const std::string& names, const std::string& help,
                       std::function<std::string(const std::string&)> take);
// A whole number for `take`; the error for any other text says what the option `takes`.
struct WholeNumbers {
  unsigned minimum, maximum;
  std::string takes;
};
CLI::Option* addWhole(CLI::App& app, const std::string& names, const WholeNumbers& numbers,
                      const std::string& help, std::function<void(unsigned)> take);

// Parses `words` on `app`.
void parseWords(CLI::App& app, std::vector<std::string> words);
// Parses options up to the first word that is none, or "--"; what follows, without that "--".
[[nodiscard]] std::vector<std::string> parseOptionsBefore(CLI::App& app,
                                                          const std::vector<std::string>& words);

// Words split at the first bare "--": two lists, such as base and head.
struct SplitWords {
  std::vector<std::string> before, after;
  bool dashes = false;  // there was a bare "--"
};
[[nodiscard]] SplitWords splitAtDashes(const std::vector<std::string>& words);

// The whole of `word` as a number from `minimum` to `maximum`; empty where it is none.
[[nodiscard]] std::optional<unsigned> wholeNumber(const std::string& word, unsigned minimum,
                                                  unsigned maximum);
[[nodiscard]] std::optional<double> decimalNumber(const std::string& word, double minimum,
                                                  double maximum);
// "500M": bytes, in thousands (k), millions (M) or milliards (G); at least `minimum`.
[[nodiscard]] std::optional<std::uint64_t> byteSize(const std::string& word, std::uint64_t minimum);

}  // namespace stallprof
