// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/fixes.h"
#include "analysis/findings/hot.h"

// What the findings about reading share.
namespace stallprof {

// One of these is the main pattern of reads from storage: opens and file sizes decide about small
// files, the offsets of reads and the bytes that a fault brings about random places.
enum class ReadPattern { kBandwidth, kRandom, kSmallFiles };
// Reading takes a notable share of the window, in this pattern: blocked on storage; to open many
// small files takes as long where they are in memory, so that a CPU's time counts there, too.
[[nodiscard]] bool readsInPattern(const Evidence& e, ReadPattern pattern);

// Opening, finding and closing files takes longer than reading them. Where no interpreter ran, the
// time in system calls says so; else the kernel's samples of the threads that make batches, where
// there are enough.
[[nodiscard]] bool openingCostsMore(const Evidence& e);

// Within 80 % of the best second of the run.
[[nodiscard]] bool readsNearBest(const Evidence& e);
// Steps a second where the loader's batch size is not known.
[[nodiscard]] double samplesPerSecond(const Evidence& e);
// Mean size of the data files that producers held open or waited for; 0: too few were seen.
[[nodiscard]] double meanFileSize(const Evidence& e);

// Share and confidence of one about all that is blamed on reading, a CPU's part included.
[[nodiscard]] Finding readingFinding(const Evidence& e, const char* title);
void addStorageEvidence(Finding& f, const Evidence& e);
// More workers, where storage is what is waited for: the cores are idle, more requests may be under
// way.
void offerConcurrency(Finding& f, const Evidence& e);
// The finding of a pattern of many small reads, with that and what makes fewer and larger ones of
// them.
[[nodiscard]] Maybe<Finding> manySmallReads(const Evidence& e, ReadPattern pattern,
                                            const char* title,
                                            void (*addOwnEvidence)(Finding&, const Evidence&));

// Samples of the threads that make batches, by what they were blocked in.
struct BlockedReads {
  double faults = 0, sockets = 0, files = 0;
  SampleSum all;
  // The share of `part` where it is most of all, at the low end of a 90 % interval, of ten samples
  // or more.
  [[nodiscard]] Maybe<Share> majority(double part) const;
};
[[nodiscard]] BlockedReads blockedReads(const Evidence& e);

}  // namespace stallprof
