// SPDX-License-Identifier: MIT
#include "trace/range_map.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/text.h"

namespace stallprof {
namespace {

constexpr std::string_view kMeanings =
    "extract, transform, load, compute, sync, comm, periodic, other, step or none";

std::optional<RangeMeaning> known(std::string_view word) {
  using Is = RangeMeaning::Is;
  if (word == "none") return RangeMeaning{.is = Is::kNothing};
  if (word == "step") return RangeMeaning{.is = Is::kStep};
  for (std::size_t i = 1; i < kPhaseNames.size(); ++i)
    if (word == kPhaseNames[i])
      return RangeMeaning{.is = Is::kPhase, .phase = static_cast<Phase>(i)};
  return std::nullopt;
}

// Names are few, ranges many: each name is read once.
class Meanings {
 public:
  Meanings(Trace& trace, const std::vector<Untrusted>& words) : trace_(trace) {
    trace.mapsFitted.resize(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      auto parsed = parseRangeMeaning(words[i].raw());
      if (parsed.ok())
        all_.emplace_back(std::move(parsed).value(), i);
      else
        trace.mapsFitted[i] = true;  // it is said where it is given
    }
  }

  // What a map says of the name; null: nothing does.
  [[nodiscard]] const RangeMeaning* of(StringId name) {
    const auto [at, isNew] = found_.try_emplace(name, nullptr);
    if (!isNew) return at->second;
    for (const auto& [meaning, word] : all_)
      if (meaning.fits(trace_.text(name))) {
        at->second = &meaning;
        trace_.mapsFitted[word] = true;
      }
    return at->second;
  }
  [[nodiscard]] bool namesStep(StringId name) {
    const auto [at, isNew] = steps_.try_emplace(name, false);
    if (isNew) at->second = stallprof::namesStep(trace_.text(name));
    return at->second;
  }

 private:
  Trace& trace_;
  std::vector<std::pair<RangeMeaning, std::size_t>> all_;  // with the index of its word
  std::unordered_map<StringId, const RangeMeaning*> found_;
  std::unordered_map<StringId, bool> steps_;
};

using Key = std::tuple<ThreadId, Nanos, StringId>;

// Spans that the agent made of ranges named after a phase, by what the maps say of the name.
std::set<Key> remapSpans(Trace& trace, Meanings& meanings) {
  std::set<Key> there;
  std::erase_if(trace.spans, [&](Timed<PhaseSpan>& row) {
    if (row.data.source != SpanSource::kNvtx) return false;
    const RangeMeaning* meaning = meanings.of(row.data.name);
    if (!meaning) return false;
    if (meaning->is != RangeMeaning::Is::kPhase) return true;
    row.data.phase = meaning->phase;
    there.emplace(row.data.thread, row.at, row.data.name);
    return false;
  });
  return there;
}

std::optional<Timed<StepRange>> stepOf(const Trace& trace, Meanings& meanings,
                                       const Timed<Range>& row) {
  const Range& range = row.data;
  StepRange step{range.thread, range.duration, SpanSource::kNvtx, false};
  if (trace.text(range.domain) == kMarksDomain) {
    if (trace.text(range.name) != kMarkedStep) return std::nullopt;
    step.source = SpanSource::kMark;
    return Timed<StepRange>{row.at, step};
  }
  const RangeMeaning* meaning = meanings.of(range.name);
  step.mapped = meaning && meaning->is == RangeMeaning::Is::kStep;
  if (!step.mapped && (meaning || !meanings.namesStep(range.name))) return std::nullopt;
  return Timed<StepRange>{row.at, step};
}

}  // namespace

bool RangeMeaning::fits(std::string_view range) const {
  return prefix ? range.starts_with(name) : range == name;
}

Result<RangeMeaning> parseRangeMeaning(std::string_view word) {
  const std::size_t equals = word.rfind('=');
  const auto wrong = [&](const std::string& why) {
    return Error{Error::Kind::kUsage, "--map takes NAME=PHASE, " + why};
  };
  const std::string shown = inQuotes(word, 128);
  if (equals == std::string_view::npos || equals == 0) return wrong("not " + shown);
  std::optional<RangeMeaning> found = known(word.substr(equals + 1));
  if (!found) return wrong("where PHASE is " + std::string(kMeanings) + "; not " + shown);
  RangeMeaning meaning = std::move(*found);
  meaning.name = std::string(word.substr(0, equals));
  if (meaning.name.back() == '*') {
    meaning.prefix = true;
    meaning.name.pop_back();
  }
  return meaning;
}

void readRanges(Trace& trace, const std::vector<Untrusted>& words) {
  if (trace.ranges.empty() && words.empty()) return;
  Meanings meanings(trace, words);
  const std::set<Key> there = remapSpans(trace, meanings);
  bool added = false;
  for (const Timed<Range>& row : trace.ranges) {
    const Range& range = row.data;
    if (range.duration <= Nanos{}) continue;  // a mark, not a range
    if (auto step = stepOf(trace, meanings, row)) trace.steps.push_back(*step);
    if (trace.text(range.domain) == kMarksDomain) continue;  // it says itself what it is
    const RangeMeaning* meaning = meanings.of(range.name);
    if (!meaning || meaning->is != RangeMeaning::Is::kPhase) continue;
    if (there.count({range.thread, row.at, range.name}) != 0) continue;
    trace.spans.push_back(
        {row.at,
         PhaseSpan{
             range.thread, range.duration, meaning->phase, SpanSource::kNvtx, range.name, {}, 0}});
    added = true;
  }
  if (added)
    std::stable_sort(trace.spans.begin(), trace.spans.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
}

}  // namespace stallprof
