// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>

#include "advise/explain.h"
#include "classify/rule_table.h"
#include "gate/metrics.h"
#include "present/metrics/report_json.h"
#include "stallprof/command_line.h"
#include "stallprof/completion.h"
#include "stallprof/manual_markdown.h"
#include "stallprof/manual_pages.h"
#include "stallprof/output.h"
#include "stallprof/verbs.h"
#include "stallprof/version.h"

// Manual pages, from the tables that the verbs parse their words with and the Markdown beside them.
namespace stallprof {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManual = "manual/", kGuide = "guide/", kExtension = ".md";

std::string configKeys() {
  std::string text;
  for (const Verb& verb : verbs()) {
    std::string names;
    for (const Argument& argument : argumentsOf(verb))
      if (const std::string name = argument.longName(); !name.empty() && name != "--ab")
        names += (names.empty() ? "" : ", ") + name.substr(2);
    if (!names.empty()) text += "[" + std::string(verb.name) + "]: " + names + "\n\n";
  }
  return text;
}

// One metric a line, its unit in a second column.
std::string metrics() {
  constexpr std::size_t kColumn = 42;
  std::string text;
  for (const MetricKind& kind : metricKinds()) {
    std::string line(kind.path);
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    text += (text.empty() ? "" : "\n") + line + std::string(kind.unit);
    if (kind.worse == Worse::kHigher) text += ", worse when higher";
    if (kind.worse == Worse::kLower) text += ", worse when lower";
  }
  return text;
}

// The first sentence of a finding's page, on one line.
std::string meaning(std::string_view page) {
  page.remove_prefix(std::min(page.find("\n\n") + 2, page.size()));
  std::string text;
  for (const char c : page.substr(0, page.find("\n\n")))
    if (c != '\n' && c != ' ')
      text += c;
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  return text.substr(0, text.find(". ") + (text.find(". ") == std::string::npos ? 0 : 1));
}

std::string findings() {
  std::string text;
  for (const std::string_view id : explainedIds())
    text += std::string(id) + ": " + meaning(*explain(id)) + "\n\n";
  return text;
}

// The page with the program's tables in place of their names.
std::string withTables(std::string_view page) {
  constexpr std::pair<std::string_view, std::string (*)()> kTables[] = {
      {"@KEYS@", configKeys},
      {"@METRICS@", metrics},
      {"@RULES@", [] { return std::to_string(RuleTable::builtIn().rules().size()); }},
      {"@FINDINGS@", findings}};
  std::string text(page);
  for (const auto& [name, table] : kTables)
    if (const std::size_t at = text.find(name); at != std::string::npos)
      text.replace(at, name.size(), table());
  return text;
}

// A manual page that is of no command: manual/NAME.SECTION.md for files that a user writes (section
// 5) and for findings (section 7); guide/NAME.md, which is stallprof-guide-NAME(7). Tables that the
// program knows (keys, metrics, rules, findings) are inserted.
struct ManualTopic {
  std::string name;  // "stallprof-rules"
  int section = 5;
  std::string summary;
  std::string text;  // Markdown
};

std::vector<ManualTopic> makeTopics() {
  std::vector<ManualTopic> topics;
  for (const ManualPage& page : manualPages()) {
    ManualTopic topic{"", 7, std::string(titleOfMarkdown(page.text)), ""};
    std::string_view name = page.file.substr(0, page.file.size() - kExtension.size());
    if (name.starts_with(kGuide)) {
      topic.name = "stallprof-guide-" + std::string(name.substr(kGuide.size()));
    } else if (name.ends_with(".5") || name.ends_with(".7")) {
      topic.section = name.back() - '0';
      name.remove_suffix(2);
      topic.name = name.substr(kManual.size());
    } else {
      continue;  // of a command
    }
    topic.text = withTables(page.text);
    topics.push_back(std::move(topic));
  }
  return topics;
}

// What the page of a command has beside its options (manual/COMMAND.md); "" is the page of the
// program itself. Empty if there is none.
std::string_view proseOf(std::string_view command) {
  const std::string file =
      std::string(kManual) + std::string(command.empty() ? "stallprof" : command) + ".md";
  const auto pages = manualPages();
  const auto found = std::find_if(pages.begin(), pages.end(),
                                  [&](const ManualPage& page) { return page.file == file; });
  return found == pages.end() ? std::string_view() : found->text;
}

const std::vector<ManualTopic>& manualTopics() {
  static const std::vector<ManualTopic> kTopics = makeTopics();
  return kTopics;
}

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
  page += ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow the options.\n";
  if (second != std::string::npos) page += prose.substr(second);
  return page + ".SH SEE ALSO\n\\fBstallprof\\fR(1)\n";
}

std::string programPage() {
  std::string page = head("stallprof", "find why a training run is slow") +
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
    app.description("Prints a manual page, for man -l, or writes all of them below a directory.");
    addText(app, "command", verb_,
            "the command or topic of the page (default: the program's own page)");
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
