// SPDX-License-Identifier: MIT
// extract.storage_bandwidth: large reads, and the storage itself is the limit.
#include "analysis/findings/extract/reading.h"

namespace stallprof {
namespace {

constexpr double kDeviceFull = 0.9;  // busy: it has nothing to give to more workers

const AdviceDefinition kFasterStorage{
    "faster_storage", "Copy the data set to faster storage, such as a local SSD, before training."};

const AdviceDefinition kFewerBytes{
    "fewer_bytes",
    "Store smaller samples: uint8 instead of float32 is a quarter of the bytes (as predicted "
    "here), or resize or compress the originals."};

// Twice the storage: half the time blocked.
Advice fasterStorage(const Evidence& e) {
  return adviceOf(kFasterStorage, {"hardware", "storage", e.run.storageType, "local SSD"},
                  predictScaled(e, &PipelineSettings::ioScale, 0.5, 0.8, 0.1,
                                "faster storage takes half of the time, at best a tenth"),
                  "a copy of the data set on that storage");
}

// The same samples in a quarter of the bytes, as uint8 for float32; half where less can be saved.
Advice fewerBytes(const Evidence& e) {
  return adviceOf(kFewerBytes, {"data", "bytes a sample", "all", "a quarter"},
                  predictScaled(e, &PipelineSettings::ioScale, 0.25, 0.5, 0.15,
                                "reading takes a quarter of the time, at best a seventh"),
                  "the data set must be rewritten; it costs precision or decoding time");
}

Maybe<Finding> storageBandwidth(const Evidence& e) {
  if (!readsInPattern(e, ReadPattern::kBandwidth)) return {};
  const bool best = readsNearBest(e);
  Finding f = readingFinding(e, best ? "Reads are at the maximum rate of the storage"
                                     : "Batches wait for reads from storage");
  if (!best) f.confidence = lowered(f.confidence);
  addStorageEvidence(f, e);
  if (e.run.diskBusyRatio)
    addEvidence(f, "the device was busy {} of the time", {ratioWord(*e.run.diskBusyRatio)});
  if (e.run.diskBusyRatio.value_or(0) < kDeviceFull) offerConcurrency(f, e);
  if (e.trainer.native.seen) offer(f, loadAhead(e, e.extract));
  return withAdvice(f, {cacheInRam(e), fewerBytes(e), fasterStorage(e)});
}

}  // namespace

extern const FindingDefinition kStorageBandwidth(
    "extract.storage_bandwidth", storageBandwidth,
    offers(kMoreWorkers, kCacheInRam, kFewerBytes, kFasterStorage, kLoadAhead),
    within("transform.in_process", "extract.random_access", "extract.small_files"),
    {.cause =
         R"(Batches are late because their producers are blocked in large reads. The storage itself is the
  limit, not the access pattern.)",
     .rule = R"(waits for producers that are blocked on files take more than 5 % of the
  window, and neither small files nor random reads were detected. If the read rate is not near the
  best second of the run (80 %), confidence is one level lower.)",
     .fixes = R"(- Keep the data set in memory (tmpfs, page cache) if it fits.
- Copy it to a faster device, such as a local SSD, before training.
- Read fewer bytes: compress if CPU time is free, store smaller originals.
- With one or two workers on a device that is not busy: more workers.)",
     .wrong = R"(a shared device was slow because of other users. Or the run was too short for a
  meaningful best second. Repeat it on a quiet host, and compare a cold epoch with a warm one.)"});

}  // namespace stallprof
