// SPDX-License-Identifier: MIT
#include "stallprof/manual_topics.h"

#include <algorithm>

#include "advise/explain.h"
#include "classify/rule_table.h"
#include "gate/metrics.h"
#include "stallprof/command_line.h"
#include "stallprof/manual_markdown.h"

namespace stallprof {
namespace {

constexpr std::string_view kManual = "manual/", kGuide = "guide/", kSuffix = ".md";

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

std::vector<ManualTopic> makeTopics() {
  std::vector<ManualTopic> topics;
  for (const ManualPage& page : manualPages()) {
    ManualTopic topic{"", 7, std::string(titleOfMarkdown(page.text)), ""};
    std::string_view name = page.file.substr(0, page.file.size() - kSuffix.size());
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

}  // namespace

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

}  // namespace stallprof
