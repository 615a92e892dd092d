// SPDX-License-Identifier: MIT
#include "stallprof/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/text.h"
#include "stallprof/config.h"

namespace stallprof {
namespace {

// "" or what is wrong with the configuration, as words of a command line.
std::string applyConfig(const Verb& verb, Command& command) {
  const auto config = configuredWords(std::string(verb.name));
  if (!config.ok()) return config.error().message;
  for (const ConfiguredWords& file : config.value()) {
    CLI::App app;
    command.declare(app);
    for (CLI::Option* option : app.get_options()) option->required(false);
    try {
      parseWords(app, file.words);
    } catch (const CLI::ParseError& error) {
      return escapeTerminal(file.file, 400) + ": [" + std::string(verb.name) + "] " +
             escapeTerminal(error.what(), 400);
    }
  }
  return "";
}

int usageError(const Verb& verb, const Command& command, const std::string& why) {
  std::fprintf(stderr, "stallprof: %s; see stallprof %s --help\n", why.c_str(),
               std::string(verb.name).c_str());
  return command.usageStatus();
}

template <class Number>
std::optional<Number> numberIn(const std::string& word, Number minimum, Number maximum) {
  Number value{};
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  const bool within = value >= minimum && value <= maximum;  // not of a NaN
  return error == std::errc() && stop == end && within ? std::optional(value) : std::nullopt;
}

// The words of a set that CLI11 writes as {a,b,c}.
std::vector<std::string> choicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.rfind('}');
  return open == std::string::npos || close == std::string::npos
             ? std::vector<std::string>()
             : CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

}  // namespace

void Command::parse(CLI::App& app, const std::vector<std::string>& words) {
  parseWords(app, words);
}

std::string Argument::longName() const {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [](const std::string& name) { return name.starts_with("--"); });
  return found == names.end() ? "" : *found;
}

int runVerb(const Verb& verb, const std::vector<std::string>& words) {
  const std::unique_ptr<Command> command = verb.make();
  CLI::App app("", "stallprof " + std::string(verb.name));
  command->declare(app);
  std::string why = applyConfig(verb, *command);
  try {
    command->parse(app, words);
    if (why.empty()) why = command->check();
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (why.empty()) why = escapeTerminal(error.what(), 400);
  }
  return why.empty() ? command->run() : usageError(verb, *command, why);
}

std::vector<Argument> argumentsOf(const Verb& verb) {
  const std::unique_ptr<Command> command = verb.make();
  CLI::App app;
  command->declare(app);
  std::vector<Argument> arguments;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;
    Argument argument;
    for (const std::string& name : option->get_snames()) argument.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) argument.names.push_back("--" + name);
    argument.option = !argument.names.empty();
    if (!argument.option) argument.names.push_back(option->get_name(true));
    argument.help = option->get_description();
    argument.choices = choicesOf(*option);
    argument.number = option->get_type_name().find("NONNEGATIVE") != std::string::npos;
    argument.takesValue = option->get_items_expected_max() > 0;
    argument.mayTakeValue = !option->get_fnames().empty();
    argument.repeats = option->get_items_expected_max() > 1;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

CLI::Option* addText(CLI::App& app, const std::string& names, std::string& into,
                     const std::string& help) {
  return app.add_option(names, into, help)->take_last();
}

CLI::Option* addChoice(CLI::App& app, const std::string& names, std::string& into,
                       const std::vector<std::string>& choices, const std::string& help) {
  return addText(app, names, into, help)->check(CLI::IsMember(choices));
}

CLI::Option* addRepeated(CLI::App& app, const std::string& names, std::vector<std::string>& into,
                         const std::string& help) {
  return app.add_option(names, into, help)->allow_extra_args(false);
}

CLI::Option* addNumber(CLI::App& app, const std::string& names, std::optional<double>& into,
                       const std::string& help) {
  const std::string name = names.substr(names.rfind(',') + 1);
  return addParsed(app, names, help, [name, &into](const std::string& text) {
    into = decimalNumber(text, 0, kLargestNumber);
    return notNegative(name, text);
  });
}

std::string notNegative(const std::string& name, const std::string& text) {
  if (decimalNumber(text, 0, kLargestNumber)) return {};
  return name + " takes a number, 0 or more, not " + inQuotes(text);
}

CLI::Option* addParsed(CLI::App& app, const std::string& names, const std::string& help,
                       std::function<std::string(const std::string&)> take) {
  const std::function<void(const std::string&)> checked = [take](const std::string& text) {
    if (const std::string why = take(text); !why.empty()) throw CLI::ValidationError(why);
  };
  return app.add_option_function(names, checked, help)->take_last();
}

CLI::Option* addWhole(CLI::App& app, const std::string& names, const WholeNumbers& numbers,
                      const std::string& help, std::function<void(unsigned)> take) {
  const std::string name = names.substr(names.rfind(',') + 1);
  return addParsed(app, names, help,
                   [name, numbers, take = std::move(take)](const std::string& text) -> std::string {
                     const auto value = wholeNumber(text, numbers.minimum, numbers.maximum);
                     if (!value)
                       return name + " takes " + numbers.takes + ", not " + inQuotes(text);
                     take(*value);
                     return "";
                   });
}

void parseWords(CLI::App& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // as CLI11 takes a vector
  app.parse(std::move(words));
}

std::vector<std::string> parseOptionsBefore(CLI::App& app, const std::vector<std::string>& words) {
  app.prefix_command();
  parseWords(app, words);
  std::vector<std::string> rest = app.remaining();
  if (rest.empty()) return rest;
  if (rest[0] == "--")
    rest.erase(rest.begin());
  else if (rest[0].size() > 1 && rest[0][0] == '-')
    throw CLI::ExtrasError(std::vector<std::string>{rest[0]});
  return rest;
}

SplitWords splitAtDashes(const std::vector<std::string>& words) {
  SplitWords split;
  const auto dashes = std::find(words.begin(), words.end(), "--");
  split.before.assign(words.begin(), dashes);
  split.dashes = dashes != words.end();
  if (split.dashes) split.after.assign(dashes + 1, words.end());
  return split;
}

std::optional<unsigned> wholeNumber(const std::string& word, unsigned minimum, unsigned maximum) {
  return numberIn(word, minimum, maximum);
}

std::optional<double> decimalNumber(const std::string& word, double minimum, double maximum) {
  return numberIn(word, minimum, maximum);
}

std::optional<std::uint64_t> byteSize(const std::string& word, std::uint64_t minimum) {
  constexpr std::string_view kUnits = "kMG";
  const std::size_t unit = word.empty() ? std::string_view::npos : kUnits.find(word.back());
  const bool plain = unit == std::string_view::npos;
  double bytes = plain ? 1 : 1000;
  for (std::size_t i = 0; !plain && i < unit; ++i) bytes *= 1000;
  const auto count = decimalNumber(plain ? word : word.substr(0, word.size() - 1),
                                   static_cast<double>(minimum) / bytes, 1e18 / bytes);
  return count ? std::optional(static_cast<std::uint64_t>(*count * bytes)) : std::nullopt;
}

}  // namespace stallprof
