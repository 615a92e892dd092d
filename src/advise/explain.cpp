// SPDX-License-Identifier: MIT
#include "advise/explain.h"

#include <vector>

#include "analysis/verdict/registry.h"

namespace stallprof {
namespace {

constexpr std::string_view kSteps = R"(steps

A step is one batch that the training consumes. Without steps a report has shares of the main loop
or of the whole run, but no step times, no predictions, and nothing for the gate.

Taken from the first of these that is there: your marks and ranges; batches of a loader that the
hook knows; updates of an optimizer or calls of a compiled step; the program's own loop, timed by
the interpreter (CPython 3.12 and newer) or by lines that come back evenly in stack samples.

If none was seen, NOT MEASURED says why. To show the steps:
- Put a range named step around the body of the loop, and record with --nvtx (pip install nvtx):
      with nvtx.annotate("step"): ...
  Ranges named extract, transform, load or compute inside it are these phases. In C and C++ marks
  of stallprof/annotate.h do the same.
- Or name the function that updates the model in a file of rules, with `update = true`:
      stallprof report --rules FILE RECORDING        the format: stallprof-rules(5)
- Or take more samples (run --hz 500 --budget 3): an iteration must have 16 of them, 160 ms at the
  default 100 a second.

When it is no problem: the command does not train. It imports, converts, serves or evaluates.
)";

}  // namespace

std::optional<std::string> explain(std::string_view id) {
  if (id == kStepsPage) return std::string(kSteps);
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
    list.push_back(kStepsPage);
    return list;
  }();
  return ids;
}

}  // namespace stallprof
