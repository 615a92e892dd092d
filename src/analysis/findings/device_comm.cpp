// SPDX-License-Identifier: MIT
// comm.*: what the ranks of one node say.
#include <algorithm>
#include <map>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/wording.h"
#include "analysis/ranks.h"

namespace stallprof {
namespace {

constexpr double kFarLess = 0.5;  // of the other ranks' time in collectives: the one they wait for
constexpr double kOneRank = 0.8;  // of the uneven steps: it is the one, and not one after the other
constexpr std::string_view kScatter = "torch.data_parallel";  // rule of classify/rules/torch.toml

// The rank that spends least time in collectives arrives last: the others wait for it in theirs.
const RankFacts* lastToArrive(const Evidence& e) {
  const std::vector<RankFacts>& ranks = e.run.balance.ranks;
  if (ranks.size() < 2) return nullptr;
  const auto least = std::min_element(
      ranks.begin(), ranks.end(), [](auto& a, auto& b) { return a.collectives < b.collectives; });
  double others = 1;
  for (const RankFacts& r : ranks)
    if (&r != &*least) others = std::min(others, r.collectives);
  const bool far = least->collectives < kFarLess * others && others - least->collectives > kNotable;
  return far ? &*least : nullptr;
}

// "rank 1 (process 4711)"; "the process 4711" where nobody told its rank.
std::string nameOfRank(const Evidence& e, ProcessId process) {
  const std::string pid = std::to_string(e.trace.process(process).pid);
  const Maybe<int> rank = rankOf(e.trace, process, false);
  return rank ? "rank " + std::to_string(*rank) + " (process " + pid + ")" : "the process " + pid;
}

// What NCCL's own NVTX ranges say of the window: how often each collective was called, and the
// sizes of its messages.
void tellMessages(const Evidence& e, Finding& f) {
  struct Calls {
    double count = 0, bytes = 0;
  };
  std::map<std::string_view, Calls> byName;
  for (const auto& row : e.trace.ranges) {
    if (row.data.bytes <= 0 || e.trace.text(row.data.domain) != "NCCL") continue;
    if (row.at < e.trainer.windowBegin || row.at >= e.trainer.windowEnd) continue;
    if (e.trace.thread(row.data.thread).process != e.trainer.process) continue;
    Calls& calls = byName[e.trace.text(row.data.name)];
    calls.count += 1, calls.bytes += static_cast<double>(row.data.bytes);
  }
  const auto steps = static_cast<double>(std::max<std::size_t>(1, e.trainer.windowSteps()));
  for (const auto& [name, calls] : byName)
    tell(f,
         escapeTerminal(name, 64) + ": " + number(calls.count / steps) + " calls and " +
             byteSize(calls.bytes / steps) + " a step",
         calls.bytes / steps, "bytes");
}

}  // namespace

Maybe<Finding> collectiveBound(const Evidence& e) {
  const double share = e.device.collectives;
  if (!e.device.timeline || share <= kNotable) return {};
  const RankFacts* last = lastToArrive(e);
  if (last && last->process != e.trainer.process) return {};  // comm.straggler_rank tells it
  Finding f = deviceFinding(e, "comm.collective_bound", Phase::kComm, share,
                            "The device runs nothing but collectives for a part of each step");
  f.confidence = lowered(f.confidence);  // their time holds the wait for the other ranks
  tell(f, "nothing but collectives on the device " + percent(share) + " of the time", share,
       "ratio");
  if (e.run.balance.ranks.size() > 1)
    tell(f, countOf(static_cast<int>(e.run.balance.ranks.size()), "rank") + " on this host");
  tell(f, "that time includes waiting for the rank that comes last");
  tellMessages(e, f);
  offer(f, adviceOf("overlap_collectives", {"code", "gradient buckets", "exposed", "overlapped"},
                    predictSaved(e, {share / 2, 0, share / 2}, {share / 20, 0, share / 20},
                                 {share, 0, share}),
                    "larger buckets and accumulated gradients take memory"));
  return f;
}

Maybe<Finding> stragglerRank(const Evidence& e) {
  const RankFacts* last = lastToArrive(e);
  if (!last) return {};
  const bool own = last->process == e.trainer.process;
  const std::vector<RankFacts>& ranks = e.run.balance.ranks;
  // With devices each rank's own shares tell; the last one's own report has its cause by name.
  if (own && e.device.timeline) return {};
  double mine = 0, others = 0;
  for (const RankFacts& r : ranks) {
    if (r.process == e.trainer.process) mine = r.collectives;
    if (r.process != last->process) others += r.collectives / static_cast<double>(ranks.size() - 1);
  }
  const double share = (own ? others : mine) - last->collectives;
  if (share <= kNotable) return {};
  Finding f =
      deviceFinding(e, "comm.straggler_rank", Phase::kComm, share,
                    own ? "This rank comes last to the collectives, the others wait for it"
                        : "One rank comes last to the collectives, and the others wait for it");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  tell(f,
       nameOfRank(e, last->process) + " spends " + percent(last->collectives) +
           " of its time in collectives, " + (own ? "the others " : "this one ") +
           percent(own ? others : mine),
       share, "ratio");
  const auto saved = [&](double part) {
    return e.device.timeline ? Saved{part * share, 0, part * share} : Saved{part * share, 0, 0};
  };
  offer(f, adviceOf("even_out_the_ranks", {"code", "ranks", "uneven", "even"},
                    predictSaved(e, saved(0.7), saved(0.1), saved(1))));
  return f;
}

Maybe<Finding> rankImbalance(const Evidence& e) {
  const RankBalance& b = e.run.balance;
  if (b.ranks.size() < 2 || b.saved <= kNotable || lastToArrive(e)) return {};
  const auto most = std::max_element(b.ranks.begin(), b.ranks.end(),
                                     [](auto& x, auto& y) { return x.late < y.late; });
  if (most->late >= kOneRank) return {};
  Finding f = deviceFinding(e, "comm.rank_imbalance", Phase::kComm, b.saved,
                            "Ranks wait for each other: now one is late, now another");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  tell(f, "in " + percent(b.uneven) + " of the steps one rank was waited for", b.uneven, "ratio");
  std::string turns;
  for (const RankFacts& r : b.ranks)
    turns += (turns.empty() ? "" : ", ") + nameOfRank(e, r.process) + " in " + percent(r.late);
  tell(f, "of those, for " + turns);
  offer(f, adviceOf("balance_batches", {"code", "batches of a step", "uneven", "even"},
                    predictSaved(e, {0.7 * b.saved, 0, 0}, {0.1 * b.saved, 0, 0}, {b.saved, 0, 0}),
                    "batches of like cost are less mixed"));
  return f;
}

Maybe<Finding> dataParallel(const Evidence& e) {
  if (e.device.devices < 2) return {};
  double looks = 0, all = 0;
  for (const FunctionLooks& f : e.trainer.stacks.functions) {
    if (f.side != Side::kTrainer) continue;
    all += f.looks;
    if (f.rule == kScatter) looks += f.looks;
  }
  if (looks <= 0) return {};
  Finding f = deviceFinding(e, "comm.data_parallel", Phase::kComm, looks / all,
                            "DataParallel drives several devices from one process");
  f.confidence = Confidence::kLow;
  tell(f, countOf(static_cast<int>(e.device.devices), "device") + " in one process");
  tell(f, "scattering and gathering take " + percent(looks / all) + " of the looks", looks / all,
       "ratio");
  offer(f, adviceOf("one_process_a_device",
                    {"code", "model", "DataParallel", "DistributedDataParallel"}, {},
                    "each process has its own loader: divide num_workers among them"));
  return f;
}

}  // namespace stallprof
