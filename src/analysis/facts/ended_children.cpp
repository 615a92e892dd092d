// SPDX-License-Identifier: MIT
#include "analysis/facts/ended_children.h"

#include <algorithm>

namespace stallprof {
namespace {

constexpr std::int64_t ProcessUsage::*kIo[] = {&ProcessUsage::readChars, &ProcessUsage::writeChars,
                                               &ProcessUsage::readCalls, &ProcessUsage::writeCalls,
                                               &ProcessUsage::readBytes, &ProcessUsage::writeBytes};

}  // namespace

EndedChildren::EndedChildren(const Trace& trace) {
  for (const ProcessLife& child : trace.processes)
    if (!child.parent.none() && child.gone < Nanos::max() && !child.usage.empty())
      last_[child.parent].push_back({child.gone, child.usage.back().data});
  for (auto& [parent, ended] : last_)
    std::stable_sort(ended.begin(), ended.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
}

Table<ProcessUsage> EndedChildren::ownOf(const ProcessLife& process) const {
  Table<ProcessUsage> own = process.usage;
  const auto found = last_.find(process.id);
  if (found == last_.end()) return own;
  for (const auto io : kIo) {
    std::int64_t theirs = 0, before = 0;
    auto next = found->second.begin();
    for (auto& row : own) {
      for (; next != found->second.end() && next->at <= row.at; ++next)
        theirs += std::max<std::int64_t>(0, next->data.*io);
      if (row.data.*io < 0) continue;
      row.data.*io = before = std::max(before, row.data.*io - theirs);
    }
  }
  return own;
}

}  // namespace stallprof
