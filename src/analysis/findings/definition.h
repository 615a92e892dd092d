// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "analysis/findings/evidence.h"

// What a finding is. Each has one file, which defines one `FindingDefinition`; the registry
// (analysis/verdict/registry.h) lists them.
namespace stallprof {

// One piece of advice of a finished analysis, and what surrounds it.
struct AdviceContext {
  const Analysis& analysis;
  const Finding& finding;
  const Advice& advice;
  const LoaderInfo* loader = nullptr;  // the one the finding points at, or the only one
};

// A change that findings offer. What it is called is stable; from, to, prediction and risk are of
// the run, and given by the rule that offers it.
struct AdviceDefinition {
  std::string_view id;                                      // "more_workers"
  std::string_view text;                                    // the sentence, imperative, or
  std::string (*textOf)(const AdviceContext& c) = nullptr;  // the sentence with the run's numbers
  bool changesDevice = false;  // it changes the device's own work: the prediction counts that

  [[nodiscard]] std::string sentence(const AdviceContext& c) const {
    return textOf ? textOf(c) : std::string(text);
  }
};

// What `stallprof explain ID` prints, plain text of at most 100 columns.
struct ExplainPage {
  std::string_view cause;   // what it means
  std::string_view rule;    // on which evidence it fires
  std::string_view fixes;   // a list, "- " each
  std::string_view wrong;   // when not to believe it
  std::string_view note{};  // what else there is to know
};

struct FindingDefinition {
  std::string_view id;  // "transform.too_few_workers"; stable
  Phase phase = Phase::kUnknown;
  // Answers with a finding (without id, phase and rank), or that it does not apply. Fires on the
  // condition its page states, with the numbers it fired on as evidence. Pure.
  Maybe<Finding> (*rule)(const Evidence& e) = nullptr;
  // The answer of a run where no other finding has a fix worth 5 %.
  bool healthy = false;
  std::array<const AdviceDefinition*, 5> advice{};  // all that the rule may offer
  std::array<std::string_view, 4> within{};  // findings whose time may hold its, widest first
  ExplainPage page;

  [[nodiscard]] Maybe<Finding> find(const Evidence& e) const {
    Maybe<Finding> found = rule(e);
    if (!found) return found;
    found->id = id;
    found->phase = phase;
    return found;
  }
  // Null where the rule offers no such advice.
  [[nodiscard]] const AdviceDefinition* offered(std::string_view adviceId) const {
    for (const AdviceDefinition* each : advice)
      if (each && each->id == adviceId) return each;
    return nullptr;
  }
};

}  // namespace stallprof
