// SPDX-License-Identifier: MIT
#include "analysis/loader_model.h"

#include <algorithm>

#include "analysis/describe/resources.h"
#include "analysis/findings/fixes.h"

namespace stallprof {
namespace {

constexpr double kUsable = 0.8;  // of what is free

}  // namespace

int LoaderModel::bestWorkers() const {
  const double best = *std::max_element(gain.begin(), gain.end());
  const auto enough =
      std::find_if(gain.begin(), gain.end(), [&](double g) { return g * kGoodEnough >= best; });
  return static_cast<int>(enough - gain.begin());
}

Maybe<LoaderModel> loaderModel(const Trace& trace, const Analyzed& analyzed) {
  const TrainerFacts& trainer = analyzed.trainer;
  if (trainer.steps.empty()) return {};
  const RunFacts run = measureRun(trace, trainer, analyzed.roles);
  const Evidence e = gather(trace, trainer, run);
  if (!e.loader) return {};
  LoaderModel model;
  model.where = e.loaderLine();
  model.workers = e.loader->workers;
  model.limit = workerLimit(e);
  model.memoryLimit = memoryWorkerLimit(e);
  for (int workers = 0; e.gains.fits() && workers <= model.limit; ++workers)
    model.gain.push_back(e.gains.speedup(likelyWith(e, workers)));
  model.trainerCores = e.gains.workload().trainerCpuRatio;
  model.cores = run.cores;
  model.ranks = std::max(1, e.ranks);
  model.coresBusy = e.coresBusy;
  model.batchBytes = e.gains.workload().batchBytes;
  model.workerBytes = e.workerBytes;
  if (const auto room = run.memoryRoom()) model.memory = kUsable * static_cast<double>(*room);
  if (run.shmFree) model.sharedMemory = kUsable * static_cast<double>(*run.shmFree);
  model.iterable = e.loader->iterable;
  return model;
}

}  // namespace stallprof
