// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace stallprof {

// Samples of one thread in an interval, of code that computes: in functions whose name says that
// they go back through a model, that they go forward, and in the rest.
struct PassSamples {
  double forward = 0, backward = 0, rest = 0;
  void join(const PassSamples& other) {
    forward += other.forward;
    backward += other.backward;
    rest += other.rest;
  }
};

// Of successive intervals of equal length: how many samples are of a model that is run and not
// trained, as evaluation and sampling do. A training step goes forward and back, so all else that
// computes bears one ratio to going back wherever there are several steps in an interval: the
// median over the intervals, each weighted by its samples of going back. Intervals in which a model
// is run have more than that ratio explains; those three standard deviations above it count. The
// intervals are joined two by two until the quartiles of the ratio lie close together and the rest
// of them goes forward, too, as steps may be longer than they; 0 where they never do, and where
// every step is evaluated: then nothing distinguishes the two.
[[nodiscard]] double forwardAlone(std::span<const PassSamples> intervals);

}  // namespace stallprof
