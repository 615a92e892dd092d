// SPDX-License-Identifier: MIT
#include "analysis/findings/sentence.h"

#include "analysis/facts/wording.h"

namespace stallprof {

Word ratioWord(double ratio) { return {percent(ratio), ratio, "ratio"}; }
Word timeWord(double seconds) { return {duration(seconds), seconds * 1e9, "ns"}; }
Word bytesWord(double bytes) { return {byteSize(bytes), bytes, "bytes"}; }
Word rateWord(double rate) { return {bytesPerSecond(rate), rate, "bytes_per_s"}; }
Word numberWord(double count) { return {number(count), count, "count"}; }
Word perSecondWord(double count) { return {number(count), count, "per_s"}; }
Word timesWord(double ratio) { return {number(ratio), ratio, "ratio"}; }
Word countWord(std::int64_t n) { return {std::to_string(n), static_cast<double>(n), "count"}; }
Word countWord(std::int64_t n, std::string_view noun) {
  return {countOf(static_cast<int>(n), noun), static_cast<double>(n), "count"};
}
Word textWord(std::string text) { return {std::move(text), {}, ""}; }

void addEvidence(Finding& to, std::string_view pattern, std::initializer_list<Word> words) {
  addEvidence(to, pattern, words, words.size() > 0 ? *words.begin() : Word{});
}

void addEvidence(Finding& to, std::string_view pattern, std::initializer_list<Word> words,
                 const Word& value) {
  std::string text;
  for (const Word& word : words) {
    const std::size_t gap = pattern.find("{}");
    if (gap == std::string_view::npos) break;
    text.append(pattern.substr(0, gap)).append(word.text);
    pattern.remove_prefix(gap + 2);
  }
  text.append(pattern);
  to.evidence.push_back({std::move(text), value.value, value.unit});
}

}  // namespace stallprof
