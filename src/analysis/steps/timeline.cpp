// SPDX-License-Identifier: MIT
#include "analysis/steps/timeline.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/steps/annotated_steps.h"

namespace stallprof {
namespace {

// A loader used inside another's fetch (a data set that holds one) is part of that fetch.
void readFetches(const Trace& trace, TrainerTimeline& timeline) {
  Nanos done = Nanos::min();
  for (const Timed<Fetch>& fetch : trace.fetches) {
    if (fetch.data.thread != timeline.who.thread || fetch.at < done) continue;
    timeline.fetches.push_back(&fetch);
    done = fetch.end();
  }
}

void readOptimizer(const Trace& trace, TrainerTimeline& timeline) {
  std::map<std::uint32_t, std::vector<const Timed<OptimizerStep>*>> optimizers;
  for (const auto& row : trace.optimizerSteps)
    if (row.data.thread == timeline.who.thread) {
      timeline.updates.push_back(&row);
      optimizers[row.data.optimizer].push_back(&row);
    }
  std::vector<std::pair<std::size_t, std::uint32_t>> order;
  for (const auto& [number, steps] : optimizers) order.emplace_back(steps.size(), number);
  std::stable_sort(order.begin(), order.end(), [](auto a, auto b) { return a.first > b.first; });
  DisjointIntervals taken;
  std::set<std::uint32_t> alone;
  for (const auto& [count, number] : order) {
    const auto& steps = optimizers[number];
    if (taken.take(steps.front()->at, steps.back()->end())) alone.insert(number);
  }
  for (const auto* step : timeline.updates)
    if (alone.count(step->data.optimizer) != 0) timeline.stepping.push_back(step);
}

// Whether a word of the name begins with one of `words`: "run_eval", "ValidEpoch".
bool mentions(std::string_view name, std::initializer_list<std::string_view> words) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = 0; at < name.size(); ++at) {
    const bool begins = at == 0 || !letter(name[at - 1]) ||
                        (std::islower(static_cast<unsigned char>(name[at - 1])) != 0 &&
                         std::isupper(static_cast<unsigned char>(name[at])) != 0);
    if (!begins) continue;
    for (const std::string_view word : words)
      if (name.size() - at >= word.size() &&
          std::equal(word.begin(), word.end(), name.begin() + static_cast<std::ptrdiff_t>(at),
                     [&](char a, char b) { return a == lower(b); }))
        return true;
  }
  return false;
}

std::uint64_t nameOf(const Fetch& fetch) { return std::uint64_t{fetch.loader} << 32 | fetch.epoch; }

// Fetches of one iterator that no other's lie between: of indices [first, end).
struct FetchSeries {
  std::size_t first = 0, end = 0;
};

// Series that update nothing, each of two batches at least but for the last, which may be cut off;
// between two of them other loaders' batches and an update. What is zipped has shorter ones, or
// more of them. An update that follows is of the batch fetched before the series, where that has
// had none.
bool evaluate(const TrainerTimeline& timeline, const std::vector<FetchSeries>& all) {
  constexpr std::size_t kBetween = 4;  // fetches, fewer than of any epoch worth an evaluation
  const auto begin = [&](std::size_t fetch) {
    return fetch < timeline.fetches.size() ? timeline.fetches[fetch]->at : Nanos::max();
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FetchSeries& series = all[i];
    const bool owed =
        series.first > 0 && !timeline.firstStep(begin(series.first - 1), begin(series.first));
    const Nanos until = owed ? timeline.fetches[series.end - 1]->end() : begin(series.end);
    if (timeline.firstStep(begin(series.first), until)) return false;
    if (i + 1 == all.size()) break;
    const std::size_t next = all[i + 1].first;
    if (series.end - series.first < 2 || next - series.end < kBetween ||
        !timeline.firstStep(begin(series.end), begin(next)))
      return false;
  }
  return true;
}

// The iterators that serve every evaluation of the run, as InfiniteDataLoader (ultralytics) and
// MultiEpochsDataLoader (timm) do: each series of their fetches is an epoch.
std::set<std::uint64_t> evaluatingForever(const TrainerTimeline& timeline) {
  std::map<std::uint64_t, std::vector<FetchSeries>> byIterator;
  std::vector<FetchSeries>* current = nullptr;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < timeline.fetches.size(); ++i) {
    const std::uint64_t name = nameOf(timeline.fetches[i]->data);
    if (name != std::exchange(before, name) || !current) {
      current = &byIterator[name];
      current->push_back({i, i});
    }
    current->back().end = i + 1;
  }
  std::set<std::uint64_t> found;
  for (const auto& [name, of] : byIterator)
    if (of.size() > 1 && evaluate(timeline, of)) found.insert(name);
  return found;
}

