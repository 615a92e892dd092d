// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/build.h"

// Fixes that several findings share. Null where the run has no room for it, or the model finds no
// gain (under 1 %).
namespace stallprof {

inline constexpr double kNoGain = 1.01;

extern const AdviceDefinition kMoreWorkers, kCacheInRam, kSequentialShards, kOfflinePreprocess,
    kMoreCores, kMorePrefetch, kCopyFewerBytes;

[[nodiscard]] Maybe<Advice> moreWorkers(const Evidence& e);
[[nodiscard]] Maybe<Advice> cacheInRam(const Evidence& e);
[[nodiscard]] Advice sequentialShards(const Evidence& e);
[[nodiscard]] Advice offlinePreprocess(const Evidence& e);
[[nodiscard]] Advice moreCores(const Evidence& e);
[[nodiscard]] Maybe<Advice> morePrefetch(const Evidence& e);

}  // namespace stallprof
