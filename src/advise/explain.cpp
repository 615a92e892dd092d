// SPDX-License-Identifier: MIT
#include "advise/explain.h"

#include <vector>

#include "analysis/verdict/registry.h"

namespace stallprof {

std::optional<std::string> explain(std::string_view id) {
  const FindingDefinition* definition = findingDefinition(id);
  if (!definition) return std::nullopt;
  const ExplainPage& page = definition->page;
  std::string text(id);
  text.append("\n\n").append(page.cause);
  text.append("\n\nFires when: ").append(page.rule);
  text.append("\n\nFixes:\n").append(page.fixes);
  if (!page.note.empty()) text.append("\n\n").append(page.note);
  text.append("\n\nWhen it is wrong: ").append(page.wrong);
  return text + "\n";
}

std::span<const std::string_view> explainedIds() {
  static const std::vector<std::string_view> ids = [] {
    std::vector<std::string_view> list;
    for (const FindingDefinition* definition : allFindings()) list.push_back(definition->id);
    return list;
  }();
  return ids;
}

}  // namespace stallprof
