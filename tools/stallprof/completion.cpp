// SPDX-License-Identifier: MIT
#include "stallprof/completion.h"

#include <algorithm>
#include <vector>

#include "advise/explain.h"
#include "base/text.h"
#include "stallprof/command_line.h"
#include "stallprof/output.h"

namespace stallprof {
namespace {

std::vector<std::string> verbNames() {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.emplace_back(verb.name);
  return names;
}

// The first words of a help text inside single quotes, without what a completion takes for its own.
// What comes before a semicolon, colon or bracket is enough, unless that is a word or two.
std::string brief(const std::string& help) {
  constexpr std::size_t kEnough = 10, kMax = 60;
  std::size_t end = help.find_first_of(";:([", kEnough);
  if (end == std::string::npos) end = help.size();
  if (end > kMax) end = std::min(end, help.rfind(' ', kMax));
  std::string text = help.substr(0, end);
  while (text.ends_with(' ') || text.ends_with(',')) text.pop_back();
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') quoted += "'\\''";  // ends the quotes, says one, begins them again
    if (c == ':') quoted += ',';
    if (c != '\'' && c != '\\' && c != ']' && c != '[' && c != ':') quoted += c;
  }
  return quoted;
}

// Words that may stand where the verb takes something that is no file. Empty: it takes files.
std::vector<std::string> wordsFor(const Argument& place) {
  if (place.names[0] != "id") return place.choices;
  std::vector<std::string> ids;
  for (const std::string_view id : explainedIds()) ids.emplace_back(id);
  return ids;
}

// What each verb adds to the bash function's three questions.
struct BashParts {
  std::string options, values, places, runValues;
};

BashParts bashParts() {
  BashParts parts;
  for (const Verb& verb : verbs()) {
    const std::string name(verb.name);
    std::vector<std::string> options = {"--help"};
    for (const Argument& argument : argumentsOf(verb)) {
      const auto& spellings = argument.names;
      if (!argument.option) {
        if (const auto words = wordsFor(argument); !words.empty())
          parts.places += "    " + name + ") words='" + joined(words, " ") + "' ;;\n";
        continue;
      }
      options.insert(options.end(), spellings.begin(), spellings.end());
      if (!argument.takesValue) continue;
      if (name == "run")
        parts.runValues += (parts.runValues.empty() ? "" : " | ") + joined(spellings, " | ");
      if (!argument.choices.empty())
        parts.values += "    " + name + ":" + joined(spellings, " | " + name + ":") + ") words='" +
                        joined(argument.choices, " ") + "' ;;\n";
    }
    parts.options += "    " + name + ") words='" + joined(options, " ") + "' ;;\n";
  }
  return parts;
}

std::string zshSpec(const Argument& argument) {
  if (!argument.option) {
    const auto words = wordsFor(argument);
    return "'" + std::string(argument.repeats ? "*" : "") + ":" + argument.names[0] + ":" +
           (words.empty() ? "_files" : "(" + joined(words, " ") + ")") + "'";
  }
  const auto& names = argument.names;
  std::string value;
  if (argument.takesValue)
    value = ":value:" + (argument.choices.empty() ? (argument.number ? "" : "_files")
                                                  : "(" + joined(argument.choices, " ") + ")");
  const std::string rest = "'[" + brief(argument.help) + "]" + value + "'";
  const std::string mark = argument.takesValue ? "=" : "";
  const std::string repeats = argument.repeats ? "'*'" : "";
  if (names.size() == 1) return repeats + names[0] + mark + rest;
  const std::string excludes = argument.repeats ? "'*'" : "'(" + joined(names, " ") + ")'";
  return excludes + "{" + names[0] + (mark.empty() ? "" : "+") + "," + names[1] + mark + "}" + rest;
}

std::string fishLine(const std::string& verb, const Argument& argument) {
  std::string line = "complete -c stallprof -n '__fish_seen_subcommand_from " + verb + "'";
  if (!argument.option) {
    const auto words = wordsFor(argument);
    return words.empty() ? "" : line + " -f -a '" + joined(words, " ") + "'\n";
  }
  for (const std::string& name : argument.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (argument.takesValue)
    line += argument.choices.empty() ? " -r" : " -x -a '" + joined(argument.choices, " ") + "'";
  return line + " -d '" + brief(argument.help) + "'\n";
}

}  // namespace

std::string bashCompletion() {
  const BashParts parts = bashParts();
  return "# bash completion for stallprof; made by `stallprof completion bash`\n"
         "_stallprof() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local verb=${COMP_WORDS[1]} words='' i\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '" +
         joined(verbNames(), " ") +
         " --help --version' -- \"$cur\"))\n"
         "    return\n"
         "  fi\n"
         "  if [[ $verb == run ]]; then  # its options end at the first word that is none\n"
         "    for ((i = 2; i < COMP_CWORD; ++i)); do\n"
         "      case ${COMP_WORDS[i]} in\n"
         "        --) ((++i)); break ;;\n"
         "        " +
         parts.runValues +
         ") [[ ${COMP_WORDS[i+1]} == = ]] && ((++i)); ((++i)) ;;\n"
         "        -*) ;;\n"
         "        *) break ;;\n"
         "      esac\n"
         "    done\n"
         "    if ((i < COMP_CWORD)) || [[ $prev == -- || ( $i -eq $COMP_CWORD && $cur != -* ) ]]; "
         "then\n"
         "      if declare -F _command_offset >/dev/null; then\n"
         "        _command_offset $i\n"
         "      elif ((i == COMP_CWORD)); then\n"
         "        COMPREPLY=($(compgen -c -- \"$cur\"))\n"
         "      fi\n"
         "      return\n"
         "    fi\n"
         "  fi\n"
         "  [[ $cur == = ]] && cur=''  # bash takes --option=value for three words\n"
         "  [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  case $verb:$prev in\n" +
         parts.values +
         "  esac\n"
         "  if [[ -z $words && $cur == -* ]]; then\n"
         "    case $verb in\n" +
         parts.options +
         "    esac\n"
         "  fi\n"
         "  if [[ -z $words && $prev != -* ]]; then\n"
         "    case $verb in\n" +
         parts.places +
         "    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "}\n"
         "complete -o default -F _stallprof stallprof\n";
}

