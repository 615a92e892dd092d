// SPDX-License-Identifier: MIT
#include <cstdio>
#include <filesystem>

#include "stallprof/arguments.h"
#include "stallprof/completion_scripts.h"
#include "stallprof/manual_prose.h"
#include "stallprof/manual_topics.h"
#include "stallprof/output.h"
#include "stallprof/verbs.h"
#include "stallprof/version.h"

// Manual pages, from the tables that the verbs parse their words with and the prose beside them.
namespace stallprof {
namespace {

namespace fs = std::filesystem;

// Text for roff: a minus stays one, and no line is taken for a request.
std::string roff(std::string_view text) {
  std::string out;
  if (!text.empty() && (text[0] == '.' || text[0] == '\'')) out = "\\&";
  for (const char c : text)
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  return out;
}

std::string paragraphs(std::string_view text) {
  std::string out;
  bool verbatim = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const bool example = line.starts_with("  ");
    if (example != verbatim) out += example ? ".RS 4\n.nf\n" : ".fi\n.RE\n";
    verbatim = example;
    out += line.empty() ? ".PP\n" : roff(example ? line.substr(2) : line) + "\n";
  }
  return out + (verbatim ? ".fi\n.RE\n" : "");
}

std::string head(const std::string& page, std::string_view summary, int section = 1) {
  std::string upper = page;
  for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return ".TH " + roff(upper) + " " + std::to_string(section) +
         " \"\" \"stallprof " STALLPROF_VERSION "\" \"stallprof manual\"\n.SH NAME\n" + roff(page) +
         " \\- " + roff(summary) + "\n";
}

std::string sections(std::string_view verb) {
  std::string out;
  for (const ManualSection& section : proseOf(verb))
    out += ".SH " + std::string(section.heading) + "\n" + paragraphs(section.text);
  return out;
}

std::string optionText(const Argument& argument) {
  std::string names;
  for (const std::string& name : argument.spellings())
    names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  if (argument.option() && argument.flag == nullptr) names += " \\fIVALUE\\fR";
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
  std::string prose = sections(verb.name);
  const std::size_t second = prose.find(".SH ", 1);
  page += prose.substr(0, second) + ".SH OPTIONS\n";
  for (const Argument& argument : helpOf(verb.call).arguments) page += optionText(argument);
  page += ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nWhat the command takes.\n";
  if (second != std::string::npos) page += prose.substr(second);
  return page + ".SH SEE ALSO\n\\fBstallprof\\fR(1)\n";
}

std::string programPage() {
  std::string page = head("stallprof", "find what holds a training run back") +
                     ".SH SYNOPSIS\n\\fBstallprof\\fR COMMAND ...\n.br\n\\fBstallprof\\fR "
                     "\\-\\-version\n.br\n\\fBstallprof\\fR \\-\\-help\n";
  page += sections("");
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
  std::string page = head(topic.name, topic.summary, topic.section);
  for (const auto& [heading, text] : topic.sections)
    page += ".SH " + heading + "\n" + paragraphs(text);
  return page + ".SH SEE ALSO\n\\fBstallprof\\fR(1)\n";
}

const ManualTopic* findTopic(const std::string& name) {
  for (const ManualTopic& topic : manualTopics())
    if (topic.name == name) return &topic;
  return nullptr;
}

int fail(const std::string& message) {
  std::fprintf(stderr, "stallprof: %s\n", message.c_str());
  return 1;
}

// Everything below a prefix's share/ that this program can say of itself.
int writeInto(const fs::path& share) {
  std::vector<std::pair<fs::path, std::string>> files = {
      {"man/man1/stallprof.1", programPage()},
      {"bash-completion/completions/stallprof", bashCompletion()},
      {"zsh/site-functions/_stallprof", zshCompletion()},
      {"zsh/vendor-completions/_stallprof", zshCompletion()},  // where Debian's zsh looks
      {"fish/vendor_completions.d/stallprof.fish", fishCompletion()}};
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
      return fail(written.error().message);
  }
  return 0;
}

}  // namespace

int verbManual(const Words& words) {
  std::string verb, into;
  const auto status = parseArguments(
      "manual", "A manual page on stdout, for man -l; or all of them below a directory.",
      {{"command", "whose page, or a topic's; none for the program's own", &verb},
       {"--into", "write pages and completions below this share/ directory", &into}},
      joinedWords(words));
  if (status) return *status;
  if (!into.empty()) return writeInto(into);
  if (const ManualTopic* topic = findTopic(verb))
    return writeOutput("", topicPage(*topic)).ok() ? 0 : 1;
  const Verb* const found = findVerb(verb);
  if (!verb.empty() && found == nullptr) return fail("no such command");
  const std::string page = found == nullptr ? programPage() : verbPage(*found);
  return writeOutput("", page).ok() ? 0 : 1;
}

}  // namespace stallprof
