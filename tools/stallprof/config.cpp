// SPDX-License-Identifier: MIT
#include "stallprof/config.h"

#include <sys/stat.h>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "gate/metrics.h"
#include "stallprof/arguments.h"
#include "stallprof/verbs.h"

namespace stallprof {
namespace {

// A file a person writes; a pyproject.toml holds much else.
constexpr std::size_t kLargestFile = 1u << 20, kMostValues = 256;
constexpr std::string_view kOursInPyproject = "[tool.stallprof.";

// One file on its way to the words of one verb; the first complaint ends it.
class ConfigReader {
 public:
  ConfigReader(std::string file, std::string verb)
      : file_(std::move(file)), verb_(std::move(verb)) {}

  Result<ConfiguredWords> read(std::string_view text) {
    if (const std::uint32_t line = strangeHeader(text))
      return complain(line, "a line may begin with [ only as a command of stallprof: [run]");
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed)
      return complain(parsed.error().source().begin.line,
                      escapeTerminal(parsed.error().description(), 300));
    for (const auto& [key, node] : parsed.table()) readVerb(key.str(), node);
    if (wrong_) return *wrong_;
    return ConfiguredWords{file_, std::move(words_)};
  }

 private:
  // The first line that begins with [ and is no [WORD]; 0: none. toml++ 3.3 takes for granted that
  // a name follows the brackets of a header, and without assertions builds on it.
  static std::uint32_t strangeHeader(std::string_view text) {
    for (std::uint32_t line = 1; !text.empty(); ++line) {
      std::string_view row = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(row.size() + 1, text.size()));
      row.remove_prefix(std::min(row.find_first_not_of(" \t"), row.size()));
      if (row.starts_with('[') && (row.size() < 2 || row[1] < 'a' || row[1] > 'z')) return line;
    }
    return 0;
  }

  Error complain(std::uint32_t line, const std::string& why) const {
    return {Error::Kind::kUsage,
            escapeTerminal(file_, 400) + ":" + std::to_string(line) + ": " + why};
  }
  void fail(const toml::node& at, const std::string& why) {
    if (!wrong_) wrong_ = complain(at.source().begin.line, why);
  }

  void readVerb(std::string_view name, const toml::node& node) {
    const Verb* verb = findVerb(name);
    const toml::table* table = node.as_table();
    if (verb == nullptr || table == nullptr) {
      std::vector<std::string_view> names;
      for (const Verb& each : verbs()) names.push_back(each.name);
      return fail(node, inQuotes(name) + " is no table of a command, as in [run]" +
                            didYouMean(name, names));
    }
    const VerbHelp help = helpOf(verb->call);
    for (const auto& [key, value] : *table) readKey(name, help, key.str(), value);
  }

  void readKey(std::string_view verb, const VerbHelp& help, std::string_view key,
               const toml::node& value) {
    const auto found =
        std::find_if(help.arguments.begin(), help.arguments.end(),
                     [&](const Argument& a) { return a.longName() == "--" + std::string(key); });
    if (found == help.arguments.end()) {
      std::vector<std::string> names;
      for (const Argument& argument : help.arguments)
        if (argument.longName().size() > 2) names.push_back(argument.longName().substr(2));
      const std::vector<std::string_view> views(names.begin(), names.end());
      return fail(value, inQuotes(key) + " is no option of stallprof " + std::string(verb) +
                             didYouMean(key, views));
    }
    const auto words = wordsOf(*found, value);
    if (wrong_ || verb != verb_) return;
    words_.insert(words_.end(), words.begin(), words.end());
  }

  std::vector<std::string> wordsOf(const Argument& argument, const toml::node& value) {
    const std::string name = argument.longName();
    if (argument.flag != nullptr) {
      if (const auto on = value.value_exact<bool>())
        return *on ? std::vector{name} : std::vector<std::string>();
      return fail(value, name.substr(2) + " takes true or false"), std::vector<std::string>();
    }
    const toml::array* list = value.as_array();
    if (list == nullptr) return {name + "=" + textOf(argument, value)};
    std::vector<std::string> words;
    if (argument.many == nullptr || list->size() > kMostValues)
      fail(value, name.substr(2) + " takes one value");
    else
      for (const toml::node& each : *list) words.push_back(name + "=" + textOf(argument, each));
    return words;
  }

  std::string textOf(const Argument& argument, const toml::node& value) {
    if (const auto text = value.value_exact<std::string>(); text && !text->empty()) return *text;
    if (const auto whole = value.value_exact<std::int64_t>()) return std::to_string(*whole);
    if (const auto number = value.value_exact<double>()) return std::to_string(*number);
    fail(value, argument.longName().substr(2) + " takes a text or a number");
    return "";
  }

  std::string file_, verb_;
  std::vector<std::string> words_;
  std::optional<Error> wrong_;
};

// Our tables of a pyproject.toml as a file of our own, each line where it was. The rest of that
// file is other tools', and none of our business.
std::string oursOf(std::string_view text) {
  std::string ours;
  bool inside = false;
  while (!text.empty()) {
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(row.size() + 1, text.size()));
    if (row.starts_with('[')) inside = row.starts_with(kOursInPyproject);
    if (inside && row.starts_with('['))
      ours.append("[").append(row.substr(kOursInPyproject.size()));
    else if (inside)
      ours.append(row);
    ours += '\n';
  }
  return ours;
}

bool isFile(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string userFile() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && config[0] == '/') return std::string(config) + "/stallprof/config.toml";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.config/stallprof/config.toml"
                                           : "";
}

std::vector<std::string> filesToRead() {
  constexpr char kProject[] = "stallprof.toml", kPyproject[] = "pyproject.toml";
  const char* named = std::getenv("STALLPROF_CONFIG");
  if (named != nullptr && named[0] != '\0')
    return std::string_view(named) == "none" ? std::vector<std::string>()
                                             : std::vector<std::string>{named};
  std::vector<std::string> files;
  if (isFile(userFile())) files.push_back(userFile());
  if (isFile(kProject))
    files.emplace_back(kProject);
  else if (isFile(kPyproject))
    files.emplace_back(kPyproject);
  return files;
}

}  // namespace

Result<std::vector<ConfiguredWords>> configuredWords(const std::string& verb) {
  std::vector<ConfiguredWords> all;
  for (const std::string& file : filesToRead()) {
    const Result<std::string> text = readFile(file, kLargestFile);
    if (!text.ok()) return text.error();
    auto words = file == "pyproject.toml" ? ConfigReader(file, verb).read(oursOf(text.value()))
                                          : ConfigReader(file, verb).read(text.value());
    if (!words.ok()) return words.error();
    all.push_back(std::move(words).value());
  }
  return all;
}

}  // namespace stallprof
