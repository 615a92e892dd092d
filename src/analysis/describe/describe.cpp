// SPDX-License-Identifier: MIT
#include "analysis/describe/describe.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/blame/samples/refine.h"
#include "analysis/facts/source_lines.h"
#include "analysis/facts/stack_samples.h"
#include "analysis/facts/training_framework.h"
#include "analysis/facts/usage.h"
#include "base/largest.h"
#include "base/stats.h"
#include "base/text.h"
#include "base/units.h"
#include "classify/frames.h"
#include "event/range_names.h"

namespace stallprof {
namespace {

LoaderInfo loaderInfo(const Trace& trace, const LoaderSeen& seen) {
  LoaderInfo info;
  info.kind = toUtf8(trace.text(seen.kind));
  info.batching = toUtf8(trace.text(seen.batching));
  info.workers = seen.workers;
  if (seen.batchSize >= 0) info.batchSize = seen.batchSize;
  if (seen.prefetch >= 0) info.prefetch = seen.prefetch;
  info.pinMemory = seen.pinMemory;
  info.persistent = seen.persistent;
  info.inOrder = seen.inOrder;
  const LoaderOrigin origin = originOf(trace, seen);
  info.where = lineAt(trace, origin.file, origin.line);
  info.package = toUtf8(trace.text(origin.package));
  if (info.kind == "tf.data") info.pipeline = toUtf8(trace.text(seen.dataset));
  return info;
}

// A loader that is recreated for each epoch is one loader of the program.
std::vector<LoaderInfo> loaderInfos(const Trace& trace) {
  std::vector<LoaderInfo> infos;
  std::set<std::tuple<StringId, std::uint32_t, std::int32_t, std::int64_t>> known;
  for (const auto& row : trace.loaders) {
    const LoaderOrigin origin = originOf(trace, row.data);
    if (known.emplace(origin.file, origin.line, row.data.workers, row.data.batchSize).second)
      infos.push_back(loaderInfo(trace, row.data));
  }
  return infos;
}

std::string_view sourceName(StepSource source) {
  constexpr std::string_view kNames[] = {"", "marks", "nvtx", "hook", "optimizer", "inferred"};
  return kNames[static_cast<std::size_t>(source)];
}

// Of the window's plain steps. Where gradients accumulate, the batches of one update are timed
// together, each with its share: alone, the one that ends in the optimizer's step would stand out.
std::vector<double> plainTimes(const TrainerFacts& trainer) {
  std::vector<double> times, group;
  bool whole = trainer.warmup == 0 || trainer.steps[trainer.warmup - 1].updates;
  const bool grouped = std::any_of(trainer.steps.begin(), trainer.steps.end(),
                                   [](const Step& step) { return !step.updates; });
  for (std::size_t i = trainer.warmup; i < trainer.steps.size(); ++i) {
    const Step& step = trainer.steps[i];
    if (!trainer.joined.drawn(step.number)) continue;
    if (grouped && i > trainer.warmup && !trainer.follows(i)) {
      group.clear();
      whole = false;
    }
    group.push_back(static_cast<double>((step.end - step.begin).count()));
    whole = whole && !step.boundary;
    if (!step.updates) continue;
    if (whole) times.insert(times.end(), group.size(), mean(group));
    group.clear();
    whole = true;
  }
  if (!times.empty()) return times;
  // No update lies between two boundaries: batches alone, then.
  for (std::size_t i = trainer.warmup; i < trainer.steps.size(); ++i)
    if (const Step& step = trainer.steps[i]; !step.boundary && trainer.joined.drawn(step.number))
      times.push_back(static_cast<double>((step.end - step.begin).count()));
  return times;
}

// Of all plain steps, where not all are held.
double meanOf(const TrainerFacts& trainer, const std::vector<double>& times) {
  if (trainer.joined.plain == 0) return mean(times);
  Nanos sum = trainer.joined.plainTime;
  std::size_t count = trainer.joined.plain;
  for (std::size_t i = trainer.warmup; i < trainer.steps.size(); ++i)
    if (const Step& step = trainer.steps[i]; !step.boundary) {
      sum += step.end - step.begin;
      ++count;
    }
  return static_cast<double>(sum.count()) / static_cast<double>(count);
}

// Bytes of /dev/shm, where it was full at some time; else 0.
std::int64_t sharedMemoryFilled(const Trace& trace) {
  constexpr double kFull = 0.95;
  for (const auto& row : trace.host)
    if (row.data.shmTotal > 0 &&
        static_cast<double>(row.data.shmUsed) >= kFull * static_cast<double>(row.data.shmTotal))
      return row.data.shmTotal;
  return 0;
}

StepTimes timesOf(const TrainerFacts& trainer) {
  const std::vector<double> times = plainTimes(trainer);
  const auto nanos = [](double v) { return Nanos(static_cast<Nanos::rep>(v)); };
  return {nanos(meanOf(trainer, times)), nanos(quantile(times, 0.5)), nanos(quantile(times, 0.95)),
          nanos(quantile(times, 0.99))};
}

// Whether an update came between the first two batches of `loader`: an epoch that only fills the
// memory, or a batch that is fetched to be seen, has none.
bool trainsOn(const Trace& trace, const TrainerFacts& trainer, std::uint32_t loader) {
  Nanos first = Nanos::max(), second = Nanos::max();
  for (const auto& fetch : trace.fetches) {
    const Fetch& f = fetch.data;
    if (f.thread != trainer.thread || f.loader != loader || f.end) continue;
    if (fetch.at < first)
      second = std::exchange(first, fetch.at);
    else
      second = std::min(second, fetch.at);
  }
  return second < Nanos::max() &&
         std::any_of(trace.optimizerSteps.begin(), trace.optimizerSteps.end(), [&](const auto& s) {
           return s.data.thread == trainer.thread && s.at > first && s.at < second;
         });
}

// Of the loader whose batches the steps are of. Null: not known, or the loaders have but one size.
Maybe<std::int64_t> batchSizeOf(const Trace& trace, const TrainerFacts& trainer) {
  if (trainer.loader < 0) return {};
  const LoaderSeen& loader = trace.loaders[static_cast<std::size_t>(trainer.loader)].data;
  const bool several =
      std::any_of(trace.loaders.begin(), trace.loaders.end(), [&](const auto& row) {
        return row.data.batchSize >= 0 && row.data.batchSize != loader.batchSize;
      });
  if (!several || loader.batchSize < 0) return {};
  if (trainer.source == StepSource::kOptimizer && !trainsOn(trace, trainer, loader.loader))
    return {};
  return loader.batchSize;
}

// In the window, of the batches of every loader. Null: the size of one's is not known.
Maybe<double> samplesOf(const Trace& trace, const TrainerFacts& trainer) {
  std::map<std::uint32_t, double> sizes;
  for (const auto& row : trace.loaders)
    if (row.data.process == trainer.process && row.data.batchSize > 0)
      sizes[row.data.loader] = static_cast<double>(row.data.batchSize);
  const auto sizeOf = [&](std::uint32_t loader) {
    const auto found = sizes.find(loader);
    return found == sizes.end() ? 0 : found->second;
  };
  std::map<std::uint32_t, std::uint64_t> batches = trainer.batches;
  if (trainer.source == StepSource::kOptimizer) {
    const std::uint32_t loader =
        trace.loaders[static_cast<std::size_t>(trainer.loader)].data.loader;
    // itertools.cycle gives the batches of the first epoch again, one a step, as far as is known.
    if (!trainsOn(trace, trainer, loader)) return {};
    batches = {{loader, trainer.windowSteps()}};
  }
  double samples = 0;
  for (const auto& [loader, count] : batches) {
    if (sizeOf(loader) <= 0) return {};
    samples += sizeOf(loader) * static_cast<double>(count);
  }
  return samples;
}

// A map that changes nothing is misspelled, or for another program.
std::string unfitted(const Trace& trace, const Untrusted& map) {
  constexpr std::size_t kMaxNames = 3;
  std::vector<std::string> names;
  for (const auto& row : trace.ranges) {
    const std::string name = inQuotes(toUtf8(trace.text(row.data.name)), 40);
    if (trace.text(row.data.domain) == kMarksDomain || names.size() == kMaxNames) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return "--map " + inQuotes(toUtf8(map.raw()), 128) + " fits no range of the run" +
         (names.empty() ? ": it has none." : ", whose ranges are " + joined(names, ", ") + ".");
}

}  // namespace

std::vector<std::string> remarksOf(const Trace& trace) {
  constexpr std::size_t kMaxClocks = 3;
  std::vector<std::string> remarks;
  if (const std::int64_t killed = killedForMemory(trace); killed > 0)
    remarks.push_back("The control group of the run had no memory left: the kernel killed " +
                      countOf(killed, "process") + " of it.");
  if (const std::int64_t full = sharedMemoryFilled(trace); full > 0)
    remarks.push_back("/dev/shm was full (" + bytesText(static_cast<double>(full)) +
                      "): processes that write more to it are killed by SIGBUS, for example "
                      "workers that send batches.");
  for (std::size_t i = 0; i < trace.mapsFitted.size(); ++i)
    if (!trace.mapsFitted[i]) remarks.push_back(unfitted(trace, trace.manifest.maps[i]));
  std::size_t clocks = 0;
  for (const auto& row : trace.gaps)
    if (row.data.duration == Nanos{} && !row.data.why.none() && clocks++ < kMaxClocks)
      remarks.push_back("During the run: " + toUtf8(trace.text(row.data.why)) + ".");
  return remarks;
}

namespace {

Nanos beganAt(const Trace& trace) {
  const Nanos started = trace.manifest.startedMonotonic;
  return started > Nanos{} ? started : trace.begin;
}

}  // namespace

// The innermost line of the user's at which most samples of the thread were since `begin`.
SourceLine lineSince(const Trace& trace, const ThreadLife& thread, Nanos begin) {
  std::map<StackId, double> seen;
  eachSlice(thread, begin, Nanos::max(), [&](const auto& row, std::uint32_t count) {
    StackId at = row.data.stack;
    while (!at.none() && !modulePathOf(trace.text(trace.stack(at).file)).users)
      at = trace.stack(at).caller;
    if (!at.none()) seen[at] += count;
  });
  if (seen.empty()) return {};
  const auto maximum = largestIn(seen);
  const StackSeen& frame = trace.stack(maximum->first);
  SourceLine line = lineAt(trace, frame.file, frame.line);
  line.function = Untrusted(toUtf8(trace.text(frame.function)));
  return line;
}

std::string outsideWindow(const Trace& trace, const TrainerFacts& trainer, const RunInfo& run) {
  constexpr double kLittle = 0.5;
  constexpr Nanos kMuch = std::chrono::seconds(60);
  const Nanos window = trainer.windowInterval().length();
  const Nanos before = trainer.windowBegin - beganAt(trace), after = run.wall - before - window;
  // It may hang, or end with something long.
  constexpr Nanos kStill = std::chrono::seconds(5);
  if (after >= kStill && after > window) {
    const SourceLine at = lineSince(trace, trace.thread(trainer.thread), trainer.windowEnd);
    return "No step ended in the last " + durationText(after) + " of the run, which " +
           "are in no share" +
           (at.known() ? ": the training thread was mostly at " + nameOf(at) + "." : ".");
  }
  if (before + after < kMuch ||
      static_cast<double>(window.count()) > kLittle * static_cast<double>(run.wall.count()))
    return {};
  return "The window of steps is " +
         percentText(static_cast<double>(window.count()) /
                     static_cast<double>(std::max(Nanos(1), run.wall).count())) +
         " of the run: " + durationText(std::max(Nanos{}, before)) + " before it and " +
         durationText(std::max(Nanos{}, after)) + " after it are in no share.";
}

RunInfo describeRun(const Trace& trace) {
  RunInfo run;
  const Manifest& manifest = trace.manifest;
  run.command = manifest.command;
  run.imported = manifest.imported();
  if (manifest.startedRealtime > Nanos{})  // an imported trace may have no date
    run.startedAt = utcText(manifest.startedRealtime, "%Y-%m-%dT%H:%M:%SZ");
  const Nanos began = beganAt(trace);
  run.wall = std::max(Nanos{}, trace.end - began);
  if (!trace.ends.empty()) {
    const auto& end = trace.ends.back();
    run.ended = true;
    run.wall = std::max(Nanos{}, end.at - began);
    if (end.data.exitCode >= 0) run.exitCode = end.data.exitCode;
    if (end.data.signal >= 0) run.exitSignal = end.data.signal;
  }
  run.host = {manifest.host.cpuModel,
              manifest.host.coresOnline,
              manifest.host.coresUsable,
              manifest.host.memoryBytes,
              {}};
  for (const ProcessLife& process : trace.processes) run.processes += process.pid != 0;
  if (const FrameworkSeen* seen = trainingFramework(trace))
    run.framework =
        toUtf8(std::string(trace.text(seen->name)) + " " + std::string(trace.text(seen->version)));
  run.loaders = loaderInfos(trace);
  return run;
}

CoverageInfo describeCoverage(const Trace& trace) {
  CoverageInfo coverage;
  std::vector<StringId> order;
  std::map<StringId, SourceState> last;
  for (const auto& row : trace.sources)
    if (last.insert_or_assign(row.data.source, row.data).second) order.push_back(row.data.source);
  for (const StringId id : order) {
    const SourceState& state = last[id];
    const std::string why = toUtf8(trace.text(state.why));
    if (trace.text(id) == "tier")
      coverage.hostTier = why;
    else
      coverage.sources.push_back({toUtf8(trace.text(id)), state.state, why});
  }
  std::map<LossKind, std::uint64_t> losses;
  for (const auto& row : trace.losses) losses[row.data.kind] += row.data.count;
  for (const auto& [kind, count] : losses) coverage.losses.emplace_back(nameOf(kind), count);
  const double wall = seconds(describeRun(trace).wall);
  Nanos paused{};
  for (const auto& row : trace.pauses) paused += row.data.duration;
  if (paused > Nanos{} && wall > 0) coverage.pausedRatio = std::min(1.0, seconds(paused) / wall);
  if (trace.recorder.empty()) return coverage;
  const RecorderUsage& usage = trace.recorder.back().data;
  coverage.recorderPid = usage.pid;
  if (wall > 0) coverage.recorderCpuRatio = seconds(usage.cpu) / wall;
  std::vector<double> hz;
  for (const auto& row : trace.recorder) hz.push_back(row.data.milliHz / 1e3);
  coverage.effectiveHz = median(std::move(hz));
  return coverage;
}

std::map<std::uint32_t, std::int64_t> epochNumbers(const TrainerFacts& trainer) {
  std::map<std::uint32_t, std::int64_t> numbers;
  std::int64_t next = 0;
  for (const Epoch& epoch : trainer.epochs)
    if (!epoch.evaluation) numbers.emplace(epoch.epoch, next++);
  return numbers;
}

StepsInfo describeSteps(const Trace& trace, const TrainerFacts& trainer) {
  StepsInfo info;
  info.count = static_cast<std::int64_t>(trainer.stepCount());
  info.windowCount = static_cast<std::int64_t>(trainer.windowSteps());
  info.window = trainer.window();
  info.optimizerSteps = static_cast<std::int64_t>(trainer.optimizerSteps);
  if (trainer.steps.empty()) return info;
  info.source = sourceName(trainer.source);
  // Counted by the program's own calls; few steps make their times, not their count, uncertain.
  const bool direct = trainer.source != StepSource::kInferred;
  info.confidence = !trainer.sureSteps           ? Confidence::kLow
                    : !direct                    ? Confidence::kMedium
                    : trainer.windowSteps() < 20 ? Confidence::kMedium
                                                 : Confidence::kHigh;
  const double window = seconds(info.window);
  if (window > 0) info.ratePerSecond = static_cast<double>(info.windowCount) / window;
  if (trainer.loader >= 0 && window > 0)
    info.samplesPerSecond = per(samplesOf(trace, trainer), window);
  info.batchSize = batchSizeOf(trace, trainer);
  const StepTimes times = timesOf(trainer);
  if (times.mean > Nanos{}) info.time = times;
  return info;
}

Breakdown describeBreakdown(const TrainerFacts& trainer) {
  Breakdown out;
  if (trainer.steps.empty()) out.scope = "run";
  const double window = static_cast<double>(trainer.window().count());
  if (trainer.steps.empty() && !trainer.stacks.seen()) return out;
  if (window <= 0) return out;
  const auto share = [&](Nanos t) { return static_cast<double>(t.count()) / window; };
  Split s = trainer.split;
  Blame b = trainer.blame;
  refine(trainer.stacks, s, b);
  out.ratio = Breakdown::Ratio{share(s.compute), share(s.wait),     share(s.load), share(s.sync),
                               share(s.comm),    share(s.periodic), share(s.other)};
  out.blame = Breakdown::BlameRatio{share(b.extract), share(b.transform), share(b.load),
                                    share(b.startup), share(b.unknown)};
  out.phase = Breakdown::PhaseRatio{
      share(b.extract),  share(b.transform), share(s.load + b.load + b.startup),
      share(s.compute),  share(s.sync),      share(s.comm),
      share(s.periodic), share(s.other),     share(b.unknown)};
  if (trainer.device.timeline) out.hiddenWaitRatio = share(s.hidden);
  return out;
}

}  // namespace stallprof
