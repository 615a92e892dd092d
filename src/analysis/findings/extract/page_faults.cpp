// SPDX-License-Identifier: MIT
// extract.page_faults: mapped data that is not in memory.
#include "analysis/findings/extract/reading.h"

namespace stallprof {
namespace {

const AdviceDefinition kReadAhead{
    "read_ahead",
    "Load the pages before they are accessed: madvise(WILLNEED) or SEQUENTIAL on the mapping, "
    "np.load without mmap_mode for files that fit, lmdb.open(readahead=True) for "
    "sequential reading; or read records instead of mapping them."};

// Read ahead of use, one fault brings what ten brought; scattered, nothing changes.
Advice readAhead(const Evidence& e) {
  return adviceOf(kReadAhead, {"code", "mmap", "on demand", "ahead"},
                  predictScaled(e, &PipelineSettings::ioScale, 0.5, 1 / 1.1, 0.1,
                                "reading takes half of the time, at best a tenth"),
                  "more data is read than is used");
}

Maybe<Finding> pageFaults(const Evidence& e) {
  if (!e.loader || e.extract <= kNotable) return {};
  const BlockedReads b = blockedReads(e);
  const Maybe<Share> share = b.majority(b.faults);
  if (!share) return {};
  Finding f = loaderFinding(e, share->value * e.extract,
                            "Mapped data is not in memory: each first page access blocks");
  if (f.shareRatio <= kNotable) return {};
  addEvidence(f, "{} of the blocked reading is in page faults, not in read calls ({} samples)",
              {ratioWord(share->value), numberWord(b.all.samples)});
  if (e.run.majorFaultsPerSecond)
    addEvidence(f, "{} major faults a second", {perSecondWord(*e.run.majorFaultsPerSecond)});
  return withAdvice(f, {readAhead(e), cacheInRam(e)});
}

}  // namespace

extern const FindingDefinition kPageFaults(
    "extract.page_faults", pageFaults, offers(kReadAhead, kCacheInRam),
    within("transform.in_process", "extract.storage_bandwidth", "extract.random_access",
           "extract.small_files"),
    {.cause =
         R"(Data is mapped instead of read, and its pages are not in memory. The first access to each page
  blocks the producer.)",
     .rule = R"(more than 5 % of the window is blamed on blocked reading, and over half of the
  producers' blocked samples (at the low end of a 90 % interval) are in page faults rather than in
  read calls.)",
     .fixes = R"(- Read sequentially, or advise the kernel (madvise WILLNEED, SEQUENTIAL).
- Keep the mapped file in memory: read it once before training.
- Use larger records, so that one fault loads a whole sample.)",
     .wrong = R"(memory is short and the pages were evicted. Then host.memory_pressure is the
  cause, and the faults are its symptom.)"});

}  // namespace stallprof
