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
  Finding f =
      loaderFinding(e, e.extract, "The data set is read from storage, though memory could hold it");
  addStorageEvidence(f, e);
  addEvidence(f, "{} of what is read comes from storage", {ratioWord(1 - *e.run.cacheHitRatio)});
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
         R"(The first epoch reads the data set from storage although memory could hold it; later
  epochs may find it in the page cache.)",
     .rule = R"(more than 5 % of the window is blamed on reading, over half of what is read
  comes from storage, the data set fits into 80 % of the available memory, and nothing
  says that the page cache does not keep it: a later epoch that reads from storage again,
  or a cache that does not grow by what is read though memory is free (O_DIRECT).)",
     .fixes = R"(- Read the files once before training, or copy them to tmpfs.
- Judge by a later epoch: the epochs table shows both.
- Leave memory to the cache: fewer workers, smaller copies.)",
     .wrong = R"(the data set is larger than was seen so far: its size is estimated
  from what the run has read in an epoch, of several ranks on a host from what one of them has. On
  network mounts storage reads are not counted and
  nothing is said.)"});

}  // namespace stallprof