void readEpochs(TrainerTimeline& timeline) {
  const std::set<std::uint64_t> forever = evaluatingForever(timeline);
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  std::uint64_t before = 0;
  for (std::uint32_t i = 0; i < timeline.fetches.size(); ++i) {
    const Timed<Fetch>& fetch = *timeline.fetches[i];
    const std::uint64_t name = nameOf(fetch.data);
    if (name != std::exchange(before, name) && forever.count(name) != 0) known.erase(name);
    const auto [at, isNew] = known.try_emplace(name, timeline.epochs.size());
    if (isNew) {
      EpochSpan& epoch = timeline.epochs.emplace_back();
      epoch.epoch = fetch.data.epoch;
      epoch.loader = fetch.data.loader;
      epoch.begin = epoch.iterator = epoch.iteratorEnd = fetch.at;
      epoch.firstFetch = i;
    }
    EpochSpan& epoch = timeline.epochs[at->second];
    timeline.epochOf.push_back(at->second);
    epoch.end = std::max(epoch.end, fetch.end());
    if (!fetch.data.end) epoch.fetches.push_back(i);
    // A loop may go on after an exception; only what nothing follows is the end.
    if (fetch.data.end && !epoch.ended) epoch.closing = fetch.at;
    epoch.ended = fetch.data.end;
    epoch.hasWorkers = epoch.hasWorkers || fetch.data.worker >= 0;
  }
}

void readIterators(const Trace& trace, TrainerTimeline& timeline) {
  std::unordered_map<std::uint64_t, EpochSpan*> epochs;
  for (EpochSpan& epoch : timeline.epochs)
    epochs.emplace(std::uint64_t{epoch.loader} << 32 | epoch.epoch, &epoch);
  for (const auto& row : trace.iterators) {
    if (row.data.thread != timeline.who.thread) continue;
    const auto found = epochs.find(std::uint64_t{row.data.loader} << 32 | row.data.epoch);
    if (found == epochs.end() || row.at > found->second->begin) continue;
    EpochSpan& epoch = *found->second;
    epoch.key = row.data.key;
    epoch.reused = row.data.reused;
    epoch.iterator = row.at;
    epoch.iteratorEnd = std::min(row.end(), epoch.begin);
  }
}

void readLoaders(const Trace& trace, TrainerTimeline& timeline) {
  std::unordered_map<std::uint32_t, const LoaderSeen*> loaders;
  for (const auto& row : trace.loaders)
    if (row.data.process == timeline.who.process) loaders[row.data.loader] = &row.data;
  for (EpochSpan& epoch : timeline.epochs)
    if (const auto known = loaders.find(epoch.loader); known != loaders.end()) {
      epoch.hasWorkers = known->second->workers > 0;
      epoch.byThreads = madeByThreads(trace.text(known->second->kind));
    }
}

constexpr auto kStepBefore = [](const Timed<OptimizerStep>* step, Nanos t) { return step->at < t; };

}  // namespace

const Timed<OptimizerStep>* TrainerTimeline::firstStep(Nanos begin, Nanos end) const {
  const auto found = std::lower_bound(updates.begin(), updates.end(), begin, kStepBefore);
  return found != updates.end() && (*found)->at < end ? *found : nullptr;
}

const Timed<OptimizerStep>* TrainerTimeline::lastStep(Nanos begin, Nanos end) const {
  const auto after = std::lower_bound(updates.begin(), updates.end(), end, kStepBefore);
  return after != updates.begin() && (*(after - 1))->at >= begin ? *(after - 1) : nullptr;
}

bool TrainerTimeline::afterUpdate(Nanos at) const {
  const auto next = std::partition_point(fetches.begin(), fetches.end(),
                                         [&](const auto* fetch) { return fetch->at <= at; });
  if (next == fetches.begin()) return false;
  const Nanos end = next == fetches.end() ? Nanos::max() : (*next)->at;
  const Timed<OptimizerStep>* last = lastStep((*std::prev(next))->end(), end);
  return last && last->end() <= at;
}

Nanos TrainerTimeline::lastEnd(const Interval& in) const {
  Nanos last = in.begin;
  const auto take = [&](const auto& rows) {
    for (const auto* row : rows)
      if (in.contains(row->end())) last = std::max(last, row->end());
  };
  take(fetches);
  take(updates);
  return last;
}

Nanos TrainerTimeline::nextEpoch(std::uint32_t epoch, Nanos from) const {
  auto fetch = std::lower_bound(fetches.begin(), fetches.end(), from,
                                [](const Timed<Fetch>* f, Nanos t) { return f->at < t; });
  while (fetch != fetches.end() &&
         epochOf[static_cast<std::size_t>(fetch - fetches.begin())] == epoch)
    ++fetch;
  if (fetch == fetches.end()) return Nanos::max();
  const EpochSpan& next = epochs[epochOf[static_cast<std::size_t>(fetch - fetches.begin())]];
  // Its iterator was made before its first fetch; a later fetch of it is its own beginning.
  return next.iterator >= from ? next.iterator : (*fetch)->at;
}

