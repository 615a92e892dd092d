// SPDX-License-Identifier: MIT
// extract.small_files: one file a sample.
#include "analysis/findings/extract/reading.h"

namespace stallprof {
namespace {

void addOpens(Finding& f, const Evidence& e) {
  const bool samples = e.loader && e.loader->batchSize > 0;
  if (e.run.opensPerSecond && e.perStep > 0)
    addEvidence(f,
                samples ? "{} files opened a second, for {} samples a second"
                        : "{} files opened a second, for {} steps a second",
                {perSecondWord(*e.run.opensPerSecond), perSecondWord(samplesPerSecond(e))});
  if (const StackFacts& s = e.trainer.stacks; !e.trainer.native.seen && openingCostsMore(e))
    addEvidence(f, "of {} native samples in file calls, {} open, find or close files",
                {countWord(static_cast<std::int64_t>(s.openingFiles + s.readingFiles)),
                 ratioWord(s.openingFiles / (s.openingFiles + s.readingFiles))});
  if (const double size = meanFileSize(e); size > 0)
    addEvidence(f, "files of {} on average", {bytesWord(size)});
}

Maybe<Finding> smallFiles(const Evidence& e) {
  return manySmallReads(e, ReadPattern::kSmallFiles,
                        "One small file per sample: opening costs more than reading", addOpens);
}

}  // namespace

extern const FindingDefinition kSmallFiles(
    "extract.small_files", smallFiles,
    offers(kMoreWorkers, kSequentialShards, kCacheInRam, kLoadAhead),
    within("transform.in_process", "extract.storage_bandwidth", "extract.random_access"),
    {.cause =
         R"(There is one file per sample. Opening, resolving and closing it costs more than reading its
  data.)",
     .rule =
         R"(more than 5 % of the window is blamed on reading, blocked or on a CPU, and one of these
  is true: data files are under 200 kB on average; more than one open is counted for every two
  samples, with under 200 kB each; or the kernel spends more CPU time on opening, finding and
  closing files than on reading them.)",
     .fixes =
         R"(- Pack samples into large files (WebDataset, TFRecord, Arrow, LMDB): 1.4 to 9 times faster in
  the tables of the PRESTO study.
- Copy the files to local storage, or keep them in memory.
- More workers, so that more opens run in parallel.)",
     .wrong = R"(the files are in the page cache, and no native samples show CPU time of opens.
  Then the extract share stays small. If opens cannot be counted, only file sizes and those samples
  are used; the evidence states which.)"});

}  // namespace stallprof
