// SPDX-License-Identifier: MIT
// comm.*: what the ranks of one node say.
#include <algorithm>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

constexpr double kFarLess = 0.5;  // of the other ranks' time in collectives: the one they wait for
constexpr std::string_view kScatter = "torch.data_parallel";  // rule of classify/rules/torch.toml

// The rank that spends least time in collectives arrives last: the others wait for it in theirs.
const RankFacts* lastToArrive(const Evidence& e) {
  const std::vector<RankFacts>& ranks = e.run.ranks;
  if (ranks.size() < 2) return nullptr;
  const auto least = std::min_element(
      ranks.begin(), ranks.end(), [](auto& a, auto& b) { return a.collectives < b.collectives; });
  double others = 1;
  for (const RankFacts& r : ranks)
    if (&r != &*least) others = std::min(others, r.collectives);
  const bool far = least->collectives < kFarLess * others && others - least->collectives > kNotable;
  return far ? &*least : nullptr;
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
  if (e.run.ranks.size() > 1)
    tell(f, countOf(static_cast<int>(e.run.ranks.size()), "rank") + " on this host");
  tell(f, "that time includes waiting for the rank that comes last");
  offer(f, adviceOf("overlap_collectives", {"code", "gradient buckets", "exposed", "overlapped"},
                    predictSaved(e, {share / 2, 0, share / 2}, {share / 20, 0, share / 20},
                                 {share, 0, share}),
                    "larger buckets and accumulated gradients take memory"));
  return f;
}

Maybe<Finding> stragglerRank(const Evidence& e) {
  const RankFacts* last = lastToArrive(e);
  if (!last || last->process == e.trainer.process || !e.device.timeline) return {};
  const double share = e.device.collectives - last->collectives;
  Finding f = deviceFinding(e, "comm.straggler_rank", Phase::kComm, share,
                            "One rank comes last to the collectives, and the others wait for it");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  tell(f,
       "the process " + std::to_string(e.trace.process(last->process).pid) + " spends " +
           percent(last->collectives) + " of its time in collectives, this one " +
           percent(e.device.collectives),
       share, "ratio");
  offer(f, adviceOf("even_out_the_ranks", {"code", "ranks", "uneven", "even"},
                    predictSaved(e, {0.7 * share, 0, 0.7 * share}, {0.1 * share, 0, 0.1 * share},
                                 {share, 0, share})));
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
