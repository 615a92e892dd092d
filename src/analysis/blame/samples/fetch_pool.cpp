// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/fetch_pool.h"

namespace stallprof {

bool atWork(const Sample& sample) {
  return sample.wait == Wait::kRunning || sample.stack->gil == Gil::kWaits;
}

bool worksForFetches(const Trace& trace, const ThreadLife& thread, const Intervals& fetches,
                     const Interval& within) {
  constexpr double kMinBeside = 10;  // samples
  constexpr double kAsMuch = 0.5;    // of the samples a second in fetches
  double inside = 0, beside = 0;
  eachSample(trace, thread, within.begin, within.end, [&](const Sample& sample) {
    if (atWork(sample)) ++(containsAny(fetches, sample.at) ? inside : beside);
  });
  const double fetching = seconds(lengthIn(fetches, within));
  const double rest = seconds(within.length()) - fetching;
  return beside < kMinBeside || beside * fetching < kAsMuch * inside * rest;
}

}  // namespace stallprof
