// SPDX-License-Identifier: MIT
// host.memory_pressure: pages are swapped or reclaimed while the job runs.
#include "analysis/findings/build.h"

namespace stallprof {
namespace {

constexpr double kSwapping = 10;  // pages a second: above it something hot is paged

const AdviceDefinition kFreeMemory{
    "free_memory",
    "Lower num_workers, prefetch_factor or batch size until nothing is swapped or "
    "reclaimed, or run on a host with more memory."};

Maybe<Finding> memoryPressure(const Evidence& e) {
  const double psi = e.run.memoryPressureRatio.value_or(0);
  const double swap = e.run.swapPagesPerSecond.value_or(0);
  if (psi <= kNotable && swap <= kSwapping) return {};
  Finding f = findingOf(e, psi, "The host is short of memory");
  f.confidence = lowered(f.confidence);
  const bool own = swap > kSwapping || e.run.majorFaultsPerSecond.value_or(0) > kSwapping;
  if (!own) f.confidence = Confidence::kLow;  // it may be another job's
  if (e.run.memoryPressureRatio)
    addEvidence(f, "something waited for memory {} of the time (PSI)", {ratioWord(psi)});
  if (e.run.swapPagesPerSecond) addEvidence(f, "{} swap pages a second", {perSecondWord(swap)});
  if (e.run.memoryAvailable)
    addEvidence(f, "{} available", {bytesWord(static_cast<double>(*e.run.memoryAvailable))});
  return withAdvice(f, {adviceOf(kFreeMemory, {"hardware", "memory", "", "more"}, {})});
}

}  // namespace

extern const FindingDefinition kMemoryPressure(
    "host.memory_pressure", memoryPressure, offers(kFreeMemory), kByOthers,
    {.cause =
         R"(The host is short of memory: pages are swapped or reclaimed while the job runs, and
  anything may stall.)",
     .rule = R"(tasks waited for memory over 5 % of the window (PSI), or over 10 pages a
  second were swapped. Below a quarter of the window it comes after all other findings, and a run
  may be healthy beside it.)",
     .fixes = R"(- Fewer workers, smaller prefetch_factor or batch.
- More memory, or another host.)",
     .wrong = R"(PSI counts the whole host: the pressure may be another job's. Without
  swapping, or major faults of the job's own, the confidence is low. Its cost for this job is not
  predicted.)"});

}  // namespace stallprof
