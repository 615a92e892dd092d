// SPDX-License-Identifier: MIT
// extract.random_access: many small reads at scattered places.
#include "analysis/findings/extract/reading.h"

namespace stallprof {
namespace {

void addPlaces(Finding& f, const Evidence& e) {
  if (readsNearBest(e) && e.run.diskBusyRatio.value_or(0) > 0.9)
    f.confidence = lowered(f.confidence);
  if (e.run.scatteredReadRatio)
    addEvidence(
        f,
        "{} of reads are at a lower offset than the read before (sequential: none, random: half)",
        {ratioWord(*e.run.scatteredReadRatio)});
  if (e.run.bytesPerReadCall)
    addEvidence(f, "{} per read call", {bytesWord(*e.run.bytesPerReadCall)});
  if (e.run.majorFaultsPerSecond)
    addEvidence(f, "{} major page faults a second", {perSecondWord(*e.run.majorFaultsPerSecond)});
  if (e.run.majorFaultsPerSecond.value_or(0) > 0 && e.run.bytesPerMajorFault)
    addEvidence(f, "at most {} per fault", {bytesWord(*e.run.bytesPerMajorFault)});
}

Maybe<Finding> randomAccess(const Evidence& e) {
  return manySmallReads(e, ReadPattern::kRandom, "Small random reads wait for storage one by one",
                        addPlaces);
}

}  // namespace

extern const FindingDefinition kRandomAccess(
    "extract.random_access", randomAccess,
    offers(kMoreWorkers, kSequentialShards, kCacheInRam, kLoadAhead),
    within("transform.in_process", "extract.storage_bandwidth", "extract.small_files"),
    {.cause =
         R"(The producers wait for many small random reads. A disk or network mount answers each read
  after its latency, so throughput stays far below the possible bandwidth.)",
     .rule =
         R"(more than 5 % of the window is blamed on reading, files are not small, and one of these
  is true: over 20 % of reads have a lower offset than the read before (at least 20 such pairs,
  under 256 kB per call); or mapped files cause over 10 major faults a second that load under 64 kB
  each.)",
     .fixes =
         R"(- Read sequentially: shards read front to back, shuffled by shard and within a buffer.
- More requests at once: more workers, or threads inside a worker.
- Keep the data set, or its index, in memory.)",
     .wrong = R"(a reader that only skips forward counts as sequential. If the system calls of
  threads cannot be read, offsets are not known.)",
     .note =
         R"(The CPU time of reading is in the extract share, too, by stacks or by rule cpu.read_calls
  (system time less page faults'). It alone never causes this finding.)"});

}  // namespace stallprof
