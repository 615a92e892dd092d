// SPDX-License-Identifier: MIT
#include <cstdio>
#include <filesystem>

#include "present/metrics/report_json.h"
#include "stallprof/command_line.h"
#include "stallprof/completion_scripts.h"
#include "stallprof/manual_markdown.h"
#include "stallprof/manual_topics.h"
#include "stallprof/output.h"
#include "stallprof/verbs.h"
#include "stallprof/version.h"

// Manual pages, from the tables that the verbs parse their words with and the Markdown beside them.
namespace stallprof {
namespace {

namespace fs = std::filesystem;

// No hyphenation: it would put characters into names and commands that a reader copies.
std::string head(const std::string& page, std::string_view summary, int section = 1) {
  std::string upper = page;
  for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return ".TH " + roff(upper) + " " + std::to_string(section) +
         " \"\" \"stallprof " STALLPROF_VERSION "\" \"stallprof manual\"\n.nh\n.SH NAME\n" +
         roff(page) + " \\- " + roff(summary) + "\n";
}

std::string optionText(const Argument& argument) {
  std::string names;
  for (const std::string& name : argument.names)
    names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  if (argument.option && argument.takesValue) names += " \\fIVALUE\\fR";
  std::string text = ".TP\n" + names + "\n" + roff(argument.help) + "\n";
  if (argument.choices.empty()) return text;
  std::string list;
  for (const std::string& choice : argument.choices) list += (list.empty() ? "" : ", ") + choice;
  return text + "One of: " + roff(list) + ".\n";
}

std::string verbPage(const Verb& verb) {
  const std::string name = "stallprof-" + std::string(verb.name);
  std::string page = head(name, verb.summary) + ".SH SYNOPSIS\n\\fBstallprof " + roff(verb.name) +
                     "\\fR " + roff(verb.takes) + "\n";
  const std::string prose = roffOfMarkdown(proseOf(verb.name));
  const std::size_t second = prose.find(".SH ", 1);
  page += prose.substr(0, second) + ".SH OPTIONS\n";
  for (const Argument& argument : argumentsOf(verb)) page += optionText(argument);
  page += ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nWhat the command takes.\n";
  if (second != std::string::npos) page += prose.substr(second);
  return page + ".SH SEE ALSO\n\\fBstallprof\\fR(1)\n";
}

std::string programPage() {
  std::string page = head("stallprof", "find what holds a training run back") +
                     ".SH SYNOPSIS\n\\fBstallprof\\fR COMMAND ...\n.br\n\\fBstallprof\\fR "
                     "\\-\\-version\n.br\n\\fBstallprof\\fR \\-\\-help\n";
  page += roffOfMarkdown(proseOf(""));
  page += ".SH COMMANDS\n";
  std::string also;
  for (const Verb& verb : verbs()) {
    page += ".TP\n\\fBstallprof " + roff(verb.name) + "\\fR " + roff(verb.takes) + "\n" +
            roff(verb.summary) + "\n";
    also += (also.empty() ? "" : ",\n") + std::string("\\fBstallprof\\-") + std::string(verb.name) +
            "\\fR(1)";
  }
  for (const ManualTopic& topic : manualTopics())
    also += ",\n\\fB" + roff(topic.name) + "\\fR(" + std::to_string(topic.section) + ")";
  return page + ".SH SEE ALSO\n" + also + "\n";
}

std::string topicPage(const ManualTopic& topic) {
  const std::string text = roffOfMarkdown(topic.text);
  return head(topic.name, topic.summary, topic.section) +
         (text.starts_with(".SH ") ? "" : ".SH DESCRIPTION\n") + text +
         ".SH SEE ALSO\n\\fBstallprof\\fR(1)\n";
}

const ManualTopic* findTopic(const std::string& name) {
  for (const ManualTopic& topic : manualTopics())
    if (topic.name == name) return &topic;
  return nullptr;
}

// Every file below a prefix's share/ that is generated from the program's own tables.
int writeInto(const fs::path& share) {
  std::vector<std::pair<fs::path, std::string>> files = {
      {"man/man1/stallprof.1", programPage()},
      {"bash-completion/completions/stallprof", bashCompletion()},
      {"zsh/site-functions/_stallprof", zshCompletion()},
      {"zsh/vendor-completions/_stallprof", zshCompletion()},  // for Debian's zsh
      {"fish/vendor_completions.d/stallprof.fish", fishCompletion()},
      {"stallprof/report.schema.json", reportSchema()}};
  for (const Verb& verb : verbs())
    files.emplace_back("man/man1/stallprof-" + std::string(verb.name) + ".1", verbPage(verb));
  for (const ManualTopic& topic : manualTopics()) {
    const std::string section = std::to_string(topic.section);
    files.emplace_back("man/man" + section + "/" + topic.name + "." + section, topicPage(topic));
  }
  for (const auto& [name, content] : files) {
    std::error_code error;
    fs::create_directories((share / name).parent_path(), error);
    if (const Status written = writeOutput((share / name).string(), content); !written.ok())
      return fail(written.error().message, 1);
  }
  return 0;
}

class ManualCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description("A manual page on stdout, for man -l; or all of them below a directory.");
    addText(app, "command", verb_, "whose page, or a topic's; none for the program's own");
    addText(app, "--into", into_,
            "write pages, completions and the schema below this share/ directory");
  }

  int run() override {
    if (!into_.empty()) return writeInto(into_);
    if (const ManualTopic* topic = findTopic(verb_))
      return writeOutput("", topicPage(*topic)).ok() ? 0 : 1;
    const Verb* const found = findVerb(verb_);
    if (!verb_.empty() && found == nullptr) return fail("no such command", 1);
    const std::string page = found == nullptr ? programPage() : verbPage(*found);
    return writeOutput("", page).ok() ? 0 : 1;
  }

 private:
  std::string verb_, into_;
};

}  // namespace

std::unique_ptr<Command> makeManual() { return std::make_unique<ManualCommand>(); }

}  // namespace stallprof
