// SPDX-License-Identifier: MIT
// extract.random_access: many small reads at scattered places.
#include "analysis/findings/extract/reading.h"

namespace stallprof {
namespace {

Maybe<Finding> randomAccess(const Evidence& e) {
  if (!readsInPattern(e, ReadPattern::kRandom)) return {};
  Finding f =
      loaderFinding(e, e.extract, "Small reads at scattered places wait for storage one by one");
  if (readsNearBest(e) && e.run.diskBusyRatio.value_or(0) > 0.9)
    f.confidence = lowered(f.confidence);
  addStorageEvidence(f, e);
  if (e.run.bytesPerReadCall)
    addEvidence(f, "{} a read call", {bytesWord(*e.run.bytesPerReadCall)});
  if (e.run.majorFaultsPerSecond)
    addEvidence(f, "{} major page faults a second", {perSecondWord(*e.run.majorFaultsPerSecond)});
  return withLargerReads(std::move(f), e);
}

}  // namespace

extern const FindingDefinition kRandomAccess(
    "extract.random_access", randomAccess, offers(kMoreWorkers, kSequentialShards, kCacheInRam),
    within("transform.in_process", "extract.storage_bandwidth", "extract.small_files"),
    {.cause =
         R"(The producers wait for many small reads at scattered places. A disk or network mount
  answers each after its latency, so bandwidth stays far below what it could deliver.)",
     .rule = R"(more than 5 % of the window is blamed on reading, and read calls carry under
  256 kB on average or mapped files cause over 10 major faults a second; small files, if
  seen, are named instead.)",
     .fixes =
         R"(- Read sequentially: shards read front to back, shuffled by shard and within a buffer.
- More requests at once: more workers, or threads inside a worker.
- Keep the data set, or its index, in memory.)",
     .wrong = R"(reads are small but sequential (a buffered parser): the kernel reads
  ahead and latency does not count. The recorded file offsets show it.)",
     .note = R"(Reading's own CPU is in the extract share too: by stacks or, without, by rule
  cpu.read_calls (system time less the cost of page faults, at most what calls, bytes and
  waits explain; huge pages and locks are not distinguished). It never makes this finding fire.)"});

}  // namespace stallprof
