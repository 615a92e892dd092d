// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "analysis/facts/analysis.h"

// How typed evidence becomes a sentence: the only place where a rule's numbers become text.
namespace stallprof {

// A value as the sentence has it, and as the report's evidence item has it.
struct Word {
  std::string text;
  Maybe<double> value{};
  const char* unit = "";
};
[[nodiscard]] Word ratioWord(double ratio);          // "38 %"
[[nodiscard]] Word timeWord(double seconds);         // "156 ms"; its value is in ns
[[nodiscard]] Word bytesWord(double bytes);          // "1.2 GB"
[[nodiscard]] Word rateWord(double bytesPerSecond);  // "120 MB/s"
[[nodiscard]] Word numberWord(double count);         // "1.5"
[[nodiscard]] Word perSecondWord(double count);      // "12", of a second
[[nodiscard]] Word timesWord(double ratio);          // "5.2", as in "5.2 times the median"
[[nodiscard]] Word countWord(std::int64_t n);        // "3"
[[nodiscard]] Word countWord(std::int64_t n, std::string_view noun);  // "1 worker", "2 workers"
[[nodiscard]] Word textWord(std::string text);  // no value; names from the job escaped

// Adds an item: `pattern` with each "{}" replaced by the next word. Its value is `value`, or the
// first word's.
void addEvidence(Finding& to, std::string_view pattern, std::initializer_list<Word> words = {});
void addEvidence(Finding& to, std::string_view pattern, std::initializer_list<Word> words,
                 const Word& value);

}  // namespace stallprof
