// SPDX-License-Identifier: MIT
#include "stallprof/config.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "gate/metrics.h"
#include "settings/toml_file.h"
#include "stallprof/command_line.h"

namespace stallprof {
namespace {

// A file a person writes; a pyproject.toml holds much else.
constexpr std::size_t kLargestFile = 1u << 20, kMaxValues = 256;
constexpr std::string_view kOurs = "stallprof";

// Whether a line is [WORD].
bool isCommandHeader(std::string_view row) {
  return row.size() >= 2 && row[1] >= 'a' && row[1] <= 'z';
}

// Whether a name may follow the brackets of such a line, or it is a row of a list.
bool isHeaderOrList(std::string_view row) {
  row.remove_prefix(std::min(row.find_first_not_of("[ \t"), row.size()));
  const auto isWord = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !row.empty() && (isWord(row[0]) || row[0] == '"' || row[0] == '\'' || row[0] == '_');
}

// One file on its way to the words of one command.
class ConfigReader : TomlFile {
 public:
  ConfigReader(std::string file, std::string verb)
      : TomlFile(std::move(file)), verb_(std::move(verb)) {}

  Result<ConfiguredWords> read(std::string_view text) {
    const Limits limits = {kLargestFile, "larger than 1 MiB", isCommandHeader,
                           "a line that begins with [ must be a command of stallprof: [run]"};
    const Result<TomlTable> top = parse(text, limits);
    if (!top.ok()) return top.error();
    return readVerbs(top.value());
  }

  // [tool.stallprof], however it is written.
  Result<ConfiguredWords> readPyproject(std::string_view text) {
    const Limits limits = {kLargestFile, "larger than 1 MiB", isHeaderOrList,
                           "a name must follow the brackets of a header"};
    const Result<TomlTable> top = parse(text, limits);
    if (!top.ok() && text.find("tool.stallprof") == std::string_view::npos)
      return ConfiguredWords{file_, {}};
    if (!top.ok()) return top.error();
    const TomlTable* ours = &top.value();
    for (const std::string_view name : {std::string_view("tool"), kOurs}) {
      const TomlValue* const found = ours->find(name);
      ours = found != nullptr ? found->as<TomlTable>() : nullptr;
      if (ours == nullptr) return ConfiguredWords{file_, {}};
    }
    return readVerbs(*ours);
  }

 private:
  Result<ConfiguredWords> readVerbs(const TomlTable& table) {
    for (const auto& [key, node] : table.entries) readVerb(key, node);
    if (wrong_) return *wrong_;
    return ConfiguredWords{file_, std::move(words_)};
  }

  void readVerb(std::string_view name, const TomlValue& node) {
    const Verb* verb = findVerb(name);
    const auto* table = node.as<TomlTable>();
    if (verb == nullptr || table == nullptr) {
      std::vector<std::string_view> names;
      for (const Verb& each : verbs()) names.push_back(each.name);
      return fail(node, inQuotes(name) + " is not a table of a command, such as [run]" +
                            didYouMean(name, names));
    }
    const std::vector<Argument> arguments = argumentsOf(*verb);
    for (const auto& [key, value] : table->entries) readKey(name, arguments, key, value);
  }

  void readKey(std::string_view verb, const std::vector<Argument>& arguments, std::string_view key,
               const TomlValue& value) {
    const auto found = std::find_if(arguments.begin(), arguments.end(), [&](const Argument& a) {
      return a.longName() == "--" + std::string(key);
    });
    if (found == arguments.end()) {
      std::vector<std::string> names;
      for (const Argument& argument : arguments)
        if (argument.longName().size() > 2) names.push_back(argument.longName().substr(2));
      const std::vector<std::string_view> views(names.begin(), names.end());
      return fail(value, inQuotes(key) + " is not an option of stallprof " + std::string(verb) +
                             didYouMean(key, views));
    }
    const auto words = wordsOf(*found, value);
    if (wrong_ || verb != verb_) return;
    words_.insert(words_.end(), words.begin(), words.end());
  }

  std::vector<std::string> wordsOf(const Argument& argument, const TomlValue& value) {
    const std::string name = argument.longName();
    if (!argument.takesValue) {
      if (const auto* on = value.as<bool>())
        return *on ? std::vector{name} : std::vector<std::string>();
      if (argument.mayTakeValue) return {name + "=" + textOf(argument, value)};
      fail(value, name.substr(2) + " takes true or false");
      return {};
    }
    const auto* list = value.as<TomlValue::List>();
    if (list == nullptr) return {name + "=" + textOf(argument, value)};
    std::vector<std::string> words;
    if (!argument.repeats || list->size() > kMaxValues)
      fail(value, name.substr(2) + " takes one value");
    else
      for (const TomlValue& each : *list) words.push_back(name + "=" + textOf(argument, each));
    return words;
  }

  std::string textOf(const Argument& argument, const TomlValue& value) {
    if (std::string text = value.text(); !text.empty()) return text;
    if (const auto* whole = value.as<std::int64_t>()) return std::to_string(*whole);
    if (const auto* number = value.as<double>()) return fmt::format("{}", *number);
    fail(value, argument.longName().substr(2) + " takes a string or a number");
    return "";
  }

  std::string verb_;
  std::vector<std::string> words_;
};

// Other tools' file, in which we have a table.
bool isPyproject(const std::string& file) {
  return std::string_view(file).substr(file.rfind('/') + 1) == "pyproject.toml";
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

// Of the working directory: what others put into a place of everybody's is not the user's. Its
// options may load a library into the command (`env`, `allocator`).
Status checkOwner(const std::string& file) {
  struct stat directory {
  }, own{};
  if (file.find('/') != std::string::npos || ::stat(".", &directory) != 0 ||
      ::stat(file.c_str(), &own) != 0)
    return Done{};
  if ((directory.st_mode & S_IWOTH) == 0 || own.st_uid == 0 || own.st_uid == ::geteuid())
    return Done{};
  return Error{Error::Kind::kUsage, file +
                                        " in this directory belongs to another user: "
                                        "STALLPROF_CONFIG=" +
                                        file +
                                        " reads it anyway, STALLPROF_CONFIG=none reads no file"};
}

}  // namespace

Result<std::vector<ConfiguredWords>> configuredWords(const std::string& verb) {
  std::vector<ConfiguredWords> all;
  const char* const named = std::getenv("STALLPROF_CONFIG");
  for (const std::string& file : filesToRead()) {
    const Result<std::string> text = readFile(file, kLargestFile);
    if (!text.ok()) return text.error();
    const bool shared = isPyproject(file);
    // What other tools have there is none of our business, nor whether it can be read.
    if (shared ? text.value().find(kOurs) == std::string::npos
               : text.value().find_first_not_of(" \t\r\n") == std::string::npos)
      continue;
    if (named == nullptr || named[0] == '\0')
      if (const Status owner = checkOwner(file); !owner.ok()) return owner.error();
    ConfigReader reader(file, verb);
    auto words = shared ? reader.readPyproject(text.value()) : reader.read(text.value());
    if (!words.ok()) return words.error();
    all.push_back(std::move(words).value());
  }
  return all;
}

}  // namespace stallprof
