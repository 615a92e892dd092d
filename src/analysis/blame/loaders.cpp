// SPDX-License-Identifier: MIT
#include "analysis/blame/loaders.h"

#include <algorithm>

#include "analysis/facts/source_lines.h"
#include "base/add_members.h"
#include "base/largest.h"

namespace stallprof {
namespace {

int indexOf(const Trace& trace, const TrainerTimeline& timeline, std::uint32_t loader) {
  for (std::size_t i = 0; i < trace.loaders.size(); ++i)
    if (trace.loaders[i].data.process == timeline.who.process &&
        trace.loaders[i].data.loader == loader)
      return static_cast<int>(i);
  return -1;
}

// The most of them that overlap.
int maxConcurrent(const Intervals& all) {
  std::vector<std::pair<Nanos, int>> changes;  // at one time ends before begins
  for (const Interval& one : all) {
    changes.emplace_back(one.begin, 1);
    changes.emplace_back(one.end, -1);
  }
  std::sort(changes.begin(), changes.end());
  int now = 0, maximum = 1;
  for (const auto& [at, change] : changes) maximum = std::max(maximum, now += change);
  return maximum;
}

}  // namespace

std::map<std::uint32_t, std::uint64_t> batchesOf(const TrainerTimeline& timeline,
                                                 const Interval& window) {
  std::map<std::uint32_t, std::uint64_t> batches;
  for (const EpochSpan& epoch : timeline.epochs)
    for (const std::uint32_t fetch : epoch.fetches)
      if (epoch.counted && window.contains(timeline.fetches[fetch]->at)) ++batches[epoch.loader];
  return batches;
}

int loaderIndex(const Trace& trace, const TrainerTimeline& timeline) {
  std::map<std::uint32_t, std::size_t> uses = timeline.before.fetches;
  for (const EpochSpan& epoch : timeline.epochs)
    if (epoch.counted) uses[epoch.loader] += epoch.fetches.size();
  if (uses.empty()) return -1;
  const auto maximum = largestIn(uses);
  return indexOf(trace, timeline, maximum->first);
}

ZippedKey zippedKey(const Trace& trace, const ZippedLoader& zipped) {
  const LoaderOrigin origin =
      originOf(trace, trace.loaders[static_cast<std::size_t>(zipped.loader)].data);
  return {origin.file, origin.line, zipped.workers};
}

std::vector<ZippedLoader> findZipped(const Trace& trace, const TrainerTimeline& timeline,
                                     const Interval& window, const Producers& producers) {
  std::map<ZippedKey, ZippedLoader> found;
  std::map<ZippedKey, Intervals> epochs;
  for (const EpochSpan& epoch : timeline.epochs) {
    if (epoch.counted || epoch.evaluation || epoch.byThreads) continue;
    ZippedLoader one{.loader = indexOf(trace, timeline, epoch.loader)};
    if (one.loader < 0) continue;
    one.workers = std::max(0, trace.loaders[static_cast<std::size_t>(one.loader)].data.workers);
    for (const std::uint32_t index : epoch.fetches) {
      const Timed<Fetch>& fetch = *timeline.fetches[index];
      BatchWork work;
      if (!window.contains(fetch.at) || !producers.work(epoch, fetch, work)) continue;
      one.making += std::max(Nanos{}, work.end + work.put - work.begin - work.queued);
      one.extract += work.extract;
    }
    if (one.making == Nanos{}) continue;
    const ZippedKey key = zippedKey(trace, one);
    addZipped(found.try_emplace(key, ZippedLoader{one.loader, one.workers}).first->second, one);
    epochs[key].push_back({epoch.begin, epoch.end});
  }
  std::vector<ZippedLoader> all;
  for (auto& [key, zipped] : found) {
    zipped.iterators = maxConcurrent(epochs[key]);
    all.push_back(zipped);
  }
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.loader < b.loader; });
  return all;
}

void addZipped(ZippedLoader& to, const ZippedLoader& more) {
  addMembers<&ZippedLoader::making, &ZippedLoader::extract>(to, more);
  to.iterators = std::max(to.iterators, more.iterators);
}

}  // namespace stallprof