Nanos TrainerTimeline::nextNewEpoch(Nanos from) const {
  const auto next =
      std::lower_bound(epochs.begin(), epochs.end(), from,
                       [](const EpochSpan& epoch, Nanos t) { return epoch.begin < t; });
  if (next == epochs.end()) return Nanos::max();
  return next->iterator >= from ? next->iterator : next->begin;
}

bool TrainerTimeline::madeAhead(const EpochSpan& epoch) const {
  return epoch.firstFetch > 0 && fetches[epoch.firstFetch - 1]->at >= epoch.iterator;
}

Nanos TrainerTimeline::waitEnd(std::size_t index) const {
  const Timed<Fetch>& fetch = *fetches[index];
  if (!epochs[epochOf[index]].hasWorkers) return fetch.end();
  if (fetch.data.end) return fetch.at;
  return fetch.end() - std::clamp(fetch.data.cpu, Nanos{}, fetch.data.duration);
}

bool TrainerTimeline::nested(const EpochSpan& epoch) const {
  return epoch.firstFetch > 0 && epochs[epochOf[epoch.firstFetch - 1]].end > epoch.end;
}

bool isEvaluation(const Trace& trace, const PhaseSpan& span) {
  if (span.phase != Phase::kPeriodic) return false;
  const std::string_view name = trace.text(span.name);
  return name == kEvaluationSpan ||
         (span.source != SpanSource::kHook && mentions(name, {"eval", "valid"}));
}

bool isSave(const Trace& trace, const PhaseSpan& span) {
  if (span.phase != Phase::kPeriodic || isEvaluation(trace, span)) return false;
  return span.source == SpanSource::kHook ||
         mentions(trace.text(span.name), {"save", "saving", "checkpoint", "ckpt"});
}

namespace {

template <class Is>
Intervals spansOf(const Trace& trace, ThreadId thread, Is is) {
  Intervals spans;
  for (const auto& row : trace.spans)
    if (row.data.thread == thread && is(trace, row.data)) spans.push_back(intervalOf(row));
  return joined(std::move(spans));
}

}  // namespace

Intervals evaluationsOf(const Trace& trace, ThreadId thread) {
  return spansOf(trace, thread, isEvaluation);
}

Intervals savesOf(const Trace& trace, ThreadId thread) { return spansOf(trace, thread, isSave); }

Nanos endOf(const Trace& trace, const TrainerTimeline& timeline, const Timed<PhaseSpan>& span) {
  if (span.data.source != SpanSource::kHook || trace.text(span.data.name) != kEvaluationSpan)
    return span.end();
  constexpr int kAhead = 4;  // batches until train() comes: of zipped loaders, one or two ahead
  const auto& fetches = timeline.fetches;
  const auto before = [&](Nanos at) {
    const auto first = std::partition_point(fetches.begin(), fetches.end(),
                                            [at](const auto* fetch) { return fetch->at < at; });
    return static_cast<std::size_t>(first - fetches.begin());
  };
  const auto epochAt = [&](std::size_t fetch) -> const EpochSpan& {
    return timeline.epochs[timeline.epochOf[fetch]];
  };
  const auto made = [&](const EpochSpan& epoch) {  // for it alone, in the span
    return epoch.iterator >= span.at && epoch.iterator < span.end() && !timeline.madeAhead(epoch);
  };
  const std::size_t begin = before(span.at), after = before(span.end());
  Nanos end = span.end();
  if (after < fetches.size() && epochAt(after).firstFetch == after && epochAt(after).counted &&
      made(epochAt(after)))
    end = epochAt(after).iterator;
  int again = 0;  // of epochs that were under way
  for (std::size_t fetch = after; fetch > begin;) {
    const EpochSpan& epoch = epochAt(--fetch);
    if (epoch.evaluation) break;  // what came before a batch of it does not end it
    // A batch of an iterator that is used up here, or of one that serves all evaluations.
    if (epoch.end <= span.end()) continue;
    if (!epoch.counted && (epoch.begin < span.at || end == span.end())) continue;
    // That many are evaluated themselves.
    if (epoch.begin < span.at && ++again > kAhead) return span.end();
    const bool begins = epoch.begin >= span.at && made(epoch);
    end = std::min(end, begins ? epoch.iterator : fetches[fetch]->at);
  }
  return end;
}

Intervals evaluationsOf(const Trace& trace, const TrainerTimeline& timeline) {
  Intervals found;
  for (const Timed<PhaseSpan>* span : timeline.spans)
    if (isEvaluation(trace, span->data)) found.push_back({span->at, endOf(trace, timeline, *span)});
  return found;
}

TrainerTimeline readTimeline(const Trace& trace, TrainerIdentity who) {
  TrainerTimeline timeline;
  timeline.who = who;
  readFetches(trace, timeline);
  readOptimizer(trace, timeline);
  readEpochs(timeline);
  readIterators(trace, timeline);
  readLoaders(trace, timeline);
  for (const auto& row : trace.spans)
    if (row.data.thread == who.thread) timeline.spans.push_back(&row);
  timeline.annotated = readAnnotated(trace, who.thread);
  return timeline;
}

}  // namespace stallprof
