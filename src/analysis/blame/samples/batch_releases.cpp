// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/batch_releases.h"

#include <algorithm>

namespace stallprof {
namespace {

constexpr double kEnoughReleases = 10;  // native samples: fewer are no share of it

// The lines that batches are asked for at: the callers of a loader.
std::set<StackId> fetchingLines(const Trace& trace, const StackLabels& labels) {
  std::set<StackId> lines;
  for (const auto& row : trace.stacks) {
    if (!labels.of(row.data.stack, Side::kTrainer).fetches) continue;
    for (StackId frame = row.data.caller; !frame.none(); frame = trace.stack(frame).caller)
      if (!labels.of(frame, Side::kTrainer).fetches && !lines.insert(frame).second) break;
  }
  return lines;
}

}  // namespace

BatchReleases::BatchReleases(const Trace& trace, const StackLabels& labels,
                             const ThreadLife& trainer, Nanos begin, Nanos end)
    : lines_(fetchingLines(trace, labels)) {
  if (lines_.empty()) return;
  double natives = 0, unmapping = 0;
  NativeClasses classes(trace);
  eachNative(trainer, {begin, end}, [&](const NativeSlice& native) {
    natives += native.samples;
    const bool here = native.stack.none() || lines_.count(native.stack) > 0;
    if (here && classes.of(native) == NativeClass::kKernel &&
        trace.text(native.function) == "munmap")
      unmapping += native.samples;
  });
  if (unmapping < kEnoughReleases) return;
  double running = 0, atLines = 0;
  eachSample(trace, trainer, begin, end, [&](const Sample& sample) {
    running += sample.wait == Wait::kRunning;
    atLines += atLine(sample);
  });
  if (atLines > 0) part_.share = std::min(1.0, unmapping / natives * running / atLines);
}

bool BatchReleases::take(const Sample& sample) { return atLine(sample) && part_.take(sample); }

}  // namespace stallprof
