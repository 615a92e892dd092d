// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "analysis/model/pipeline_model.h"
#include "base/stats.h"

namespace stallprof {
namespace {

double positive(Nanos t) { return std::max(0.0, seconds(t)); }

// `seconds` of CPU of others that a batch needs: as far as it is blocked they work meanwhile, on as
// many cores as it takes.
void addBeside(double seconds, BatchDemand& d) {
  const double meanwhile = std::min(d.blocked, seconds), all = d.coreSeconds() + seconds;
  d.blocked -= meanwhile;
  d.cpu += meanwhile;
  d.pool = d.cpu > 0 ? std::max(1.0, all / d.cpu) : 1;
}

BatchDemand demandOf(const BatchWork& work) {
  BatchDemand d;
  d.io = positive(work.extract);
  d.blocked = positive(work.blocked);
  d.put = positive(work.taking) + positive(work.put);
  const double all = std::max(positive(work.cpu), positive(work.threadCpu));
  d.cpu = work.threadCpu > Nanos{} ? std::min(positive(work.threadCpu), all) : all;
  // A pool of the worker's own may work while its thread waits for it.
  if (all > d.cpu) addBeside(all - d.cpu, d);
  const double served = positive(work.end - work.begin - work.queued - work.extract);
  if (served > 0) d.excess = std::min(1.0, positive(work.excess) / served);
  return d;
}

// An epoch's indices go to its workers in turn, from the first on.
bool madeFirst(const BatchWork& work) { return work.worker >= 0 && work.batch == work.worker; }

template <class Demand>
Firsts firstsOf(const std::vector<Demand>& all) {
  Firsts found;
  if (std::none_of(all.begin(), all.end(), std::mem_fn(&Demand::first))) return found;
  for (std::size_t i = 0; i < all.size(); ++i)
    (all[i].first ? found.firsts : found.others).push_back(i);
  return found;
}

// Receiving a batch, in a step that is nothing but a step.
Nanos usualLoad(const TrainerFacts& t) {
  Nanos sum = t.joined.plainSplit.load, minimum = Nanos::max();
  auto plain = static_cast<std::int64_t>(t.joined.plain);
  for (std::size_t i = t.warmup; i < t.steps.size(); ++i) {
    minimum = std::min(minimum, t.steps[i].split.load);
    if (!t.steps[i].boundary) {
      sum += t.steps[i].split.load;
      ++plain;
    }
  }
  return plain > 0 ? sum / plain : minimum;
}

// Ending one epoch's workers and making the next iterator are booked as load of the step they fall
// into. The model adds them per epoch, so they leave the step.
Nanos betweenEpochs(const Step& step, Nanos usual) {
  return step.boundary ? std::max(Nanos{}, step.split.load - usual) : Nanos{};
}

// Time that steps had no core while they made their batches themselves, by the steps' numbers: it
// is of the batches' demand, not of the rest's.
using QueuedInFetch = std::unordered_map<std::uint32_t, Nanos>;
QueuedInFetch queuedInFetch(const TrainerFacts& t) {
  QueuedInFetch queued;
  for (const BatchWork& work : t.works) queued[work.step] += std::max(Nanos{}, work.queued);
  return queued;
}

StepDemand demandOf(const Step& step, Nanos between, Nanos queued, bool inProcess) {
  const Split& s = step.split;
  const double copy = positive(s.copy);
  const double load = positive(s.load - s.copy - between);
  const double own =
      positive(s.compute - (inProcess ? s.hidden : Nanos{}) + s.sync + s.comm + s.other);
  // Runnable without a core is contention, not demand: the model puts it back.
  const double total = own + load + copy;
  const double keep =
      total > 0 ? std::max(0.0, total - positive(step.starved - queued)) / total : 0;
  return {own * keep, load * keep, positive(s.periodic), copy * keep};
}

// As betweenEpochs, of all steps that are joined.
Nanos betweenJoined(const StepsJoined& joined, Nanos usual) {
  const auto epochEnds = static_cast<Nanos::rep>(joined.steps - joined.plain);
  return std::max(Nanos{}, joined.split.load - joined.plainSplit.load - usual * epochEnds);
}

// What the window holds beside its steps.
Split outsideSteps(const TrainerFacts& t) {
  Split out = t.split;
  const auto leave = [&](const Split& s) {
    out.compute -= s.compute;
    out.wait -= s.wait;
    out.load -= s.load;
    out.sync -= s.sync;
    out.comm -= s.comm;
    out.periodic -= s.periodic;
    out.other -= s.other;
  };
  leave(t.joined.split);
  for (std::size_t i = t.warmup; i < t.steps.size(); ++i) leave(t.steps[i].split);
  return out;
}

// What the drawn ones stand for: of all that there are.
double weightOf(std::size_t drawn, std::size_t all) {
  return drawn > 0 ? static_cast<double>(all) / static_cast<double>(drawn) : 1;
}

// Evaluation epochs of the window that lie in no training epoch, whose steps hold theirs.
Nanos evaluatedBetween(const TrainerFacts& t) {
  Intervals evaluations, training;
  for (const Epoch& p : t.epochs) {
    const Interval in{std::max(p.begin, t.windowBegin), std::min(p.end, t.windowEnd)};
    if (in.begin < in.end) (p.evaluation ? evaluations : training).push_back(in);
  }
  Nanos between{};
  training = joined(std::move(training));
  for (const Interval& evaluation : joined(std::move(evaluations)))
    between += evaluation.length() - lengthIn(training, evaluation);
  return between;
}

void addApart(const TrainerFacts& t, const Split& outside, Workload& w) {
  if (w.steps.empty()) return;
  const auto n = static_cast<double>(t.windowSteps());
  const double periodic = positive(outside.periodic);
  w.apartPeriodic = std::max(0.0, periodic - positive(evaluatedBetween(t))) / n;
  w.apart =
      (positive(outside.compute + outside.wait + outside.sync + outside.comm + outside.other) +
       periodic) /
          n -
      w.apartPeriodic;
}

void addEpochs(const TrainerFacts& t, Nanos between, Workload& w) {
  double begun = 0;
  for (const Epoch& p : t.epochs)
    if (!p.evaluation && p.begin >= t.windowBegin && p.begin < t.windowEnd) begun += 1;
  if (begun == 0) return;
  between += t.joined.blame.startup;
  for (std::size_t i = t.warmup; i < t.steps.size(); ++i) between += t.steps[i].blame.startup;
  w.stepsPerEpoch = static_cast<double>(t.windowSteps()) / begun;
  w.startup = positive(between) / begun;
}

// Of the busiest device, in a step of the window; evaluation is taken to keep it as busy as the
// rest.
double deviceWork(const TrainerFacts& t) {
  if (!t.device.timeline || t.device.devices.empty() || t.windowSteps() == 0) return 0;
  const DeviceBusy& d = t.device.devices[0];
  if (d.traced <= Nanos{}) return 0;
  return positive(d.busy()) / positive(d.traced) * positive(t.window() - t.split.periodic) /
         static_cast<double>(t.windowSteps());
}

double aStep(const TrainerFacts& t, Nanos time) {
  return t.windowSteps() == 0 ? 0 : positive(time) / static_cast<double>(t.windowSteps());
}

// Seconds a step in which the trainer makes batches of zipped loaders that have no workers. What a
// device's work hid of that is compute already, unless that is taken out of all steps.
double madeInStep(const TrainerFacts& t, bool hiddenIsOut) {
  Nanos made = hiddenIsOut ? Nanos{} : -t.split.hidden;
  for (const ZippedLoader& loader : t.zipped)
    if (loader.workers == 0) made += loader.making;
  return aStep(t, made);
}

void addZipped(const TrainerFacts& t, Workload& w) {
  for (const ZippedLoader& loader : t.zipped) {
    if (loader.workers == 0) continue;
    const int workers = loader.workers * loader.iterators;
    const double pace = aStep(t, loader.making) / workers;
    if (pace <= w.zipped) continue;
    w.zipped = pace;
    w.zippedWorkers = workers;
    w.zippedReads = 2 * loader.extract > loader.making;
  }
}

// Waits for a lock of the workers are no demand of a batch: `locked` bounds the step instead.
// `all`: how many batches the window has.
void addLock(const TrainerFacts& t, std::size_t all, Workload& w) {
  w.locked = t.windowSteps() > 0 ? t.workerLock.held() / static_cast<double>(t.windowSteps()) : 0;
  if (w.locked <= 0) return;
  double blocked = 0;
  for (const BatchDemand& batch : w.batches) blocked += batch.blocked;
  blocked *= weightOf(w.batches.size(), all);
  const double left = std::max(0.0, blocked - positive(t.workerLock.waited));
  for (BatchDemand& batch : w.batches) batch.blocked *= blocked > 0 ? left / blocked : 1;
}

// Of a member, or of what a member function says.
template <class Row, class Of>
double meanOf(const std::vector<Row>& rows, Of of) {
  double mean = 0;
  for (const Row& row : rows) mean += std::invoke(of, row) / static_cast<double>(rows.size());
  return mean;
}

BatchDemand meanOf(const std::vector<BatchDemand>& batches) {
  BatchDemand mean{.io = meanOf(batches, &BatchDemand::io),
                   .blocked = meanOf(batches, &BatchDemand::blocked),
                   .cpu = meanOf(batches, &BatchDemand::cpu),
                   .put = meanOf(batches, &BatchDemand::put)};
  if (mean.cpu > 0) mean.pool = meanOf(batches, &BatchDemand::coreSeconds) / mean.cpu;
  return mean;
}

}  // namespace

Workload workloadOf(const TrainerFacts& t, Workers workers, double childCpu) {
  Workload w;
  w.device = deviceWork(t);
  w.inProcess = workers == Workers::kNone;
  const bool started = workers == Workers::kStartedEachEpoch;
  double mine = 0, fetchCpu = 0, bytes = 0, sized = 0;
  const Nanos usual = usualLoad(t);
  addZipped(t, w);
  const double inStep = madeInStep(t, w.inProcess);
  Nanos between = betweenJoined(t.joined, usual);
  QueuedInFetch queued = w.inProcess ? queuedInFetch(t) : QueuedInFetch{};
  for (std::size_t i = t.warmup; i < t.steps.size(); ++i) {
    const Nanos here = betweenEpochs(t.steps[i], usual);
    between += here;
    if (!t.joined.drawn(t.steps[i].number)) continue;
    const Nanos inFetch = w.inProcess ? queued[t.steps[i].number] : Nanos{};
    w.steps.push_back(demandOf(t.steps[i], here, inFetch, w.inProcess));
    w.steps.back().own += inStep;
    w.steps.back().first = started && t.steps[i].batch == 0;
    // Periodic work is taken to keep as many cores busy as the rest: it is in the process's CPU.
    mine += w.steps.back().beside() + w.steps.back().periodic;
  }
  const auto inWindow = [&](const BatchWork& work) {
    return work.end > t.windowBegin && work.begin < t.windowEnd;
  };
  const auto batches = t.joined.works + static_cast<std::size_t>(std::count_if(
                                            t.works.begin(), t.works.end(), inWindow));
  for (const BatchWork& work : t.works) {
    if (!inWindow(work) || !t.joined.drawn(work.step)) continue;
    w.batches.push_back(demandOf(work));
    w.batches.back().first = started && madeFirst(work);
    fetchCpu += w.batches.back().coreSeconds();
    if (w.batches.back().blocked > 0)  // else it waits for no program
      addBeside(childCpu / static_cast<double>(batches), w.batches.back());
    if (work.bytes >= 0) {
      bytes += static_cast<double>(work.bytes);
      sized += 1;
    }
  }
  const Split outside = outsideSteps(t);
  mine *= weightOf(w.steps.size(), t.windowSteps());
  mine +=
      positive(outside.compute + outside.sync + outside.comm + outside.other + outside.periodic);
  fetchCpu *= weightOf(w.batches.size(), batches);
  addLock(t, batches, w);
  if (sized > 0) w.batchBytes = bytes / sized;
  w.meanBatch = meanOf(w.batches);
  w.ofBatches = firstsOf(w.batches);
  w.ofSteps = firstsOf(w.steps);
  // With no workers the fetch runs in the trainer's process, and its CPU is the batch's.
  const double cpu = positive(t.processCpu) - (w.inProcess ? fetchCpu : 0);
  if (mine > 0 && t.processCpu > Nanos{}) w.trainerCpuRatio = std::max(0.0, cpu) / mine;
  addApart(t, outside, w);
  addEpochs(t, between + outside.load, w);
  return w;
}

Demand demandOf(const Workload& w) {
  Demand d;
  std::vector<double> alone;
  for (const BatchDemand& b : w.batches) alone.push_back(b.alone());
  d.batch = w.meanBatch;
  d.batchCpu = d.batch.coreSeconds();
  d.step.own = meanOf(w.steps, &StepDemand::own);
  d.step.load = meanOf(w.steps, &StepDemand::load);
  d.step.copy = meanOf(w.steps, &StepDemand::copy);
  d.step.periodic = meanOf(w.steps, &StepDemand::periodic);
  d.trainerCpu = d.step.beside() * w.trainerCpuRatio;
  if (alone.size() > 1 && mean(alone) > 0) {
    d.batchCv = sampleDeviation(alone) / mean(alone);
    const double middle = median(alone);
    const double maximum = *std::max_element(alone.begin(), alone.end());
    d.batchMaxOverMedian = middle > 0 ? maximum / middle : 0;
  }
  return d;
}

}  // namespace stallprof