std::string zshCompletion() {
  std::string text =
      "#compdef stallprof\n"
      "# zsh completion for stallprof; made by `stallprof completion zsh`\n"
      "_stallprof() {\n"
      "  local -a verbs  # $commands is zsh's own table, which completes the command of a run\n"
      "  verbs=(\n";
  for (const Verb& verb : verbs())
    text += "    '" + std::string(verb.name) + ":" + brief(std::string(verb.summary)) + "'\n";
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $verb in\n";
  for (const Verb& verb : verbs()) {
    text += "    " + std::string(verb.name) + ") _arguments -s -S '--help[show the options]'";
    for (const Argument& argument : argumentsOf(verb)) text += " \\\n        " + zshSpec(argument);
    if (verb.name == "run")
      text += " \\\n        '(-):command: _command_names -e' '*::arguments:_normal'";
    text += " ;;\n";
  }
  return text +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _stallprof ]; then _stallprof \"$@\"; else compdef _stallprof "
         "stallprof; fi\n";
}

std::string fishCompletion() {
  std::string text = "# fish completion for stallprof; made by `stallprof completion fish`\n";
  for (const Verb& verb : verbs())
    text += "complete -c stallprof -n __fish_use_subcommand -f -a " + std::string(verb.name) +
            " -d '" + brief(std::string(verb.summary)) + "'\n";
  for (const Verb& verb : verbs()) {
    for (const Argument& argument : argumentsOf(verb))
      text += fishLine(std::string(verb.name), argument);
    if (verb.name == "run")
      text +=
          "complete -c stallprof -n '__fish_seen_subcommand_from run' -x -a "
          "'(__fish_complete_subcommand --fcs-skip=2)'\n";
  }
  return text;
}

namespace {

class CompletionCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Prints a completion script. Packages install it; without a package, put eval "
        "\"$(stallprof completion bash)\" into ~/.bashrc, or the equivalent.");
    addChoice(app, "shell", shell_, {"bash", "zsh", "fish"}, "bash, zsh or fish")->required();
  }

  int run() override {
    const std::string script = shell_ == "bash"  ? bashCompletion()
                               : shell_ == "zsh" ? zshCompletion()
                                                 : fishCompletion();
    return writeOutput("", script).ok() ? 0 : 1;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> makeCompletion() { return std::make_unique<CompletionCommand>(); }

}  // namespace stallprof
