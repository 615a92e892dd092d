// SPDX-License-Identifier: MIT
#include "analysis/findings/build.h"

#include <algorithm>

#include "analysis/findings/ahead.h"
#include "base/units.h"

namespace stallprof {
namespace {

// What a change asks of its reader: a loader's argument is tried in a minute, new hardware is not.
// A fix goes first by its gain weighed with that.
double easeOf(const std::string& kind) {
  if (kind == "loader_arg") return 1;
  if (kind == "env") return 0.9;
  if (kind == "code") return 0.8;
  return kind == "data" ? 0.6 : 0.5;
}

double worthOf(const Advice& a) {
  const double speedup = a.predicted.speedup.value_or(1);
  return speedup > 0 ? (1 - 1 / speedup) * easeOf(a.change.kind) : 0;
}

bool precedes(const Advice& a, const Advice& b) {
  const bool first = replayedFix(a.predicted), second = replayedFix(b.predicted);
  return first != second ? first : worthOf(a) > worthOf(b);
}

}  // namespace

Finding findingOf(const Evidence& e, double share, std::string title) {
  Finding f;
  f.shareRatio = std::clamp(share, 0.0, 1.0);
  f.title = std::move(title);
  f.confidence = modelConfidence(e);
  return f;
}

Finding loaderFinding(const Evidence& e, double share, std::string title) {
  Finding f = findingOf(e, share, std::move(title));
  f.where = e.loaderLine();
  return f;
}

Advice adviceOf(const AdviceDefinition& definition, Advice::Change change, Prediction predicted,
                std::string risk) {
  Advice a;
  a.id = definition.id;
  a.change = std::move(change);
  a.predicted = std::move(predicted);
  a.risk = std::move(risk);
  return a;
}

Prediction assuming(std::string what, Prediction p) {
  if (!p.speedup) return p;
  p.basis = Basis::kAssumed;
  p.assumes = std::move(what);
  return p;
}

bool replayedFix(const Prediction& p) {
  return p.basis == Basis::kReplayed && p.speedup && p.low.value_or(*p.speedup) >= kWorthIt - 1e-12;
}

namespace {

// Of the trainer's own time what its pool loses for the cores that workers have: all but what its
// thread itself works. It spins for threads without a core, and sleeps when that takes long. 0: it
// has cores, no pool, or a device that it may wait for.
double lostToWorkers(const Evidence& e) {
  const Maybe<PoolUse>& pool = e.run.pool;
  if (!pool || pool->threads < 2 || !e.contended || e.device.seen || e.workers() < 1) return 0;
  const double works = (1 - pool->leaderSpins) * seconds(e.trainer.cpu) / e.window;
  return e.compute > 0 ? std::clamp(1 - works / e.compute, 0.0, 1.0) : 0;
}

}  // namespace

Prediction predictScaled(const Evidence& e, double PipelineSettings::*cost, double likely,
                         double minimum, double maximum, std::string assumes) {
  if (!e.loader) {
    const double share = cost == &PipelineSettings::ioScale    ? e.extract
                         : cost == &PipelineSettings::cpuScale ? e.transform
                                                               : 0;
    return scaledAhead(e, share, likely, minimum, maximum, std::move(assumes));
  }
  if (cost == &PipelineSettings::cpuScale && e.gains.demand().batchCpu <= 0) return {};
  PipelineSettings settings[] = {e.gains.base(), e.gains.base(), e.gains.base()};
  settings[0].*cost = likely;
  settings[1].*cost = minimum;
  settings[2].*cost = maximum;
  if (cost == &PipelineSettings::cpuScale)
    settings[2].ownScale = 1 - lostToWorkers(e) * (1 - maximum);
  return assuming(std::move(assumes),
                  e.gains.predictAssumed(settings[0], settings[1], settings[2]));
}

Prediction predictMade(const Evidence& e, double likely, double minimum, double maximum,
                       std::string assumes) {
  if (!e.loader)
    return scaledAhead(e, e.extract + e.transform, likely, minimum, maximum, std::move(assumes));
  const auto leaving = [&](double left) {
    PipelineSettings s = e.gains.base();
    s.ioScale = s.cpuScale = left;
    return s;
  };
  return assuming(std::move(assumes),
                  e.gains.predictAssumed(leaving(likely), leaving(minimum), leaving(maximum)));
}

void offer(Finding& to, Maybe<Advice> advice) {
  if (!advice) return;
  const auto before = std::find_if(to.advice.begin(), to.advice.end(),
                                   [&](const Advice& a) { return precedes(*advice, a); });
  to.advice.insert(before, std::move(*advice));
}

Finding withAdvice(Finding f, std::initializer_list<Maybe<Advice>> offered) {
  for (const Maybe<Advice>& advice : offered) offer(f, advice);
  return f;
}

Word ratioWord(double ratio) { return {percentText(ratio), ratio, "ratio"}; }
Word timeWord(double seconds) { return {valueText(seconds * 1e9, "ns"), seconds * 1e9, "ns"}; }
Word bytesWord(double bytes) { return {bytesText(bytes), bytes, "bytes"}; }
Word rateWord(double rate) { return {rateText(rate, "bytes"), rate, "bytes_per_s"}; }
Word numberWord(double count) { return {numberText(count), count, "count"}; }
Word numberWord(double count, std::string_view noun) {
  return {numberOf(count, noun), count, "count"};
}
Word perSecondWord(double count) { return {numberText(count), count, "per_s"}; }
Word timesWord(double ratio) { return {numberText(ratio), ratio, "ratio"}; }
Word countWord(std::int64_t n) { return {std::to_string(n), static_cast<double>(n), "count"}; }
Word countWord(std::int64_t n, std::string_view noun) {
  return {countOf(n, noun), static_cast<double>(n), "count"};
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
