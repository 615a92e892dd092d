// SPDX-License-Identifier: MIT
// extract.cold_cache: the data set is read from storage, though memory could hold it.
#include "analysis/findings/extract/reading.h"

namespace stallprof {
namespace {

constexpr double kColdMiss = 0.5;  // share of what is read that comes from storage

Maybe<Finding> coldCache(const Evidence& e) {
  if (!e.loader || e.extract <= kNotable || !e.run.cacheHitRatio) return {};
  if (1 - *e.run.cacheHitRatio <= kColdMiss) return {};
  if (!e.run.pageCacheKeeps.value_or(true)) return {};  // then no epoch is warm
  auto cache = cacheInRam(e);                           // only when it fits
  if (!cache) return {};
  Finding f = loaderFinding(e, e.extract,
                            "The data set is read from storage, although it fits into memory");
  addStorageEvidence(f, e);
  addEvidence(f, "{} of the data read comes from storage", {ratioWord(1 - *e.run.cacheHitRatio)});
  addEvidence(f, "the data set is about {}; {} of memory is free",
              {bytesWord(*dataOfHost(e)), bytesWord(static_cast<double>(*e.run.memoryRoom()))});
  return withAdvice(f, {std::move(cache)});
}

}  // namespace

extern const FindingDefinition kColdCache(
    "extract.cold_cache", coldCache, offers(kCacheInRam),
    within("transform.in_process", "extract.storage_bandwidth", "extract.random_access",
           "extract.small_files"),
    {.cause =
         R"(The first epoch reads the data set from storage, although memory could hold it. Later epochs
  may find it in the page cache.)",
     .rule =
         R"(more than 5 % of the window is blamed on reading, over half of the data read comes from
  storage, and the data set fits into 80 % of the available memory. No sign shows that the page
  cache drops the data: a later epoch that reads from storage again, or a cache that does not grow
  although memory is free (O_DIRECT).)",
     .fixes = R"(- Read the files once before training, or copy them to tmpfs.
- Compare with a later epoch: the epochs table shows both.
- Leave memory for the cache: fewer workers, smaller copies.)",
     .wrong = R"(the data set is larger than the size estimated so far. The estimate is the data
  that the run has read in an epoch; with several ranks on a host, the data of one rank. On network
  mounts storage reads are not counted, and the finding does not fire.)"});

}  // namespace stallprof
