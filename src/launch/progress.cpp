// SPDX-License-Identifier: MIT
#include "launch/progress.h"

#include <algorithm>
#include <cstdio>

namespace stallprof {
namespace {

// A median of more is no better; a forged stream of events takes no more memory.
constexpr std::size_t kMostGaps = 16384, kMostThreads = 4096;

std::string durationText(Nanos t) {
  char text[32];
  const double s = seconds(t);
  if (s >= 1)
    std::snprintf(text, sizeof text, "%.3g s", s);
  else if (s >= 1e-3)
    std::snprintf(text, sizeof text, "%.3g ms", s * 1e3);
  else
    std::snprintf(text, sizeof text, "%.3g us", s * 1e6);
  return text;
}

}  // namespace

void Progress::put(const Event& event) {
  out_.put(event);
  if (const auto* fetch = std::get_if<Fetch>(&event.payload)) {
    if (!fetch->end) note(Kind::kBatch, fetch->thread, event.at, fetch->duration, 1);
  } else if (const auto* step = std::get_if<OptimizerStep>(&event.payload)) {
    note(Kind::kOptimizer, step->thread, event.at, Nanos(0), std::max(step->steps, 1u));
  }
}

void Progress::note(Kind kind, ThreadId thread, Nanos at, Nanos wait, std::uint32_t count) {
  if (seen_.size() >= kMostThreads && !seen_.contains({kind, thread.value})) return;
  Seen& seen = seen_[{kind, thread.value}];
  if (seen.last >= Nanos(0) && at > seen.last && seen.gaps.size() < kMostGaps)
    seen.gaps.push_back((at - seen.last) / count);
  seen.last = at;
  seen.wait += wait;
  seen.total += count, seen.since += count;
  if (from_ < Nanos(0)) from_ = at;
}

std::string Progress::line(Nanos now) {
  const Seen* most = nullptr;
  Kind kind = Kind::kBatch;
  for (const auto& [key, seen] : seen_)
    if (seen.since > 0 && (most == nullptr || (key.first == kind && seen.since > most->since)))
      most = &seen, kind = key.first;
  const Nanos period = now - from_;
  if (most == nullptr || period <= Nanos(0)) return "";
  std::vector<Nanos> gaps = most->gaps;
  std::nth_element(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2),
                   gaps.end());
  char text[200];
  std::snprintf(text, sizeof text, "%llu %s, %.3g a second",
                static_cast<unsigned long long>(most->total),
                kind == Kind::kBatch ? "batches" : "optimizer steps",
                static_cast<double>(most->since) / seconds(period));
  std::string line = text;
  if (!gaps.empty()) line += ", p50 " + durationText(gaps[gaps.size() / 2]);
  if (kind == Kind::kBatch) {
    std::snprintf(text, sizeof text, ", %.0f %% of the time waiting for data",
                  std::min(100.0, 100 * seconds(most->wait) / seconds(period)));
    line += text;
  }
  for (auto& [key, seen] : seen_) seen.since = 0, seen.wait = Nanos(0), seen.gaps.clear();
  from_ = now;
  return line;
}

}  // namespace stallprof
