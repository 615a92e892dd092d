// SPDX-License-Identifier: MIT
#include "analysis/facts/ended_children.h"

#include <algorithm>

#include "analysis/facts/usage.h"

namespace stallprof {
namespace {

constexpr std::int64_t ProcessUsage::*kIo[] = {&ProcessUsage::readChars, &ProcessUsage::writeChars,
                                               &ProcessUsage::readCalls, &ProcessUsage::writeCalls,
                                               &ProcessUsage::readBytes, &ProcessUsage::writeBytes};

// That a process has ended may be seen later than its parent has waited for it.
constexpr Nanos kNoticedWithin = std::chrono::seconds(2);

}  // namespace

EndedChildren::EndedChildren(const Trace& trace) {
  for (const ProcessLife& child : trace.processes) {
    if (child.parent.none() || child.gone == Nanos::max() || child.usage.empty()) continue;
    const ProcessUsage& last = child.usage.back().data;
    ProcessUsage ended = last;
    for (const auto io : kIo)
      if (last.*io >= 0)
        ended.*io =
            std::max(last.*io, static_cast<std::int64_t>(usedInLife(child, io).value_or(0)));
    last_[child.parent].push_back({child.gone, last, ended});
  }
  for (auto& [parent, ended] : last_)
    std::stable_sort(ended.begin(), ended.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
}

Table<ProcessUsage> EndedChildren::ownOf(const ProcessLife& process) const {
  Table<ProcessUsage> own = process.usage;
  const auto found = last_.find(process.id);
  if (found == last_.end()) return own;
  for (const auto io : kIo) {
    std::int64_t theirs = 0, unread = 0, before = -1;
    std::size_t first = 0;
    std::vector<bool> added(found->second.size());
    for (auto& row : own) {
      const std::int64_t now = row.data.*io;
      if (now < 0) continue;
      std::int64_t rise = before < 0 ? 0 : now - before;
      for (std::size_t i = first;
           i < added.size() && found->second[i].at <= row.at + kNoticedWithin; ++i) {
        const std::int64_t moved = found->second[i].last.*io;
        if (added[i] || moved > rise) continue;
        added[i] = true;
        if (moved <= 0) continue;  // searched for once, as of thousands that the page cache served
        rise -= moved;
        theirs += moved;
        unread += found->second[i].ended.*io - moved;
      }
      // From its last row until its end a child is taken to go on at its pace.
      const std::int64_t after = std::clamp<std::int64_t>(rise, 0, unread);
      unread -= after;
      theirs += after;
      while (first < added.size() && added[first]) ++first;
      before = now;
      row.data.*io = now - theirs;
    }
  }
  return own;
}

}  // namespace stallprof
