// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>

#include "analysis/findings/definition.h"
#include "analysis/findings/sentence.h"

// How a rule puts a finding together.
namespace stallprof {

// Below this share of the window nothing is worth a finding (XProf: under 5 % is not input-bound).
inline constexpr double kNotable = 0.05;

// Two within 10 % of each other are a tie: neither is said to be the one cause.
inline constexpr double kTied = 0.90;

// As sure as the model is of this run (modelConfidence).
[[nodiscard]] Finding findingOf(const Evidence& e, double share, std::string title);
// The same, pointing at the line that makes the loader.
[[nodiscard]] Finding loaderFinding(const Evidence& e, double share, std::string title);

[[nodiscard]] Advice adviceOf(const AdviceDefinition& definition, Advice::Change change,
                              Prediction predicted, std::string risk = "");
// `p` of a change whose effect was not measured; `what` completes "assuming that", with the likely
// effect and the largest. Its low end only decides how sure the finding is: `judge` takes it off.
[[nodiscard]] Prediction assuming(std::string what, Prediction p);
// Of a change that is assumed to scale one cost of the model.
[[nodiscard]] Prediction predictScaled(const Evidence& e, double PipelineSettings::*cost,
                                       double likely, double minimum, double maximum,
                                       std::string assumes);
// A speedup below this is no fix.
inline constexpr double kWorthIt = 1.05;
// Worth it even at the low end of the interval, by a replay of what was measured.
[[nodiscard]] bool replayedFix(const Prediction& p);
// Inserts by gain and by how easily the change is tried, replayed fixes first; the first is what
// the finding is ranked by.
void offer(Finding& to, Maybe<Advice> advice);
// `f` with each of those offered that the run has room for.
[[nodiscard]] Finding withAdvice(Finding f, std::initializer_list<Maybe<Advice>> offered);

}  // namespace stallprof
