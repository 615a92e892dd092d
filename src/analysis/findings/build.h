// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "analysis/findings/definition.h"

// How a rule puts a finding together, and its numbers into words.
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
// Of a change that is assumed to scale one cost of the model, or of data without a known loader
// (analysis/findings/ahead.h). At best the cores that cheaper
// batches leave end the waiting of the trainer's pool for its own threads, too.
[[nodiscard]] Prediction predictScaled(const Evidence& e, double PipelineSettings::*cost,
                                       double likely, double minimum, double maximum,
                                       std::string assumes);
// Of one that is assumed to scale all that makes data, reading as well as CPU time.
[[nodiscard]] Prediction predictMade(const Evidence& e, double likely, double minimum,
                                     double maximum, std::string assumes);
// A speedup below this is no fix.
inline constexpr double kWorthIt = 1.05;
// Worth it even at the low end of the interval, by a replay of what was measured.
[[nodiscard]] bool replayedFix(const Prediction& p);
// Inserts by gain and by how easily the change is tried, replayed fixes first; the first is what
// the finding is ranked by.
void offer(Finding& to, Maybe<Advice> advice);
// `f` with each of those offered that the run has room for.
[[nodiscard]] Finding withAdvice(Finding f, std::initializer_list<Maybe<Advice>> offered);

// How typed evidence becomes a sentence: the only place where a rule's numbers become text.

// A value as the sentence has it, and as the report's evidence item has it.
struct Word {
  std::string text;
  Maybe<double> value{};
  const char* unit = "";
};
[[nodiscard]] Word ratioWord(double ratio);                          // "38 %"
[[nodiscard]] Word timeWord(double seconds);                         // "156 ms"; its value is in ns
[[nodiscard]] Word bytesWord(double bytes);                          // "1.2 GB"
[[nodiscard]] Word rateWord(double bytesPerSecond);                  // "120 MB/s"
[[nodiscard]] Word numberWord(double count);                         // "1.5"
[[nodiscard]] Word numberWord(double count, std::string_view noun);  // "1 core", "1.5 cores"
[[nodiscard]] Word perSecondWord(double count);                      // "12", of a second
[[nodiscard]] Word timesWord(double ratio);    // "5.2", as in "5.2 times the median"
[[nodiscard]] Word countWord(std::int64_t n);  // "3"
[[nodiscard]] Word countWord(std::int64_t n, std::string_view noun);  // "1 worker", "2 workers"
[[nodiscard]] Word textWord(std::string text);  // no value; names from the job escaped

// Adds an item: `pattern` with each "{}" replaced by the next word. Its value is `value`, or the
// first word's.
void addEvidence(Finding& to, std::string_view pattern, std::initializer_list<Word> words = {});
void addEvidence(Finding& to, std::string_view pattern, std::initializer_list<Word> words,
                 const Word& value);

}  // namespace stallprof
