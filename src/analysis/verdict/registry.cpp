// SPDX-License-Identifier: MIT
#include "analysis/verdict/registry.h"

namespace stallprof {

// To add a finding, add its definition here.
// clang-format off
#define STALLPROF_FINDINGS(F)                                                                      \
  F(kStorageBandwidth) F(kRandomAccess) F(kSmallFiles) F(kRemoteLatency) F(kPageFaults)            \
  F(kColdCache)                                                                                    \
  F(kInProcess) F(kTooFewWorkers) F(kCpuSaturated) F(kSlowOp) F(kGilBound) F(kOversubscribed)      \
  F(kStragglers) F(kSlowSamples) F(kMinorFaults) F(kWorkerLock)                                    \
  F(kIpc) F(kNoPrefetch) F(kPageableCopy) F(kTransferBandwidth) F(kPinThread) F(kWorkerStartup)    \
  F(kWorkerMemory)                                                                                 \
  F(kDeviceBound) F(kCpuBound) F(kLaunchBound) F(kHostWork) F(kSyncPoints) F(kUnderfilled)         \
  F(kPythonOverhead) F(kContention) F(kOversubscribedStep) F(kRecompilation) F(kSmallOps)          \
  F(kAfterUpdate) F(kUnfusedOptimizer) F(kGilBoundStep) F(kLockContention) F(kLockWait)            \
  F(kCollectiveBound) F(kStragglerRank) F(kRankImbalance) F(kDataParallel)                         \
  F(kCheckpoint) F(kEvaluation) F(kLogging) F(kPause) F(kGarbageCollection)                        \
  F(kMemoryPressure) F(kCpuThrottled) F(kNoisyNeighbour) F(kGpuThrottled) F(kGpuShared)
// clang-format on

#define STALLPROF_DECLARE(name) extern const FindingDefinition name;
STALLPROF_FINDINGS(STALLPROF_DECLARE)
#undef STALLPROF_DECLARE

std::span<const FindingDefinition* const> allFindings() {
#define STALLPROF_ADDRESS(name) &name,
  static constexpr const FindingDefinition* kAll[] = {STALLPROF_FINDINGS(STALLPROF_ADDRESS)};
#undef STALLPROF_ADDRESS
  return kAll;
}

const FindingDefinition* findingDefinition(std::string_view id) {
  for (const FindingDefinition* each : allFindings())
    if (each->id == id) return each;
  return nullptr;
}

}  // namespace stallprof
