// SPDX-License-Identifier: MIT
#include "sampler/perf/drawn_period.h"

#include <utility>

#include "base/splitmix64.h"

namespace stallprof {

double DrawnPeriod::random() {
  random_ += kSplitmix64Step;
  return static_cast<double>(splitmix64(random_) >> 11) * 0x1p-53;
}

Nanos DrawnPeriod::draw(Nanos now) {
  const double share = kShortest + (1 - kShortest) * random();
  before_ = std::exchange(
      current_, Nanos(static_cast<Nanos::rep>(static_cast<double>(asked_.count() - 1) * share)));
  since_ = now;
  return current_;
}

bool DrawnPeriod::keeps(Nanos period, Nanos at) {
  const Nanos own = period != asked_ ? period : at < since_ ? before_ : current_;
  return own >= asked_ || random() * seconds(asked_) < seconds(own);
}

}  // namespace stallprof
