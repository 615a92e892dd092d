// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analysis/model/gains.h"
#include "base/units.h"

namespace stallprof {
namespace {

// `whole`: seconds of the window a step.
void addWhole(std::vector<Ceiling>& to, const Gains& gains, const char* stage, double whole,
              std::string limitedBy, const char* basis) {
  if (whole <= 0) return;
  to.push_back({stage, 1 / whole, gains.measured() / whole - 1, std::move(limitedBy), basis});
}

void add(std::vector<Ceiling>& to, const Gains& gains, const char* stage, double stepSeconds,
         std::string limitedBy, const char* basis = "inferred") {
  if (stepSeconds <= 0) return;
  const Workload& w = gains.workload();
  addWhole(to, gains, stage, stepSeconds + gains.demand().step.periodic + w.apart + w.apartPeriodic,
           std::move(limitedBy), basis);
}

// Who has the `others` of the usable cores.
std::string othersText(double others, const RunFacts& run) {
  constexpr double kFew = 0.05;
  if (others <= kFew * run.cores) return {};
  const bool own = 2 * run.besideCpuRatio.value_or(0) * run.cores >= others;
  return own ? ", others in use by other work of the job" : ", other cores in use";
}

const char* producersStage(const BatchDemand& b) {
  return b.io > b.blocked + b.cpu ? "extract" : "transform";
}

// Share of W workers' time that in-order delivery leaves usable when the trainer is not the limit:
// 1 with steady batches, 0.4 to 0.8 with heavy tails.
double headOfLineEfficiency(const Gains& gains) {
  PipelineSettings s = gains.base();
  if (s.workers < 1 || gains.workload().batches.empty()) return 1;
  Workload starving = gains.workload();
  starving.steps = {StepDemand{}};
  starving.ofSteps = {};
  starving.stepsPerEpoch = 0;
  starving.apart = starving.apartPeriodic = starving.zipped = starving.locked = 0;
  s.cores = 1e6;  // the discipline alone, no contention
  const Draw draw = drawBlocks(starving.batches.size(), 600, 20, 1);
  const double time = simulate(starving, s, draw);
  double work = 0;
  for (const auto i : draw) work += starving.batches[i].alone();
  const double ideal = work / static_cast<double>(draw.size()) / s.workers;
  return time > 0 ? std::clamp(ideal / time, 0.05, 1.0) : 1;
}

}  // namespace

std::vector<Ceiling> ceilingsOf(const Gains& gains, const RunFacts& run, double periodic) {
  std::vector<Ceiling> all;
  const Demand& d = gains.demand();
  const int workers = gains.base().workers;
  const double own = d.step.beside();
  // Nothing else sets a pace while those are made.
  const double known = d.step.periodic + gains.workload().apartPeriodic;
  const bool more = std::max(known, periodic * gains.measured()) > 0.01 * gains.measured();
  const bool between = gains.workload().apart > 0.01 * gains.measured();
  add(all, gains, "compute", own,
      more      ? "one training process, and periodic work"
      : between ? "one training process, and between epochs"
                : "one training process");
  if (const double device = gains.workload().device; device > 0)
    add(all, gains, "device", device, "the device's own work", "measured");
  if (d.batch.alone() > 0) {
    if (workers == 0) {
      add(all, gains, producersStage(d.batch), own + d.batch.alone(),
          "num_workers=0: fetch and compute alternate");
    } else {
      const double eta = headOfLineEfficiency(gains);
      add(all, gains, producersStage(d.batch), d.batch.alone() / (workers * eta),
          countOf(workers, "worker") +
              (eta < 0.97 ? ", " + percentText(eta) + " usable under in-order delivery" : ""));
    }
    if (d.batchCpu > 0)  // measured
      add(all, gains, "cpu", (d.batchCpu + d.trainerCpu) / gains.base().cores,
          numberOf(gains.base().cores, "usable core") +
              othersText(run.cores - gains.base().cores, run));
  }
  if (const Workload& w = gains.workload(); w.zipped > 0)
    add(all, gains, w.zippedReads ? "extract" : "transform", w.zipped,
        countOf(w.zippedWorkers, "worker") + " of another loader, which the step uses, too");
  if (const Workload& w = gains.workload(); w.locked > 0)
    add(all, gains, "transform", w.locked, "one worker at a time, behind a lock");
  // A steady run is always near its own best second: only a device that was busy is a bound.
  if (run.diskBusyRatio.value_or(0) > 0.3 && run.readBytesPerSecond && run.peakReadBytesPerSecond &&
      *run.peakReadBytesPerSecond > 0)
    addWhole(all, gains, "extract",
             gains.measured() * *run.readBytesPerSecond / *run.peakReadBytesPerSecond,
             "storage at its best second, " + rateText(*run.peakReadBytesPerSecond, "bytes"),
             "measured");
  if (d.step.load > 0.01 * gains.measured())
    add(all, gains, "load", d.step.load, "one process receiving batches");
  std::stable_sort(all.begin(), all.end(), [](const Ceiling& a, const Ceiling& b) {
    return a.stepsPerSecond < b.stepsPerSecond;
  });
  return all;
}

std::vector<Ceiling> takeMisfits(std::vector<Ceiling>& ceilings, double measured) {
  std::vector<Ceiling> misfits;
  std::erase_if(ceilings, [&](Ceiling& c) {
    if (c.gapRatio >= 0) return false;
    if (c.gapRatio < -kModelError) {
      misfits.push_back(c);
      return true;
    }
    c.gapRatio = 0;
    c.stepsPerSecond = 1 / measured;
    return false;
  });
  return misfits;
}

bool nearTie(const std::vector<Ceiling>& c) {
  double first = 0;
  for (const Ceiling& each : c) {
    if (each.basis != "inferred" || each.stepsPerSecond <= 0) continue;
    if (first > 0) return each.stepsPerSecond / first < 1.1;
    first = each.stepsPerSecond;
  }
  return false;
}

}  // namespace stallprof
