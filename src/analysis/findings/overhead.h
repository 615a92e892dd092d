// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/hot.h"

// What findings share that are about the training thread's own time: work that could leave it.
namespace stallprof {

// `share` of the time, of which so much is left, and a step takes `minStep` of it at least.
[[nodiscard]] Prediction reducedTo(double share, double likely, double minimum, double maximum,
                                   double minStep = 0);
// The time is the trainer's own, so what leaves it shortens the run by as much, down to what others
// take; the arguments are the shares of it that are left, and of the present step what one takes at
// least whatever leaves it.
[[nodiscard]] Prediction withoutOverhead(const Evidence& e, double share, double likely,
                                         double minimum, double maximum, double minStep = 0);
// How much of it can leave is not known: half, within a tenth and nine tenths.
[[nodiscard]] Prediction withoutHalf(const Evidence& e, double share);
// Nearly all of it can leave, how much is not known: a tenth remains, a half at the most.
[[nodiscard]] Prediction reducedToTenth(const Evidence& e, double share, double minStep = 0);

// Of the training thread's time.
[[nodiscard]] Share shareOfOverhead(const Evidence& e, OverheadKind overhead);
// In which it waits for the interpreter's lock, in steps and in fetches of its own.
[[nodiscard]] Share shareOfLock(const Evidence& e);
// In which it is blocked in lines of the program's own, in steps: in a lock that another thread or
// process holds, or for an answer. While other threads of its process work, they may compute.
struct LockWait {
  Share blocked{0, 0, 0};
  double workBeside = 0;  // of the time, at most
  [[nodiscard]] double low() const { return blocked.low - workBeside; }
};
inline constexpr HotQuery kBlockedInOwnLines{
    Side::kTrainer, Phase::kCompute, {}, HotQuery::Of::kBlockedInOwn};
[[nodiscard]] LockWait waitForLock(const Evidence& e);
// For this or the interpreter's lock, a part worth naming: what the step takes alone is not known.
[[nodiscard]] bool stepWaitsForLocks(const Evidence& e);
// It waits for the lock for a part worth naming, which threads that make batches hold for most of
// the time that others do.
[[nodiscard]] bool producersHoldLock(const Evidence& e);
// Threads that neither make batches nor hand them over hold most of what is held beside it.
[[nodiscard]] bool lockHeldByOthers(const Evidence& e);

// High with 100 steps in the window and a quiet host.
[[nodiscard]] Finding overheadFinding(const Evidence& e, double share, std::string title);
// The finding of a kind that takes more than `notable` of the training thread's time, by its
// samples (at the low end of a 90 % interval): said by `pattern`, with how sure it is (a wide share
// lowers the confidence) and where most of it is. Null below.
[[nodiscard]] Maybe<Finding> sampledOverhead(const Evidence& e, OverheadKind overhead,
                                             double notable, std::string title,
                                             std::string_view pattern);
void pointAtOverhead(Finding& f, const Evidence& e, OverheadKind overhead);

}  // namespace stallprof
