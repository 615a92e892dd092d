// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "classify/stack_labels.h"
#include "tests/catch.h"
#include "tests/unit/analysis/text_trace.h"

// Stacks as a reader can check them: one frame a line, outermost first, "FILE FUNCTION".
namespace stallprof::test {

// A `stack` line of the text form: what `caller` (0: nothing) calls.
inline std::string stackLine(std::size_t stack, std::size_t caller, const std::string& file,
                             const std::string& function, std::size_t line) {
  return "0 stack stack=" + std::to_string(stack) + " caller=" + std::to_string(caller) +
         " file=\"" + file + "\" function=\"" + function + "\" line=" + std::to_string(line) + "\n";
}

struct Frames {
  Trace trace;
  StackId innermost;
};

inline Frames stackOf(const std::vector<std::string>& frames) {
  std::string text;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    std::string frame = frames[i];
    const bool native = frame.starts_with("native ");
    if (native) frame = frame.substr(7);
    const std::size_t space = frame.rfind(' ');
    text += "0 stack stack=" + std::to_string(i + 1) + " caller=" + std::to_string(i) + " file=\"" +
            frame.substr(0, space) + "\" function=\"" + frame.substr(space + 1) +
            "\" line=" + std::to_string(10 + i) + (native ? " kind=native" : "") + "\n";
  }
  return {traceOf(text), StackId{static_cast<std::uint32_t>(frames.size())}};
}

struct Answer {
  std::string phase, rule;
  bool operator==(const Answer&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Answer& a) {
  return out << a.phase << " by " << a.rule;
}

// The built-in rules with a user's own.
inline RuleTable withRules(std::string_view toml) {
  Result<RuleTable> table = RuleTable::withUsers(toml, "mine.toml");
  REQUIRE(table.ok());
  return std::move(table).value();
}

// What a sample that found `role` in `wait` with this stack means.
inline Answer askIn(const RuleTable& table, Side role, Wait wait,
                    const std::vector<std::string>& frames, bool gc = false) {
  const Frames made = stackOf(frames);
  const StackLabels labels(made.trace, table);
  const SampleLabel sample = StackLabels::sample(labels.of(made.innermost, role), wait, gc);
  return {std::string(nameOf(sample.phase)), std::string(sample.rule)};
}
inline Answer ask(Side role, Wait wait, const std::vector<std::string>& frames, bool gc = false) {
  return askIn(RuleTable::builtIn(), role, wait, frames, gc);
}

}  // namespace stallprof::test
