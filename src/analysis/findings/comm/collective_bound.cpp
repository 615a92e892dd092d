// SPDX-License-Identifier: MIT
// comm.collective_bound: the device runs nothing but collectives.
#include <algorithm>
#include <map>

#include "analysis/findings/comm/ranks_evidence.h"

namespace stallprof {
namespace {

const AdviceDefinition kOverlapCollectives =
    deviceAdvice("overlap_collectives",
                 "Overlap the collectives with the backward pass: DistributedDataParallel with "
                 "larger buckets (bucket_cap_mb), gradients in bf16 (a communication hook), or "
                 "fewer collectives (accumulate gradients under no_sync()).");

constexpr const char* kHalfOverlapped = "half of this time is overlapped, at most all of it";
constexpr const char* kMemory = "larger buckets and accumulated gradients need memory";

// From NCCL's own NVTX ranges in the window: how often each collective was called, and the sizes
// of its messages.
void addMessagesEvidence(const Evidence& e, Finding& f) {
  struct Calls {
    double count = 0, bytes = 0;
  };
  std::map<std::string_view, Calls> byName;
  const Intervals known = e.trainer.rowsKnown();
  for (const auto& row : e.trace.ranges) {
    if (row.data.bytes <= 0 || e.trace.text(row.data.domain) != "NCCL") continue;
    if (!containsAny(known, row.at)) continue;
    if (e.trace.thread(row.data.thread).process != e.trainer.process) continue;
    Calls& calls = byName[e.trace.text(row.data.name)];
    calls.count += 1;
    calls.bytes += static_cast<double>(row.data.bytes);
  }
  const auto within = std::count_if(
      e.trainer.steps.begin() + static_cast<std::ptrdiff_t>(e.trainer.warmup),
      e.trainer.steps.end(), [&](const Step& step) { return containsAny(known, step.begin); });
  const auto steps = static_cast<double>(std::max<std::ptrdiff_t>(1, within));
  for (const auto& [name, calls] : byName)
    addEvidence(f, "{}: {} calls and {} a step",
                {textWord(escapeTerminal(name, 64)), numberWord(calls.count / steps),
                 bytesWord(calls.bytes / steps)},
                bytesWord(calls.bytes / steps));
}

// Ranks without a device: what the one that waits shortest waits is the collectives' own time, but
// for steps too short to be compared.
Maybe<Finding> onCpu(const Evidence& e) {
  const RankBalance& b = e.run.balance;
  if (e.device.seen || b.ranks.size() < 2 || b.saved > kNotable || lastToArrive(e)) return {};
  const auto [low, high] = std::minmax_element(
      b.ranks.begin(), b.ranks.end(),
      [](const RankFacts& x, const RankFacts& y) { return x.collectives < y.collectives; });
  if (low->collectives - low->chance <= kNotable) return {};
  Finding f = deviceFinding(e, low->collectives, "The ranks wait in collectives in each step");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "each of {} is in collectives {} to {} of the time",
              {countWord(static_cast<std::int64_t>(b.ranks.size()), "rank"),
               ratioWord(low->collectives), ratioWord(high->collectives)},
              ratioWord(low->collectives));
  addEvidence(f, "no rank is late for long enough to be seen");
  return withAdvice(
      f, {adviceOf(kOverlapCollectives, {"code", "gradient buckets", "exposed", "overlapped"},
                   predictSaved(e, {.own = low->collectives}, {0.5, 0.05}, kHalfOverlapped),
                   kMemory)});
}

Maybe<Finding> collectiveBound(const Evidence& e) {
  const double share = e.device.collectives;
  if (!e.device.timeline) return onCpu(e);
  if (share <= kNotable) return {};
  const RankFacts* last = lastToArrive(e);
  if (last && last->process != e.trainer.process) return {};  // that is comm.straggler_rank
  Finding f = deviceFinding(e, share, "The device runs only collectives for part of each step");
  f.confidence = lowered(f.confidence);  // their time holds the wait for the other ranks
  addEvidence(f, "the device runs only collectives {} of the time", {ratioWord(share)});
  if (const std::size_t ranks = e.run.balance.ranks.size(); ranks > 1)
    addEvidence(f, "{} on this host", {countWord(static_cast<std::int64_t>(ranks), "rank")}, {});
  addEvidence(f, "that time includes waiting for the last rank");
  addMessagesEvidence(e, f);
  return withAdvice(
      f, {adviceOf(kOverlapCollectives, {"code", "gradient buckets", "exposed", "overlapped"},
                   predictSaved(e, {.own = share, .device = share}, {0.5, 0.05}, kHalfOverlapped),
                   kMemory)});
}

}  // namespace

extern const FindingDefinition kCollectiveBound(
    "comm.collective_bound", collectiveBound, offers(kOverlapCollectives),
    {.cause = R"(Ranks spend time in collectives that no other work overlaps.)",
     .rule =
         R"(over 5 % of the traced time the device runs only collectives, or collectives and copies.
  Ranks without a device: each is in collectives over 5 % of the time, and none is a late one.)",
     .fixes = R"(- Overlap with the backward pass, larger buckets, compression.
- Faster links between hosts.)",
     .wrong = R"(the time of a collective includes the wait for the last rank. Ranks of one
  recording are compared (comm.straggler_rank). Ranks on other hosts are not visible.)"});

}  // namespace stallprof
