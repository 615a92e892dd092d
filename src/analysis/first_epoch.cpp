// SPDX-License-Identifier: MIT
#include "analysis/first_epoch.h"

namespace stallprof {

Maybe<FirstEpoch> unlikeLater(const std::vector<EpochInfo>& epochs) {
  constexpr double kUnlike = 0.15;  // of the time: more than epochs of one kind differ by
  double waited = 0, time = 0;
  for (std::size_t i = 1; i < epochs.size(); ++i) {
    if (!epochs[i].dataWaitRatio || 2 * epochs[i].steps < epochs[0].steps) continue;
    waited += *epochs[i].dataWaitRatio * seconds(epochs[i].wall);
    time += seconds(epochs[i].wall);
  }
  if (time <= 0 || !epochs[0].dataWaitRatio) return {};
  const FirstEpoch found{*epochs[0].dataWaitRatio, waited / time};
  if (found.first - found.later <= kUnlike) return {};
  return found;
}

}  // namespace stallprof
