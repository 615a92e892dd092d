// SPDX-License-Identifier: MIT
// extract.*: the producers are blocked on storage. One of bandwidth, random access and small files
// is the main pattern; which, is told by the size of reads and the opens beside them.
#include <algorithm>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"
#include "analysis/read_cpu.h"

namespace stallprof {
namespace {

constexpr double kNearBest = 0.80;      // of the best second of the run
constexpr double kLargeRead = 256e3;    // bytes a call: the kernel's largest default readahead
                                        // is 128 kB, so reads of twice that are sequential
constexpr double kSmallFile = 200e3;    // bytes: research 05 section 6, rule 13
constexpr double kFewMajorFaults = 10;  // a second: above it mapped data comes from storage
constexpr double kColdMiss = 0.5;       // share of reads that reach storage (rule 11)

enum class Pattern { kBandwidth, kRandom, kSmallFiles };

double samplesPerSecond(const Evidence& e) {
  const double batch =
      e.loader ? static_cast<double>(std::max<std::int64_t>(1, e.loader->batchSize)) : 1;
  return e.perStep > 0 ? batch / e.perStep : 0;
}

// Opens that belong to samples: at least one for every second sample.
bool opensPerSample(const Evidence& e) {
  return e.run.opensPerSecond && *e.run.opensPerSecond > 0.5 * samplesPerSecond(e);
}

// Mean size of the data files the producers were seen to hold open or wait for.
double meanFile(const Evidence& e) {
  double bytes = 0, files = 0;
  for (const auto& f : e.trace.files)
    if (f.data.size > 0 && f.data.process != e.trainer.process)
      bytes += static_cast<double>(f.data.size), files += 1;
  return files >= 20 ? bytes / files : 0;  // fewer are shards, or too few looks to tell
}

bool smallFilesSeen(const Evidence& e) {
  const double size = meanFile(e);
  if (size > 0) return size < kSmallFile && (opensPerSample(e) || !e.run.opensPerSecond);
  if (!opensPerSample(e) || !e.run.readBytesPerSecond) return false;
  return *e.run.readBytesPerSecond / *e.run.opensPerSecond < kSmallFile;
}

bool nearBest(const Evidence& e) {
  const RunFacts& r = e.run;
  return r.readBytesPerSecond && r.peakReadBytesPerSecond && *r.peakReadBytesPerSecond > 0 &&
         *r.readBytesPerSecond >= kNearBest * *r.peakReadBytesPerSecond;
}

bool scattered(const Evidence& e) {
  if (e.run.majorFaultsPerSecond.value_or(0) > kFewMajorFaults) return true;
  return e.run.bytesPerReadCall && *e.run.bytesPerReadCall < kLargeRead;
}

Pattern patternOf(const Evidence& e) {
  if (smallFilesSeen(e)) return Pattern::kSmallFiles;
  if (scattered(e)) return Pattern::kRandom;
  return Pattern::kBandwidth;
}

bool isPattern(const Evidence& e, Pattern p) {
  return e.loader && e.extract > kNotable && patternOf(e) == p && !readsFromSockets(e);
}

void tellStorage(Finding& f, const Evidence& e) {
  const RunFacts& r = e.run;
  tell(f, "waits for storage " + percent(e.extract) + " of the time", e.extract, "ratio");
  const BatchDemand& b = e.gains.demand().batch;
  if (b.alone() > 0)
    tell(f, "a batch is blocked " + duration(b.io) + " of its " + duration(b.alone()), b.io * 1e9,
         "ns");
  if (const double share = e.trainer.readCpuShare; share > 0.01)
    tell(f,
         percent(share) + " of the producers' CPU is in read calls, by system time (" +
             kReadCpuRule + ")",
         share, "ratio");
  if (r.readBytesPerSecond)
    tell(
        f,
        "reads " + bytesPerSecond(*r.readBytesPerSecond) + " from storage" +
            (r.peakReadBytesPerSecond ? ", best second " + bytesPerSecond(*r.peakReadBytesPerSecond)
                                      : ""),
        *r.readBytesPerSecond, "bytes_per_s");
  if (!r.pageCacheKeeps.value_or(true) && r.laterMissRatio)
    tell(f, percent(*r.laterMissRatio) + " of what later passes read comes from storage again",
         *r.laterMissRatio, "ratio");
  if (!r.waitWhat.empty())
    tell(f,
         "most of it in " + escapeTerminal(r.waitWhat[0].first, 120) +
             (r.storageType.empty() ? "" : " (" + escapeTerminal(r.storageType, 40) + ")"),
         r.waitWhat[0].second, "ratio");
}

// Where storage is what is waited for, more requests under way are a fix of it: the cores are idle.
void offerConcurrency(Finding& f, const Evidence& e) {
  if (e.workers() < 1 || e.extract < kTied * e.transform) return;
  auto more = moreWorkers(e);
  if (!more) return;
  // Storage that is at its limit gives more requests no more bytes: then nothing is gained.
  if (patternOf(e) == Pattern::kBandwidth && more->predicted.low)
    more->predicted.low = std::min(1.0, *more->predicted.low);
  offer(f, std::move(*more));
}

// Twice the storage: half the time blocked.
Advice fasterStorage(const Evidence& e) {
  PipelineSettings likely = e.gains.base(), least = likely, most = likely;
  likely.ioScale = 0.5, least.ioScale = 0.8, most.ioScale = 0.1;
  return adviceOf("faster_storage", {"hardware", "storage", e.run.storageType, "local SSD"},
                  e.gains.predict(likely, least, most), "a copy of the data set on that storage");
}

// The same samples in a quarter of the bytes, as uint8 for float32; half where less can be saved.
Advice fewerBytes(const Evidence& e) {
  PipelineSettings likely = e.gains.base(), least = likely, most = likely;
  likely.ioScale = 0.25, least.ioScale = 0.5, most.ioScale = 0.15;
  return adviceOf("fewer_bytes", {"data", "bytes a sample", "all", "a quarter"},
                  e.gains.predict(likely, least, most),
                  "the data set is written anew; precision or decoding time is the price");
}

}  // namespace

Maybe<Finding> storageBandwidth(const Evidence& e) {
  if (!isPattern(e, Pattern::kBandwidth)) return {};
  Finding f = findingOf(e, "extract.storage_bandwidth", Phase::kExtract, e.extract,
                        "Storage delivers no faster than this");
  if (!nearBest(e)) f.confidence = lowered(f.confidence);
  tellStorage(f, e);
  if (e.run.diskBusyRatio)
    tell(f, "the device was busy " + percent(*e.run.diskBusyRatio) + " of the time",
         *e.run.diskBusyRatio, "ratio");
  // A device that is busy all the time has nothing to give to more workers.
  if (e.run.diskBusyRatio.value_or(0) < 0.9) offerConcurrency(f, e);
  if (auto a = cacheInRam(e)) offer(f, std::move(*a));
  offer(f, fewerBytes(e));
  offer(f, fasterStorage(e));
  return f;
}

Maybe<Finding> randomAccess(const Evidence& e) {
  if (!isPattern(e, Pattern::kRandom)) return {};
  Finding f = findingOf(e, "extract.random_access", Phase::kExtract, e.extract,
                        "Small reads at scattered places wait for storage one by one");
  if (nearBest(e) && e.run.diskBusyRatio.value_or(0) > 0.9) f.confidence = lowered(f.confidence);
  tellStorage(f, e);
  if (e.run.bytesPerReadCall)
    tell(f, byteSize(*e.run.bytesPerReadCall) + " a read call", *e.run.bytesPerReadCall, "bytes");
  if (e.run.majorFaultsPerSecond)
    tell(f, number(*e.run.majorFaultsPerSecond) + " major page faults a second",
         *e.run.majorFaultsPerSecond, "per_s");
  offerConcurrency(f, e);
  offer(f, sequentialShards(e));
  if (auto a = cacheInRam(e)) offer(f, std::move(*a));
  return f;
}

Maybe<Finding> smallFiles(const Evidence& e) {
  if (!isPattern(e, Pattern::kSmallFiles)) return {};
  Finding f = findingOf(e, "extract.small_files", Phase::kExtract, e.extract,
                        "One small file a sample: opening costs more than reading");
  tellStorage(f, e);
  if (e.run.opensPerSecond)
    tell(f,
         number(*e.run.opensPerSecond) + " files opened a second, for " +
             number(samplesPerSecond(e)) + " samples a second",
         *e.run.opensPerSecond, "per_s");
  if (const double size = meanFile(e); size > 0)
    tell(f, "files of " + byteSize(size) + " on average", size, "bytes");
  offerConcurrency(f, e);
  offer(f, sequentialShards(e));
  if (auto a = cacheInRam(e)) offer(f, std::move(*a));
  return f;
}

Maybe<Finding> coldCache(const Evidence& e) {
  if (!e.loader || e.extract <= kNotable || !e.run.cacheHitRatio) return {};
  if (1 - *e.run.cacheHitRatio <= kColdMiss) return {};
  if (!e.run.pageCacheKeeps.value_or(true)) return {};  // then no pass is warm
  auto cache = cacheInRam(e);                           // only when it fits
  if (!cache) return {};
  Finding f = findingOf(e, "extract.cold_cache", Phase::kExtract, e.extract,
                        "The data set is read from storage, though memory could hold it");
  tellStorage(f, e);
  tell(f, percent(1 - *e.run.cacheHitRatio) + " of what is read comes from storage",
       1 - *e.run.cacheHitRatio, "ratio");
  tell(f,
       "the data set is about " + byteSize(static_cast<double>(*e.run.datasetBytes)) + "; " +
           byteSize(static_cast<double>(*e.run.memoryAvailable)) + " of memory is free",
       static_cast<double>(*e.run.datasetBytes), "bytes");
  offer(f, std::move(*cache));
  return f;
}

}  // namespace stallprof
