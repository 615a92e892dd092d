// SPDX-License-Identifier: MIT
// extract.random_access: many small reads at scattered places.
#include "analysis/findings/extract/reading.h"

namespace stallprof {
namespace {

void addPlaces(Finding& f, const Evidence& e) {
  if (readsNearBest(e) && e.run.diskBusyRatio.value_or(0) > 0.9)
    f.confidence = lowered(f.confidence);
  if (e.run.scatteredReadRatio)
    addEvidence(f, "{} of reads went back in their file (sequential reading: none, random: half)",
                {ratioWord(*e.run.scatteredReadRatio)});
  if (e.run.bytesPerReadCall)
    addEvidence(f, "{} a read call", {bytesWord(*e.run.bytesPerReadCall)});
  if (e.run.majorFaultsPerSecond)
    addEvidence(f, "{} major page faults a second", {perSecondWord(*e.run.majorFaultsPerSecond)});
  if (e.run.majorFaultsPerSecond.value_or(0) > 0 && e.run.bytesPerMajorFault)
    addEvidence(f, "at most {} a fault", {bytesWord(*e.run.bytesPerMajorFault)});
}

Maybe<Finding> randomAccess(const Evidence& e) {
  return manySmallReads(e, ReadPattern::kRandom,
                        "Small reads at scattered places wait for storage one by one", addPlaces);
}

}  // namespace

extern const FindingDefinition kRandomAccess(
    "extract.random_access", randomAccess,
    offers(kMoreWorkers, kSequentialShards, kCacheInRam, kLoadAhead),
    within("transform.in_process", "extract.storage_bandwidth", "extract.small_files"),
    {.cause =
         R"(The producers wait for many small reads at scattered places. A disk or network mount
  answers each after its latency, so bandwidth stays far below what it could deliver.)",
     .rule =
         R"(more than 5 % of the window is blamed on reading; and over 20 % of reads begin before
  the one that was seen before them (20 such pairs or more; under 256 kB a call), or mapped files
  cause over 10 major faults a second that bring under 64 kB each; not small files.)",
     .fixes =
         R"(- Read sequentially: shards read front to back, shuffled by shard and within a buffer.
- More requests at once: more workers, or threads inside a worker.
- Keep the data set, or its index, in memory.)",
     .wrong = R"(a reader that only skips forward passes for a sequential one. Where the
  system calls of threads may not be read, offsets are not known.)",
     .note = R"(Reading's own CPU is in the extract share too, by stacks or by rule cpu.read_calls
  (system time less page faults'); it never makes this finding fire.)"});

}  // namespace stallprof
