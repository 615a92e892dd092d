// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "analysis/findings/evidence.h"

namespace stallprof {

// A rule looks at the evidence and answers with a finding, or that it does not apply. It fires on
// the condition its `explain` page states, with the numbers it fired on as evidence items; it never
// ranks itself. Advice carries change, prediction and risk; `advise` writes its words.
using Rule = Maybe<Finding> (*)(const Evidence&);
[[nodiscard]] std::span<const Rule> allRules();

// Below this share of the window nothing is worth a finding (XProf: under 5 % is not input-bound).
inline constexpr double kNotable = 0.05;

// Two within 10 % of each other are a tie (design): neither is said to be the one cause.
inline constexpr double kTied = 0.90;

Maybe<Finding> inProcess(const Evidence& e);
Maybe<Finding> tooFewWorkers(const Evidence& e);
Maybe<Finding> cpuSaturated(const Evidence& e);
Maybe<Finding> threadsBehind(const Evidence& e);
Maybe<Finding> oversubscribed(const Evidence& e);
Maybe<Finding> stragglers(const Evidence& e);
Maybe<Finding> storageBandwidth(const Evidence& e);
Maybe<Finding> randomAccess(const Evidence& e);
Maybe<Finding> smallFiles(const Evidence& e);
Maybe<Finding> coldCache(const Evidence& e);
Maybe<Finding> ipc(const Evidence& e);
Maybe<Finding> workerStartup(const Evidence& e);
Maybe<Finding> noPrefetch(const Evidence& e);
Maybe<Finding> workerMemory(const Evidence& e);
Maybe<Finding> contention(const Evidence& e);
Maybe<Finding> checkpoint(const Evidence& e);
Maybe<Finding> slowOp(const Evidence& e);
Maybe<Finding> gilBound(const Evidence& e);
Maybe<Finding> pythonOverhead(const Evidence& e);
Maybe<Finding> logging(const Evidence& e);
Maybe<Finding> garbageCollection(const Evidence& e);
Maybe<Finding> evaluation(const Evidence& e);
Maybe<Finding> pageFaults(const Evidence& e);
Maybe<Finding> remoteLatency(const Evidence& e);
// Most of the blocked reading is in sockets: no storage of this host is asked.
[[nodiscard]] bool readsFromSockets(const Evidence& e);
Maybe<Finding> memoryPressure(const Evidence& e);
Maybe<Finding> cpuThrottled(const Evidence& e);
Maybe<Finding> noisyNeighbour(const Evidence& e);
Maybe<Finding> pageableCopy(const Evidence& e);
Maybe<Finding> transferBandwidth(const Evidence& e);
Maybe<Finding> pinThread(const Evidence& e);
Maybe<Finding> launchBound(const Evidence& e);
Maybe<Finding> syncPoints(const Evidence& e);
Maybe<Finding> underfilled(const Evidence& e);
Maybe<Finding> collectiveBound(const Evidence& e);
Maybe<Finding> stragglerRank(const Evidence& e);
Maybe<Finding> rankImbalance(const Evidence& e);
Maybe<Finding> dataParallel(const Evidence& e);
Maybe<Finding> gpuThrottled(const Evidence& e);
// Not in the list: one of them fires when the others gain nothing (rank.cpp decides).
Finding cpuBound(const Evidence& e);
Finding deviceBound(const Evidence& e);

// How a finding is put together.
[[nodiscard]] Finding findingOf(const Evidence& e, const char* id, Phase phase, double share,
                                std::string title);
void tell(Finding& to, std::string text, Maybe<double> value = {}, const char* unit = "");
// Leaves out what the model says is no gain (under 1 %) when `onlyIfGain`.
void offer(Finding& to, Advice advice);
[[nodiscard]] Advice adviceOf(const char* id, Advice::Change change, Prediction predicted,
                              std::string risk = "");

// Fixes that several findings share.
[[nodiscard]] Maybe<Advice> moreWorkers(const Evidence& e);
[[nodiscard]] Maybe<Advice> cacheInRam(const Evidence& e);
[[nodiscard]] Advice sequentialShards(const Evidence& e);
[[nodiscard]] Advice offlinePreprocess(const Evidence& e);
[[nodiscard]] Advice moreCores(const Evidence& e);
[[nodiscard]] Maybe<Advice> morePrefetch(const Evidence& e);
[[nodiscard]] Maybe<Advice> outOfOrder(const Evidence& e);

}  // namespace stallprof
