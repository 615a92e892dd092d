// SPDX-License-Identifier: MIT
#include "gate/metrics.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stallprof {
namespace {

constexpr Worse kUp = Worse::kHigher, kDown = Worse::kLower, kNone = Worse::kNeither;

// Every number of src/present/report.schema.json that a run has one of and a gate has a use for; a
// unit test holds the paths to the schema.
constexpr MetricKind kKinds[] = {
    {"steps.time_ns.p50", "step time p50", "ns", kUp},
    {"steps.time_ns.mean", "step time mean", "ns", kUp},
    {"steps.time_ns.p95", "step time p95", "ns", kUp},
    {"steps.time_ns.p99", "step time p99", "ns", kUp},
    {"steps.rate_per_s", "steps a second", "per_s", kDown},
    {"steps.samples_per_s", "samples a second", "per_s", kDown},
    {"steps.window_ns", "window", "ns", kUp},
    {"steps.count", "steps", "count", kNone},
    {"steps.window_count", "steps in the window", "count", kNone},
    {"steps.optimizer_steps", "optimizer steps", "count", kNone},
    {"run.wall_ns", "whole run", "ns", kUp},
    {"run.processes", "processes", "count", kNone},
    {"breakdown.ratio.compute", "computing", "ratio", kDown},
    {"breakdown.ratio.data_wait", "waiting for data", "ratio", kUp},
    {"breakdown.ratio.load", "load", "ratio", kUp},
    {"breakdown.ratio.sync", "sync", "ratio", kUp},
    {"breakdown.ratio.comm", "comm", "ratio", kUp},
    {"breakdown.ratio.periodic", "periodic", "ratio", kUp},
    {"breakdown.ratio.other", "other", "ratio", kUp},
    {"breakdown.data_wait_blame_ratio.extract", "wait for extract", "ratio", kUp},
    {"breakdown.data_wait_blame_ratio.transform", "wait for transform", "ratio", kUp},
    {"breakdown.data_wait_blame_ratio.load", "wait for load", "ratio", kUp},
    {"breakdown.data_wait_blame_ratio.startup", "wait for start-up", "ratio", kUp},
    {"breakdown.data_wait_blame_ratio.unknown", "wait unexplained", "ratio", kUp},
    {"breakdown.phase_ratio.extract", "phase extract", "ratio", kUp},
    {"breakdown.phase_ratio.transform", "phase transform", "ratio", kUp},
    {"breakdown.phase_ratio.load", "phase load", "ratio", kUp},
    {"breakdown.phase_ratio.compute", "phase compute", "ratio", kDown},
    {"breakdown.phase_ratio.sync", "phase sync", "ratio", kUp},
    {"breakdown.phase_ratio.comm", "phase comm", "ratio", kUp},
    {"breakdown.phase_ratio.periodic", "phase periodic", "ratio", kUp},
    {"breakdown.phase_ratio.other", "phase other", "ratio", kUp},
    {"breakdown.phase_ratio.unknown", "phase unknown", "ratio", kUp},
    {"breakdown.hidden_wait_ratio", "hidden wait", "ratio", kUp},
    {"verdict.au_ratio", "AU (compute share)", "ratio", kDown},
    {"verdict.stall_ratio", "stall", "ratio", kUp},
    {"resources.cpu_ratio", "CPU", "ratio", kNone},
    {"resources.gpu_busy_ratio", "GPU busy", "ratio", kDown},
    {"resources.read_bytes_per_s", "read", "bytes_per_s", kNone},
    {"resources.write_bytes_per_s", "written", "bytes_per_s", kNone},
    {"resources.net_bytes_per_s", "network", "bytes_per_s", kNone},
    {"resources.cache_hit_ratio", "cache hits", "ratio", kDown},
    {"resources.peak_rss_bytes", "peak RSS", "bytes", kUp},
    {"resources.worker_rss_bytes", "worker RSS", "bytes", kUp},
    {"resources.shm_bytes", "shared memory", "bytes", kUp},
    {"resources.flops_per_s", "FLOP a second", "per_s", kDown},
};

// Levenshtein: words are short and few.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, other}));
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const MetricKind> metricKinds() { return kKinds; }

const MetricKind* findMetric(std::string_view path) {
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const MetricKind& k) { return k.path == path; });
  return found == std::end(kKinds) ? nullptr : &*found;
}

std::string didYouMean(std::string_view word, std::span<const std::string_view> words) {
  constexpr std::size_t kLongest = 64;  // longer is no slip of the fingers
  if (word.size() > kLongest || words.empty()) return "";
  const auto nearest = *std::min_element(
      words.begin(), words.end(), [&](auto a, auto b) { return edits(word, a) < edits(word, b); });
  // Half of the word may be wrong: `step_time.p50` is to find `steps.time_ns.p50`.
  if (edits(word, nearest) * 2 > std::max(word.size(), nearest.size())) return "";
  return "; did you mean '" + std::string(nearest) + "'?";
}

std::string didYouMeanMetric(std::string_view path) {
  std::vector<std::string_view> paths;
  for (const MetricKind& kind : kKinds) paths.push_back(kind.path);
  return didYouMean(path, paths);
}

}  // namespace stallprof
