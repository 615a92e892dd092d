// SPDX-License-Identifier: MIT
// transform.cpu_saturated: making batches needs more CPU than there is.
#include <algorithm>

#include "analysis/findings/samplers.h"
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

constexpr const char* kSaturatedTitle = "Making batches needs more CPU than the host has";

// With no workers, cores can only be short if adding workers does not help, and not because most of
// the fetching is nothing that workers do.
bool coresShort(const Evidence& e) {
  if (!coresFull(e)) return false;
  if (e.workers() > 0) return true;
  if (samplersDominate(e, e.wait)) return false;
  const auto more = moreWorkers(e);
  return !more || more->predicted.speedup.value_or(1) < kWorthIt;
}

// The job uses much of the cores, and a good part of them for batches: else whoever fills them is
// somebody else, or what waits is no batch in the making.
bool batchesUseCores(const Evidence& e) {
  constexpr double kByJob = 0.5, kByBatches = 0.1;
  const double used = e.perStep * e.run.cores;
  const Demand& d = e.gains.demand();
  return used <= 0 ||
         (d.batchCpu + d.trainerCpu >= kByJob * used && d.batchCpu >= kByBatches * used);
}

// On full cores the step starves as well as waits.
void addStarvedEvidence(Finding& f, const Evidence& e) {
  if (e.starved > 0.01)
    addEvidence(f, "the training step was runnable without a core {} of the time",
                {ratioWord(e.starved)});
}

Maybe<Finding> threadsSaturated(const Evidence& e) {
  if (!threadsFallBehind(e) || !threadsLackCores(e)) return {};
  Finding f = threadsFinding(e, kSaturatedTitle);
  f.shareRatio = std::min(1.0, e.transform + e.starved);
  addStarvedEvidence(f, e);
  addRereadEvidence(f, e);
  return withAdvice(f, {cheaperBatches(e)});
}

Maybe<Finding> cpuSaturated(const Evidence& e) {
  if (!e.loader) return threadsSaturated(e);
  // What it waits for, a sender or a reader, may itself be without a core: the wait counts, whoever
  // it is blamed on.
  const double pressed = e.workers() > 0 ? std::min(1.0, e.steadyWait() + e.starved) : 0;
  if (!coresShort(e) || !batchesUseCores(e)) return {};
  if (e.transform <= kNotable && (e.steadyWait() <= kNotable || e.workers() < 1)) return {};
  Finding f = loaderFinding(e, std::max(e.transform, pressed), kSaturatedTitle);
  addWaitEvidence(f, e);
  addStarvedEvidence(f, e);
  addRereadEvidence(f, e);
  addCoresEvidence(f, e);
  const Demand& d = e.gains.demand();
  addEvidence(f, "a step needs {} of CPU time: batch {}, training process {}",
              {timeWord(d.batchCpu + d.trainerCpu), timeWord(d.batchCpu), timeWord(d.trainerCpu)});
  addEvidence(f, "more workers would only share the same cores");
  return withAdvice(f, {cheaperBatches(e), moreCores(e), fewerWorkers(e)});
}

}  // namespace

extern const FindingDefinition kCpuSaturated(
    "transform.cpu_saturated", cpuSaturated,
    offers(kOfflinePreprocess, kReadOnce, kWholeBatches, kMoreCores, kRaiseCpuLimit, kFewerWorkers),
    within("transform.in_process", "transform.too_few_workers"),
    {.cause =
         R"(Making batches needs more CPU time than is available. More workers would only share the same
  cores.)",
     .rule =
         R"(more than 5 % of the window is blamed on making batches, and the cores are over 90 % in
  use: a step needs half of their time or more, a batch a tenth. With no workers, the finding fires
  only if adding workers gains under 5 %. If threads of the training process make the batches, it
  also fires where the training thread itself is ready to run and without a core over 15 % of the
  time.)",
     .fixes = R"(- Do deterministic work once, before training: resize, tokenise, decode.
- Faster decoding (turbo JPEG, draft mode), or work on the device.
- Convert to tensors once, and keep samples as uint8 until the device.
- Fewer workers, or none, if sending batches costs more than making them.
- More cores, with a larger host or a higher limit.)",
     .wrong = R"(other programs use the cores: host.noisy_neighbour has their share. Threads that
  spin for work (OpenMP) count as demand; see transform.oversubscribed.)"});

}  // namespace stallprof
