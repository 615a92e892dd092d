// SPDX-License-Identifier: MIT
#include <cstdio>

#include "base/text.h"
#include "present/stack_export.h"
#include "stallprof/arguments.h"
#include "stallprof/output.h"
#include "stallprof/reading.h"
#include "trace/load.h"

namespace stallprof {
namespace {

int fail(const std::string& message, int status) {
  std::fprintf(stderr, "stallprof: %s\n", message.c_str());
  return status;
}

StackGroup groupOf(const std::string& by) {
  if (by == "role") return StackGroup::kRole;
  if (by == "process") return StackGroup::kProcess;
  return by == "none" ? StackGroup::kNone : StackGroup::kPhase;
}

}  // namespace

int verbExport(const Words& words) {
  std::string recording, format, file, by = "phase", state = "running", rules;
  const auto status = parseArguments(
      "export", "A recording for other tools. Stacks are weighed by looks.",
      {{"recording", "the recording's directory, NAME.stallprof", &recording, nullptr, {}, true},
       {"-f,--format", "folded or speedscope", &format, nullptr, {"folded", "speedscope"}, true},
       {"-o,--output", "write to this file instead of stdout", &file},
       {"--by",
        "phase (default), role, process or none: what stacks are grouped by",
        &by,
        nullptr,
        {"phase", "role", "process", "none"}},
       {"--state",
        "running (default), or all: looks that found the thread blocked too",
        &state,
        nullptr,
        {"running", "all"}},
       {"--rules", "phase rules of your own, in TOML", &rules}},
      joinedWords(words));
  if (status) return *status;
  const Result<RuleTable> table = readRules(rules);
  if (!table.ok()) return fail(table.error().message, 2);
  const Result<Trace> trace = loadTrace(recording);
  if (!trace.ok()) return fail(trace.error().message, 1);
  if (trace.value().stacks.empty())
    return fail("'" + escapeTerminal(recording, 400) + "' holds no stacks", 1);
  const auto stacks =
      weighStacks(trace.value(), findRoles(trace.value()),
                  StackLabels(trace.value(), table.value()), groupOf(by), state == "all");
  const std::string text = format == "folded"
                               ? foldedStacks(stacks)
                               : speedscopeJson(stacks, escapeTerminal(recording, 200));
  const Status written = writeOutput(file, text);
  return written.ok() ? 0 : fail(written.error().message, 1);
}

}  // namespace stallprof
