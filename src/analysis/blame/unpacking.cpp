// SPDX-License-Identifier: MIT
#include "analysis/blame/unpacking.h"

#include <algorithm>

namespace stallprof {
namespace {

constexpr double kEnoughNatives = 100;  // of a thread: fewer say too little of a share of it

}  // namespace

double Unpacking::shareOf(const ThreadLife& thread, Side side) {
  double natives = 0, unpacking = 0;
  eachNative(thread, {begin_, end_}, [&](const NativeSlice& native) {
    natives += native.samples;
    if (classes_.of(native) == NativeClass::kCompression) unpacking += native.samples;
  });
  if (natives < kEnoughNatives || unpacking <= 0) return 0;
  double running = 0, reading = 0, transforming = 0;
  eachSample(trace_, thread, begin_, end_, [&](const Sample& sample) {
    if (sample.wait != Wait::kRunning) return;
    const StackLabel& label = labels_.of(sample.stack->stack, side);
    const Phase phase = StackLabels::sample(label, sample.wait, sample.stack->gc).phase;
    ++running;
    reading += phase == Phase::kExtract;
    transforming += label.rule && phase == Phase::kTransform;
  });
  if (reading <= 0) return 0;
  return std::clamp((unpacking / natives * running - transforming) / reading, 0.0, 1.0);
}

bool Unpacking::counts(ThreadId thread, Side side, const Sample& sample) {
  if (sample.wait != Wait::kRunning) return false;
  const auto [at, isNew] = readings_.try_emplace(thread);
  Reading& reading = at->second;
  if (isNew) reading.share = shareOf(trace_.thread(thread), side);
  reading.owed += sample.count * reading.share;
  if (reading.share <= 0 || 2 * reading.owed < sample.count) return false;
  reading.owed -= sample.count;
  return true;
}

}  // namespace stallprof
