// SPDX-License-Identifier: MIT
#include "sampler/perf/drawn_period.h"

#include <utility>

#include "base/splitmix64.h"

namespace stallprof {

Nanos DrawnPeriod::draw(Nanos now) {
  const double share = kShortest + (1 - kShortest) * nextRandom(random_);
  before_ = std::exchange(current_, scaled(asked_ - Nanos(1), share));
  since_ = now;
  return current_;
}

bool DrawnPeriod::keeps(Nanos period, Nanos at) {
  const Nanos own = period != asked_ ? period : at < since_ ? before_ : current_;
  return own >= asked_ || nextRandom(random_) * seconds(asked_) < seconds(own);
}

}  // namespace stallprof
