// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/ranks.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "analysis/blame/samples/refine.h"
#include "base/interval.h"
#include "base/stats.h"

namespace stallprof {
namespace {

// A wait is a number of samples, so one more or less of them is no difference between two ranks;
// two are. In sampling periods.
constexpr double kSampleDistance = 1.5;
constexpr double kNotableStep = 0.05;     // of a step: less is no waiting for anybody
constexpr std::size_t kMinCompared = 20;  // steps

double shareOnDevice(const TrainerFacts& t) {
  const DeviceBusy& d = t.device.devices[0];
  const bool any =
      std::any_of(t.device.kernels.begin(), t.device.kernels.end(),
                  [](const KernelUse& k) { return k.category == KernelCategory::kCollective; });
  return any && d.traced > Nanos{} ? seconds(d.collectives) / seconds(d.traced) : 0;
}

RankFacts rankFacts(const TrainerFacts& t) {
  Split split = t.split;
  Blame blame = t.blame;
  refine(t.stacks, split, blame);
  const auto share = [&](Nanos time) {
    return t.window() > Nanos{} ? seconds(time) / seconds(t.window()) : 0;
  };
  RankFacts r;
  r.process = t.process;
  r.collectives = share(split.comm);
  r.wait = share(split.wait);
  r.compute = share(split.compute);
  if (!t.device.devices.empty()) {
    r.collectives = shareOnDevice(t);
  } else if (!t.stacks.collectives.empty()) {
    // Samples of different steps are as many witnesses, however alike.
    SampleSum all = t.stacks.trainer;
    const double witnesses = std::min(all.samples, static_cast<double>(t.windowSteps()));
    if (witnesses > all.effective()) all.squares = all.samples * all.samples / witnesses;
    const Share sampled = shareOf(r.collectives * all.samples, all);
    r.chance = (sampled.high - sampled.low) / 2;
  }
  return r;
}

// When its thread stood in collectives: phases may be annotated inside each other.
Intervals waitsOf(const Trace& trace, const TrainerFacts& t) {
  Intervals waits = t.stacks.collectives;
  for (const auto& span : trace.spans)
    if (span.data.thread == t.thread && span.data.phase == Phase::kComm)
      waits.push_back({span.at, span.end()});
  return joined(std::move(waits));
}

double usualSample(const std::vector<const TrainerFacts*>& trainers) {
  std::vector<double> lengths;
  for (const TrainerFacts* t : trainers)
    for (const Interval& sample : t->stacks.collectives)
      lengths.push_back(seconds(sample.end - sample.begin));
  return lengths.empty() ? 0 : median(lengths);
}

// Ranks that train together step together: one's steps are everybody's.
void compareSteps(const Trace& trace, const std::vector<const TrainerFacts*>& trainers,
                  RankBalance& balance) {
  const TrainerFacts& first = *trainers[0];
  std::vector<Intervals> waits;
  for (const TrainerFacts* t : trainers) waits.push_back(waitsOf(trace, *t));
  const double sample = usualSample(trainers);
  double saved = 0, whole = 0;
  std::vector<std::size_t> late(trainers.size());
  std::size_t uneven = 0;
  for (std::size_t i = first.warmup; i < first.steps.size(); ++i) {
    const Step& step = first.steps[i];
    std::vector<double> waited;
    for (const Intervals& w : waits) waited.push_back(seconds(lengthIn(w, step)));
    const auto minimum = std::min_element(waited.begin(), waited.end());
    const double length = seconds(step.end - step.begin);
    const double beyond = mean(waited) - *minimum;  // of it the least is everybody's own
    whole += length;
    const double others =
        beyond * static_cast<double>(waited.size()) / static_cast<double>(waited.size() - 1);
    if (others < std::max(kNotableStep * length, kSampleDistance * sample)) continue;
    saved += beyond;
    ++uneven;
    ++late[static_cast<std::size_t>(minimum - waited.begin())];
  }
  balance.compared = first.steps.size() - first.warmup;
  if (balance.compared < kMinCompared || whole <= 0 || uneven == 0) return;
  balance.saved = saved / whole;
  for (std::size_t i = 0; i < trainers.size(); ++i)
    balance.ranks[i].late = static_cast<double>(late[i]) / static_cast<double>(uneven);
  balance.uneven = static_cast<double>(uneven) / static_cast<double>(balance.compared);
}

// Two that train side by side, step for step.
bool together(const TrainerFacts& a, const TrainerFacts& b) {
  const auto few = static_cast<double>(std::min(a.stepCount(), b.stepCount()));
  const auto many = static_cast<double>(std::max(a.stepCount(), b.stepCount()));
  const Nanos both = std::min(a.windowEnd, b.windowEnd) - std::max(a.windowBegin, b.windowBegin);
  return few >= 0.9 * many && both * 2 > std::max(a.window(), b.window());
}

// Those that train beside the one with the longest window, which the report is of, and it: an
// earlier stage, or attempt, is none of its ranks.
template <class T>
std::vector<T*> besideLongest(const std::vector<T*>& trainers) {
  std::vector<T*> beside;
  const auto longest = std::max_element(trainers.begin(), trainers.end(),
                                        [](T* a, T* b) { return a->window() < b->window(); });
  std::copy_if(trainers.begin(), trainers.end(), std::back_inserter(beside),
               [&](T* t) { return t == *longest || together(**longest, *t); });
  return beside;
}

bool ranksWithoutDevice(const Trace& trace) {
  if (!trace.devices.empty()) return false;
  if (trace.manifest.numberIn("WORLD_SIZE").value_or(1) > 1) return true;
  for (const auto& row : trace.frameworks)
    if (row.data.rank >= 0) return true;
  std::set<ProcessId> steppers;
  for (const auto& row : trace.optimizerSteps)
    steppers.insert(trace.thread(row.data.thread).process);
  return steppers.size() > 1;
}

// A thread that works much of its time, as one of a team does; gloo's own sends and receives take
// a few per cent.
constexpr double kWorks = 0.3;

bool blocked(Wait wait) {
  return wait == Wait::kFutex || wait == Wait::kPoll || wait == Wait::kSocket ||
         wait == Wait::kPipe || wait == Wait::kEventLoop;
}

// Of the samples that found its thread blocked in the window, its fetches left out: how many found
// it in what may be a collective, and not asleep, in a file, ...: there it is late by itself.
Share shareInCollectives(const Trace& trace, const TrainerFacts& t) {
  constexpr std::uint32_t kMaxSamples = 100;  // of one slice: more are no more of a witness
  std::vector<Interval> fetches;
  for (const auto& row : trace.fetches)
    if (row.data.thread == t.thread) fetches.push_back({row.at, row.end()});
  auto fetch = fetches.begin();
  // Of a run of several parts, fetches are known in these intervals alone.
  const std::vector<Interval>& detailed = t.joined.detailed;
  const auto known = [&](Nanos at) {
    return detailed.empty() || std::any_of(detailed.begin(), detailed.end(),
                                           [&](const Interval& i) { return i.contains(at); });
  };
  SampleSum all;
  double some = 0;
  for (const auto& slice : trace.thread(t.thread).slices) {
    const Wait wait = slice.data.wait;
    const Nanos at = slice.end();  // of its last sample
    if (at < t.windowBegin || at >= t.windowEnd || !known(at)) continue;
    while (fetch != fetches.end() && fetch->end < at) ++fetch;
    const bool fetching = fetch != fetches.end() && fetch->begin <= at;
    if (fetching || wait == Wait::kRunning || wait == Wait::kUnknown) continue;
    const std::uint32_t samples = std::clamp(slice.data.samples, 1u, kMaxSamples);
    for (std::uint32_t i = 0; i < samples; ++i) all.add(&slice);
    some += blocked(wait) ? samples : 0;
  }
  return all.samples > 0 ? shareOf(some, all) : Share{1, 0, 1};
}

// A trainer's thread, blocked in its steps.
struct Blocked {
  Nanos time{};
  Share shared;  // of it, in what may be a collective
  [[nodiscard]] Nanos in(double share) const { return fromSeconds(share * seconds(time)); }
};

}  // namespace

RankBalance balanceRanks(const Trace& trace, const std::vector<const TrainerFacts*>& trainers) {
  RankBalance balance;
  std::vector<const TrainerFacts*> ranks;
  const bool devices = std::any_of(trainers.begin(), trainers.end(), [](const TrainerFacts* t) {
    return !t->device.devices.empty();
  });
  const std::vector<const TrainerFacts*> beside = besideLongest(trainers);
  balance.together = std::max<std::size_t>(1, beside.size());
  for (const TrainerFacts* t : beside) {
    const RankFacts facts = rankFacts(*t);
    // Without a device the one that never waits is a rank, too.
    if (devices && facts.collectives <= 0) continue;
    ranks.push_back(t);
    balance.ranks.push_back(facts);
  }
  const bool any = std::any_of(balance.ranks.begin(), balance.ranks.end(),
                               [](const RankFacts& r) { return r.collectives > 0; });
  if (!any) {
    balance.ranks.clear();
    return balance;
  }
  if (ranks.size() >= 2 && !devices) compareSteps(trace, ranks, balance);
  return balance;
}

std::size_t mainTrainer(const std::vector<const TrainerFacts*>& trainers) {
  constexpr double kClearly = 0.05;
  const auto wait = [&](const TrainerFacts* t) {
    return t->window() > Nanos{} ? seconds(t->split.wait) / seconds(t->window()) : 0;
  };
  const auto longest =
      std::max_element(trainers.begin(), trainers.end(),
                       [](const auto* a, const auto* b) { return a->window() < b->window(); });
  const std::vector<const TrainerFacts*> beside = besideLongest(trainers);
  const auto* waits = *std::max_element(beside.begin(), beside.end(),
                                        [&](auto* a, auto* b) { return wait(a) < wait(b); });
  const auto found = wait(waits) > wait(*longest) + kClearly
                         ? std::find(trainers.begin(), trainers.end(), waits)
                         : longest;
  return static_cast<std::size_t>(found - trainers.begin());
}

void addBlockedWaits(const Trace& trace, const std::vector<TrainerFacts*>& all) {
  constexpr double kFewSamples = 30;  // fewer split nothing (refine)
  const std::vector<TrainerFacts*> trainers = besideLongest(all);
  if (trainers.size() < 2 || !trace.devices.empty()) return;
  std::vector<Blocked> blocked;
  for (const TrainerFacts* t : trainers) {
    // Without its rank it is not known to wait for the others, without its CPU not for how long.
    if (!rankOf(trace, t->process, false) || t->cpu <= Nanos{}) return;
    const Nanos worked = std::max(t->cpu, t->processCpu) + t->starved;
    blocked.push_back(
        {std::max(Nanos{}, t->split.compute - worked), shareInCollectives(trace, *t)});
  }
  const auto waited = [](const Blocked& b) { return b.in(b.shared.value); };
  const Blocked& minimum =
      *std::min_element(blocked.begin(), blocked.end(),
                        [&](const Blocked& a, const Blocked& b) { return waited(a) < waited(b); });
  // Of ranks that were never seen in anything else the scheduler's times are all there is to ask.
  const bool exact = std::all_of(blocked.begin(), blocked.end(),
                                 [](const Blocked& b) { return b.shared.value >= 1; });
  for (std::size_t i = 0; i < trainers.size(); ++i) {
    const Blocked& b = blocked[i];
    if (trainers[i]->stacks.step.all.samples >= kFewSamples) continue;
    if (!exact && b.in(b.shared.low) <= minimum.in(minimum.shared.high)) continue;  // may be chance
    trainers[i]->split.compute -= waited(b) - waited(minimum);
    trainers[i]->split.comm += waited(b) - waited(minimum);
  }
}

Maybe<int> rankOf(const Trace& trace, ProcessId process, bool only) {
  Maybe<int> rank;
  for (const auto& row : trace.frameworks)
    if (row.data.process == process && row.data.rank >= 0) rank = row.data.rank;
  if (rank || !only) return rank;
  const auto number = trace.manifest.numberIn("RANK");
  if (number && *number <= std::numeric_limits<int>::max()) rank = static_cast<int>(*number);
  return rank;
}

RankWaits::RankWaits(const Trace& trace, TrainerIdentity who)
    : trace_(trace), who_(who), ranks_(ranksWithoutDevice(trace)) {}

bool RankWaits::inBackward(StackId python) {
  const auto [at, isNew] = backward_.try_emplace(python, false);
  if (isNew) {
    const StackSeen& frame = trace_.stack(python);
    const std::string_view file = trace_.text(frame.file), name = trace_.text(frame.function);
    at->second = file.find("torch/autograd/") != std::string_view::npos &&
                 (name == "backward" || name == "_engine_run_backward");
  }
  return at->second;
}

bool RankWaits::busyBeside(Nanos at) const {
  for (const ThreadId id : trace_.process(who_.process).threads) {
    if (id == who_.thread) continue;
    const Table<ThreadSlice>& slices = trace_.thread(id).slices;
    const auto slice = std::partition_point(
        slices.begin(), slices.end(), [&](const Timed<ThreadSlice>& s) { return s.end() < at; });
    if (slice != slices.end() && slice->at <= at &&
        seconds(slice->data.run) > kWorks * seconds(slice->data.duration))
      return true;
  }
  return false;
}

bool RankWaits::waitsForOthers(StackId python, const Sample& sample) {
  return ranks_ && blocked(sample.wait) && inBackward(python) && !busyBeside(sample.at);
}

}  // namespace stallprof
