// SPDX-License-Identifier: MIT
// host.memory_pressure: pages are swapped or reclaimed while the job runs.
#include "analysis/findings/build.h"

namespace stallprof {
namespace {

constexpr char kMemoryLimit[] = "memory limit";

const AdviceDefinition kFreeMemory{
    "free_memory", {}, [](const AdviceContext& c) {
      return "Lower num_workers, prefetch_factor or batch size until nothing is swapped or "
             "reclaimed, or " +
             std::string(c.advice.change.name == kMemoryLimit
                             ? "raise the container's memory limit."
                             : "run on a host with more memory.");
    }};

Maybe<Finding> memoryPressure(const Evidence& e) {
  const MemoryShort isShort = memoryShort(e);
  if (isShort == MemoryShort::kNo) return {};
  const double psi = e.run.memoryPressureRatio.value_or(0);
  const double swap = e.run.swapPagesPerSecond.value_or(0);
  Finding f = findingOf(e, psi, "The host is short of memory");
  f.confidence = lowered(f.confidence);
  if (isShort == MemoryShort::kForSomeone) f.confidence = Confidence::kLow;
  if (e.run.memoryPressureRatio)
    addEvidence(f, "tasks waited for memory {} of the time (PSI)", {ratioWord(psi)});
  if (e.run.swapPagesPerSecond) addEvidence(f, "{} swap pages a second", {perSecondWord(swap)});
  if (const auto room = e.run.memoryRoom())
    addEvidence(f, "{} available", {bytesWord(static_cast<double>(*room))});
  const char* const what = e.run.limitedMemory() ? kMemoryLimit : "memory";
  return withAdvice(f, {adviceOf(kFreeMemory, {"hardware", what, "", "more"}, {})});
}

}  // namespace

extern const FindingDefinition kMemoryPressure(
    "host.memory_pressure", memoryPressure, offers(kFreeMemory), kByOthers,
    {.cause =
         R"(The host is short of memory: pages are swapped or reclaimed while the job runs, which can
  block any process.)",
     .rule = R"(tasks waited for memory over 5 % of the window (PSI), or over 10 pages a second were
  swapped. Below a quarter of the window this finding comes after all other findings, and the run
  can still be healthy.)",
     .fixes = R"(- Fewer workers, smaller prefetch_factor or batch.
- More memory, or another host.)",
     .wrong = R"(PSI and swap cover the whole host, so another job can cause the pressure. The
  confidence is low, and more workers are still advised, unless the job itself has major faults, or
  pages are swapped with less than a tenth of the memory available. The cost for this job is not
  predicted.)"});

}  // namespace stallprof
