// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "analysis/findings/evidence.h"

// What a finding is. Each has one file, which defines one `FindingDefinition`; the registry
// (analysis/verdict/registry.h) lists them.
namespace stallprof {

struct AdviceContext;

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
// Of one that changes the device's own work.
constexpr AdviceDefinition deviceAdvice(std::string_view id, std::string_view text) {
  return {id, text, nullptr, true};
}

// One piece of advice of a finished analysis, and what surrounds it.
struct AdviceContext {
  const Analysis& analysis;
  const Finding& finding;
  const Advice& advice;
  const LoaderInfo* loader = nullptr;  // the one the finding points at, or the only one

  // No function, framework or loader of Python's was seen: what they could do is no advice.
  [[nodiscard]] bool withoutPython() const {
    return analysis.functions.empty() && !analysis.run.framework && analysis.run.loaders.empty();
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

// What a rule may offer; null beyond.
using Offers = std::array<const AdviceDefinition*, 14>;
template <typename... Definitions>
constexpr Offers offers(const Definitions&... each) {
  return {&each...};
}

// Where a finding is among the others.
struct FindingPlace {
  std::array<std::string_view, 4> within{};  // whose time may hold its time, widest first
  bool healthy = false;   // the answer of a run where no other finding has a fix worth 5 %
  bool byOthers = false;  // what other programs of the host do to it: below a quarter a caveat
};
inline constexpr FindingPlace kHealthyAnswer{{}, true};
inline constexpr FindingPlace kByOthers{{}, false, true};
template <typename... Ids>
constexpr FindingPlace within(const Ids&... ids) {
  return {{ids...}};
}

struct FindingDefinition {
  // Answers with a finding (without id, phase and rank), or that it does not apply. Fires on the
  // condition its page states, with the numbers it fired on as evidence. Pure.
  using Rule = Maybe<Finding> (*)(const Evidence& e);

  std::string_view id;  // "transform.too_few_workers"; stable
  Rule rule;
  Offers advice;  // all that the rule may offer
  std::array<std::string_view, 4> within;
  bool healthy, byOthers;
  ExplainPage page;

  constexpr FindingDefinition(std::string_view itsId, Rule itsRule, const Offers& itsAdvice,
                              const FindingPlace& place, const ExplainPage& itsPage)
      : id(itsId),
        rule(itsRule),
        advice(itsAdvice),
        within(place.within),
        healthy(place.healthy),
        byOthers(place.byOthers),
        page(itsPage) {}
  constexpr FindingDefinition(std::string_view itsId, Rule itsRule, const Offers& itsAdvice,
                              const ExplainPage& itsPage)
      : FindingDefinition(itsId, itsRule, itsAdvice, {}, itsPage) {}

  // As the id has it: what stands before its dot. Those of the host are `other` by time.
  [[nodiscard]] Phase phase() const {
    const Phase named = phaseNamed(id.substr(0, id.find('.')));
    return named == Phase::kUnknown ? Phase::kOther : named;
  }
  [[nodiscard]] Maybe<Finding> find(const Evidence& e) const {
    Maybe<Finding> found = rule(e);
    if (!found) return found;
    found->id = id;
    if (found->phase == Phase::kUnknown) found->phase = phase();
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
