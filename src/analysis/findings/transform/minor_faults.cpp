// SPDX-License-Identifier: MIT
// transform.minor_faults: the C library returns memory to the system after each sample.
#include <algorithm>

#include "analysis/findings/transform/batches.h"
#include "base/malloc_tunables.h"

namespace stallprof {
namespace {

constexpr double kMuch = 0.1;  // of the workers' CPU

const AdviceDefinition kKeepMemory{
    "keep_memory", {}, [](const AdviceContext& c) {
      return std::string("Set ") + kMallocVariable + "=" + c.advice.change.to +
             " in the environment of the program: the C library then keeps and reuses up to 256 MB "
             "of freed memory in each process. jemalloc or tcmalloc, by LD_PRELOAD, do the same.";
    }};

// Another allocator, or one whose thresholds are set already.
bool otherAllocator(const std::string& name, std::string_view value) {
  if (name == "LD_PRELOAD") return value.find("malloc") != value.npos;
  return name == "MALLOC_TRIM_THRESHOLD_" || name == "MALLOC_MMAP_THRESHOLD_" ||
         (name == kMallocVariable && value.find("malloc") != value.npos);
}

Maybe<Advice> keepMemory(const Evidence& e, double ofCpu) {
  std::string now;
  for (const auto& [name, value] : e.trace.manifest.environment) {
    if (otherAllocator(name, value.raw())) return {};
    if (name == kMallocVariable) now = value.raw();
  }
  return adviceOf(
      kKeepMemory,
      {"env", kMallocVariable, now, now.empty() ? kMallocKeeps : now + ":" + kMallocKeeps},
      predictScaled(e, &PipelineSettings::cpuScale, 1 - ofCpu, 1 - ofCpu / 2,
                    1 - std::min(0.9, 1.5 * ofCpu),
                    "all of it is reused, and a fault costs its time in the kernel, at most half "
                    "more for evicted caches"),
      "up to 256 MB more in each process");
}

Maybe<Finding> minorFaults(const Evidence& e) {
  const Demand& d = e.gains.demand();
  if (e.workers() < 1 || !e.run.workerFaultsPerSecond || !e.run.faultSeconds || d.batchCpu <= 0)
    return {};
  // A batch is sent in pages of shared memory that are fresh each time.
  const double sent = e.gains.workload().batchBytes / RunFacts::kPageBytes;
  const double faults = *e.run.workerFaultsPerSecond * d.batchCpu - sent;
  // What a run shows is with all else that the kernel did, and no fault was measured to cost more.
  const double each = std::min(*e.run.faultSeconds, RunFacts::kFaultSeconds);
  const double ofCpu = std::min(1.0, faults * each / d.batchCpu);
  if (ofCpu <= kMuch || ofCpu * e.transform <= kNotable) return {};
  Finding f =
      loaderFinding(e, ofCpu * e.transform,
                    "Workers request the same memory from the system again for each sample");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "{} minor page faults per batch, without those of sending it",
              {numberWord(faults)});
  addEvidence(f, "at {} or less each: {} of the workers' CPU", {timeWord(each), ratioWord(ofCpu)},
              ratioWord(ofCpu));
  return withAdvice(f, {keepMemory(e, ofCpu)});
}

}  // namespace

extern const FindingDefinition kMinorFaults(
    "transform.minor_faults", minorFaults, offers(kKeepMemory),
    within("transform.cpu_saturated", "transform.too_few_workers", "transform.slow_op"),
    {.cause =
         R"(Arrays of a few hundred kB are allocated and freed for each sample. The C library returns
  their memory to the system each time, and the next sample faults it in again, page by page.)",
     .rule =
         R"(the workers' minor page faults in the window take over 10 % of their CPU, at the cost of
  a fault in this run (3.4 us at most). Faults at their start and for pages of shared memory for
  batches do not count. This part of the batch time that the trainer waits for is over 5 % of the
  window.)",
     .fixes = R"(- GLIBC_TUNABLES with larger malloc thresholds; `stallprof verify` tries it.
- jemalloc or tcmalloc by LD_PRELOAD.
- Arrays that are allocated once and filled again (out=, copyto).)",
     .wrong = R"(the faults are of other memory that is new for each sample, such as mapped files.
  Then the allocator has no effect, as a trial shows.)"});

}  // namespace stallprof
