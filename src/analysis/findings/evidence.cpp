// SPDX-License-Identifier: MIT
#include "analysis/findings/evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/blame/samples/refine.h"
#include "analysis/facts/hook_parts.h"
#include "analysis/facts/source_lines.h"
#include "analysis/findings/build.h"
#include "analysis/steps/timeline.h"

namespace stallprof {
namespace {

const LoaderSeen* loaderOf(const Trace& trace, const TrainerFacts& t) {
  if (t.loader < 0 || static_cast<std::size_t>(t.loader) >= trace.loaders.size()) return nullptr;
  const LoaderSeen& loader = trace.loaders[static_cast<std::size_t>(t.loader)].data;
  // What rules and model know of workers and order is PyTorch's.
  return madeByThreads(trace.text(loader.kind)) ? nullptr : &loader;
}

PipelineSettings settingsOf(const LoaderSeen* loader, const RunFacts& run, double external) {
  PipelineSettings s;
  s.cores = coresLeft(run.cores,
                      external + run.siblingCpuRatio.value_or(0) + run.besideCpuRatio.value_or(0));
  if (!loader) return s;
  // A damaged recording may claim anything; PyTorch itself is unusable past a few hundred.
  s.workers = std::clamp(loader->workers, 0, 1024);
  s.prefetch = std::clamp(loader->prefetch, 1, 1024);
  if (loader->prefetch < 1) s.prefetch = 2;  // PyTorch's default
  s.inOrder = loader->inOrder;
  s.persistent = loader->persistent;
  return s;
}

Workers workersOf(const LoaderSeen* loader) {
  if (!loader || loader->workers <= 0) return Workers::kNone;
  return loader->persistent ? Workers::kPersistent : Workers::kStartedEachEpoch;
}

// What another setting of the trainer's loader changes beside its own epochs: the line that makes
// it may make those of evaluation, and others when these are done with.
void addAlike(const Trace& trace, const TrainerFacts& t, const LoaderSeen& loader, Workload& w) {
  if (t.windowSteps() == 0) return;
  std::map<std::uint32_t, const LoaderSeen*> alike;
  for (const auto& row : trace.loaders)
    if (row.data.process == loader.process && row.data.kind == loader.kind &&
        row.data.file == loader.file && row.data.line == loader.line &&
        row.data.workers == loader.workers)
      alike[row.data.loader] = &row.data;
  double epochs = 0, first = 0, firstStart = 0;
  eachEpochOfWindow(t, [&](const Epoch& epoch, bool isFirst) {
    const auto of = alike.find(epoch.loader);
    if (!epoch.evaluation) {
      epochs += 1;
      first += isFirst;
    } else if (of != alike.end() && epoch.starting > Nanos{}) {
      const auto size = static_cast<double>(of->second->batchSize);
      const auto ours = static_cast<double>(loader.batchSize);
      w.evaluation.start += seconds(epoch.starting);
      w.evaluation.count += 1;
      w.evaluation.batches +=
          static_cast<double>(epoch.batches) * (size > 0 && ours > 0 ? size / ours : 1);
      firstStart += isFirst ? seconds(epoch.starting) : 0;
    }
  });
  w.firstStart = epochs > 0 ? first / epochs : 0;
  if (w.evaluation.start <= 0 || loader.line == 0) {
    w.evaluation = {};
    return;
  }
  w.evaluation.firstStart = firstStart / w.evaluation.start;
  for (double* sum : {&w.evaluation.start, &w.evaluation.count, &w.evaluation.batches})
    *sum /= static_cast<double>(t.windowSteps());
}

// What others cost the job: no more than its threads waited for a core. Programs of a lower
// priority give theirs up at once.
double externalOf(const RunFacts& run) {
  const double others = run.externalCpuRatio.value_or(0);
  return std::clamp(std::min(others, run.queuedRatio.value_or(others)) + run.stealRatio.value_or(0),
                    0.0, 1.0);
}

// Of the usable cores, in use by others: what programs of a lower priority use is as good as idle.
double busyByOthers(const RunFacts& run) {
  constexpr double kQueued = 0.05;  // of the usable cores, waited for
  if (run.queuedRatio.value_or(1) < kQueued) return externalOf(run);
  return std::clamp(run.externalCpuRatio.value_or(0) + run.stealRatio.value_or(0), 0.0, 1.0);
}

// Cores that others use while more lie idle are no loss.
bool lackedCores(const TrainerFacts& t, const RunFacts& run) {
  constexpr double kQueued = 0.05;  // of the window, the trainer was runnable without a core
  if (!run.jobCpuRatio) return true;
  const double busy = *run.jobCpuRatio + busyByOthers(run) + run.siblingCpuRatio.value_or(0);
  return busy >= kFewIdle ||
         (t.window() > Nanos{} && seconds(t.starved) > kQueued * seconds(t.window()));
}

constexpr std::int64_t kMaxRanks = 1024;  // of a host; a damaged recording may claim anything

double overlapSeconds(Nanos begin, Nanos end, const TrainerFacts& t) {
  const Nanos inside = std::min(end, t.windowEnd) - std::max(begin, t.windowBegin);
  return std::max(0.0, seconds(inside));
}

double checkpointSeconds(const Trace& trace, const TrainerFacts& t) {
  return seconds(lengthIn(savesOf(trace, t.thread), t.windowInterval()));
}

// A save among it is none.
double evaluationSeconds(const Trace& trace, const TrainerFacts& t) {
  Intervals all = t.evaluations;
  for (const Epoch& p : t.epochs)
    if (p.evaluation) all.push_back({p.begin, p.end});
  all = joined(std::move(all));
  Nanos length = lengthIn(all, t.windowInterval());
  for (const Interval& save : savesOf(trace, t.thread))
    if (const Interval inside = intersect(save, t.windowInterval()); inside.begin < inside.end)
      length -= lengthIn(all, inside);
  return seconds(length);
}

double workersBusy(const TrainerFacts& t, int workers) {
  if (workers < 1 || t.window() <= Nanos{}) return 0;
  double busy = seconds(t.joined.making);
  for (const BatchWork& w : t.works) busy += overlapSeconds(w.begin, w.end + w.put, t);
  return std::min(1.0, busy / (seconds(t.window()) * workers));
}

// What a worker holds that its parent does not: measured where there are workers; else the
// trainer's private memory, the most a forked copy can come to own.
void addWorkerBytes(Evidence& e) {
  for (const WorkerFacts& w : e.trainer.workers) {
    const auto bytes = std::max({w.peakPrivate, std::int64_t{0}});
    e.workerBytes = std::max(e.workerBytes, static_cast<double>(bytes));
  }
  e.workerBytesMeasured = e.workerBytes > 0;
  if (e.workerBytesMeasured) return;
  for (const auto& u : e.trace.process(e.trainer.process).usage)
    if (u.data.residentBytes > 0)
      e.workerBytes = std::max(e.workerBytes,
                               static_cast<double>(u.data.residentBytes -
                                                   std::max<std::int64_t>(0, u.data.sharedBytes)));
}

void addShares(Evidence& e) {
  const TrainerFacts& t = e.trainer;
  e.window = seconds(t.window());
  if (e.window <= 0) return;
  const auto share = [&](Nanos part) { return std::max(0.0, seconds(part)) / e.window; };
  Split own = t.split;
  Blame named = t.blame;
  refine(t.stacks, own, named);
  // A loader's fetches are recorded exactly; without one, stacks show what the data takes.
  const Split& split = t.withoutFetches() ? own : t.split;
  const Blame& blame = t.withoutFetches() ? named : t.blame;
  e.wait = share(split.wait);
  // A storage finding is about blocking: reading that keeps a core busy is work for more workers.
  e.extract = share(blame.extract - blame.extractCpu);
  e.transform = share(blame.transform + blame.extractCpu);
  e.extractCpu = share(blame.extractCpu);
  if (!t.withoutFetches())
    e.inLoop = share(named.extract + named.transform - t.blame.extract - t.blame.transform);
  e.loadBlame = share(blame.load);
  e.startup = share(blame.startup);
  e.unknownWait = share(blame.unknown);
  e.compute = share(own.compute);
  e.ownLoad = share(own.load - own.copy);
  e.periodic = share(own.periodic);
  e.other = share(own.other);
  const StackFacts& s = t.stacks;
  const auto shareOfTrainer = [&](double time) {
    return shareOf(time / s.trainerTime * s.trainer.samples, s.trainer);
  };
  if (s.trainerTime > 0) e.waitsAfter = std::min(e.other, s.waitsAfter / s.trainerTime);
  if (s.drawing > 0 && s.trainerTime > 0) e.drawing = shareOfTrainer(s.drawing);
  if (s.drawingAhead > 0 && s.trainerTime > 0) e.drawingAhead = shareOfTrainer(s.drawingAhead);
  if (s.releasing > 0 && s.trainerTime > 0) e.releasing = shareOfTrainer(s.releasing);
  e.starved = share(t.starved);
  // The thread's own CPU: a thread beside it may make the data that this one waits for.
  const Nanos cpu = t.cpu > Nanos{} ? t.cpu : t.processCpu;
  e.trainerBlockedKnown = cpu > Nanos{};
  e.trainerBlocked = std::max(0.0, 1 - share(cpu) - e.starved);
  if (s.trainerTime > 0) {
    e.ranByClock = s.ranByClock / s.trainerTime;
    e.ranBySamples = s.ranBySamples / s.trainerTime;
  }
  e.evaluation = std::min(e.periodic, evaluationSeconds(e.trace, t) / e.window);
  e.checkpoint = std::min(e.periodic, checkpointSeconds(e.trace, t) / e.window);
}

// Gaps of no length say what happened at an instant.
double unseenOf(const Trace& trace, const TrainerFacts& t) {
  Intervals gaps;
  for (const auto& row : trace.gaps)
    if (row.data.duration > Nanos{}) gaps.push_back(intervalOf(row));
  const Interval window{t.windowBegin, t.windowEnd};
  return window.empty() ? 0
                        : seconds(lengthIn(joined(std::move(gaps)), window)) / seconds(t.window());
}

}  // namespace

SourceLine Evidence::loaderLine() const {
  if (!loader) return {};
  const LoaderOrigin origin = originOf(trace, *loader);
  return lineAt(trace, origin.file, origin.line);
}

std::string_view Evidence::phaseOfHalf() const {
  const std::pair<std::string_view, double> phases[] = {{"extract", extract},
                                                        {"transform", transform},
                                                        {"load", loadBlame + ownLoad},
                                                        {"compute", compute},
                                                        {"periodic", periodic}};
  for (const auto& [name, share] : phases)
    if (share > 0.5) return name;
  if (!trainer.native.seen || extract + transform <= 0.5) return {};
  return extract >= transform ? "extract" : "transform";
}

bool Evidence::computeCeilingHoldsData() const {
  constexpr double kSome = 0.05;  // of the window
  return trainer.withoutFetches() && wait > kSome && !ceilings.empty();
}

Maybe<double> secondsOfMemory(const Evidence& e, double growthPerSecond) {
  constexpr double kMuchGrowth = 64e6, kSoon = 24 * 3600;  // bytes in the window; seconds
  const auto room = e.run.memoryRoom();
  if (growthPerSecond * e.window < kMuchGrowth || !room) return {};
  const double left = static_cast<double>(*room) / growthPerSecond;
  return left < kSoon ? Maybe<double>(left) : std::nullopt;
}

double coresForPipeline(const Evidence& e, double cores, double external) {
  const double others = external + (e.beside + e.run.siblingCpuRatio.value_or(0)) * e.run.cores /
                                       std::max(cores, 0.25);
  return coresLeft(cores, others);
}

bool coresFull(const Evidence& e) {
  constexpr double kFull = 0.90;  // in use: what is left are the gaps between threads
  constexpr double kMet = 0.15;   // as far as the model may be off and still be used
  if (e.coresBusy >= kFull) return true;
  for (const Ceiling& c : e.ceilings)
    if (c.basis == "inferred") return c.stage == "cpu" && c.gapRatio <= kMet;
  return false;
}

Evidence gather(const Trace& trace, const TrainerFacts& t, const RunFacts& run) {
  const LoaderSeen* loader = loaderOf(trace, t);
  const double external = externalOf(run);
  const bool lacked = lackedCores(t, run);
  const auto steps = static_cast<double>(t.windowSteps());
  const double perStep = steps > 0 ? seconds(t.window()) / steps : 0;
  Workload work =
      t.loader >= 0 && !loader ? Workload{} : workloadOf(t, workersOf(loader), run.childCpu);
  if (workersOf(loader) == Workers::kStartedEachEpoch) addAlike(trace, t, *loader, work);
  Evidence e{trace, t,
             run,   Gains(work, settingsOf(loader, run, external), perStep, lacked ? external : 0),
             {},    loader};
  e.contended = lacked;
  e.external = lacked ? external : 0;
  e.shared = lacked ? external + run.siblingCpuRatio.value_or(0) : 0;
  e.perStep = perStep;
  e.ranks = std::max(static_cast<int>(std::max(run.balance.ranks.size(), run.balance.together)),
                     1 + static_cast<int>(std::min<std::int64_t>(run.siblings, kMaxRanks)));
  e.device = deviceEvidence(trace, t);
  e.unseen = unseenOf(trace, t);
  e.beside = run.besideCpuRatio.value_or(0);
  addShares(e);
  if (steps > 0) e.ceilings = ceilingsOf(e.gains, run, e.periodic);
  e.misfits = takeMisfits(e.ceilings, e.gains.measured());
  e.workersBusy = workersBusy(t, e.workers());
  const Demand& d = e.gains.demand();
  const double byDemand =
      perStep > 0 ? (d.batchCpu + d.trainerCpu) / perStep / std::max(0.25, run.cores) : 0;
  e.coresBusy = std::min(1.0, run.jobCpuRatio.value_or(byDemand) + busyByOthers(run) +
                                  run.siblingCpuRatio.value_or(0));
  e.coresUsed = std::clamp(run.jobCpuRatio.value_or(byDemand) + run.externalCpuRatio.value_or(0) +
                               run.stealRatio.value_or(0) + run.siblingCpuRatio.value_or(0),
                           e.coresBusy, 1.0);
  addWorkerBytes(e);
  return e;
}

MemoryShort memoryShort(const Evidence& e) {
  constexpr double kPaging = 10;   // pages a second: above it something hot is paged
  constexpr double kScarce = 0.1;  // of all memory: with more there is room for what is added
  const RunFacts& r = e.run;
  const bool swaps = r.swapPagesPerSecond.value_or(0) > kPaging;
  if (!swaps && r.memoryPressureRatio.value_or(0) <= kNotable) return MemoryShort::kNo;
  const bool faults = r.majorFaultsPerSecond.value_or(0) > kPaging;
  const bool scarce =
      r.memoryAvailable && r.memoryTotal &&
      static_cast<double>(*r.memoryAvailable) < kScarce * static_cast<double>(*r.memoryTotal);
  // The host's pages: idle programs are swapped out to make room for the page cache.
  if (swaps && (faults || scarce)) return MemoryShort::kSwaps;
  return faults ? MemoryShort::kForJob : MemoryShort::kForSomeone;
}

int memoryWorkerLimit(const Evidence& e) {
  constexpr double kMany = 4096;  // far above what any host can start
  if (memoryShort(e) == MemoryShort::kSwaps) return e.workers();
  double more = kMany;
  // A fifth is left over: the page cache and the trainer grow too.
  if (const auto room = e.run.memoryRoom(); room && e.workerBytes > 0)
    more = std::min(more, std::floor(0.8 * static_cast<double>(*room) / e.ranks / e.workerBytes));
  const double outstanding = e.gains.workload().batchBytes * e.prefetch();
  if (e.run.shmFree && outstanding > 0)
    more = std::min(more,
                    std::floor(0.8 * static_cast<double>(*e.run.shmFree) / e.ranks / outstanding));
  return e.workers() + static_cast<int>(std::max(0.0, more));
}

int workerLimit(const Evidence& e) {
  const Demand& d = e.gains.demand();
  const double cores = std::max(1.0, std::floor(e.run.cores / e.ranks));
  const double busy = d.batch.alone() > 0 ? std::max(0.1, d.batchCpu / d.batch.alone()) : 1;
  const double limit =
      std::floor(std::min<double>({std::ceil(cores / busy), 4 * cores, kMaxWorkers}));
  return std::max(e.workers(), std::min(static_cast<int>(limit), memoryWorkerLimit(e)));
}

Confidence lowered(Confidence c) {
  return c == Confidence::kHigh ? Confidence::kMedium : Confidence::kLow;
}

Confidence highestConfidence(const Evidence& e) {
  constexpr double kSomeUnseen = 0.10, kMuchUnseen = 1.0 / 3;
  // No surer than the steps that shares are of.
  if (e.trainer.source == StepSource::kInferred && !e.trainer.sureSteps) return Confidence::kLow;
  // Without steps, than the samples: a share of so many is off by 5 points, nine times of ten.
  constexpr double kManySamples = 300;
  const bool stepless = e.trainer.source == StepSource::kNone;
  if (stepless && e.trainer.stacks.trainer.samples < kManySamples) return Confidence::kLow;
  const HookParts parts = missingParts(e.trace, e.trainer);
  if (parts.stepsUnclear()) return Confidence::kLow;
  if (e.missesWork()) return Confidence::kLow;
  // Samples are of the rest of the window alone.
  if (e.unseen > kMuchUnseen) return Confidence::kLow;
  // A wait may be hidden behind the device's work.
  const bool hidden = e.device.seen && !e.device.timeline;
  const bool inferred = e.trainer.source == StepSource::kInferred;
  return hidden || inferred || stepless || parts.missing || e.unseen > kSomeUnseen
             ? Confidence::kMedium
             : Confidence::kHigh;
}

Confidence modelConfidence(const Evidence& e) {
  if (!e.gains.fits()) return Confidence::kLow;
  Confidence level = Confidence::kHigh;
  if (std::abs(e.gains.gap()) > 0.10) level = lowered(level);
  if (nearTie(e.ceilings)) level = lowered(level);
  if (e.trainer.windowSteps() < 100) level = lowered(level);
  if (e.gains.demand().batchCv > 0.30) level = lowered(level);
  if (e.device.seen && !e.device.timeline) level = std::min(level, Confidence::kMedium);
  if (!e.quietHost()) level = lowered(level);
  return level;
}

}  // namespace stallprof
