// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/native_split.h"

#include <algorithm>

#include "analysis/blame/samples/read_cpu.h"
#include "classify/native_work.h"

namespace stallprof {
namespace {

constexpr double kEnoughNatives = 100;  // of a thread: fewer say too little of a share of it
constexpr double kSomeCalls = 10;       // of these: fewer may be the opening of a module
constexpr std::string_view kUnpacking = "compression.native";  // of the rules

}  // namespace

bool NativeSplit::Part::take(const Sample& sample) {
  owed += sample.count * share;
  if (share <= 0 || 2 * owed < sample.count) return false;
  owed -= sample.count;
  return true;
}

NativeSplit::Running NativeSplit::runningOf(const ThreadLife& thread, Side side,
                                            const Intervals& within) {
  Running running;
  auto at = within.begin();
  eachSample(trace_, thread, begin_, end_, [&](const Sample& sample) {
    while (at != within.end() && at->end <= sample.at) ++at;
    if (sample.wait != Wait::kRunning) return;
    ++running.all;
    if (!within.empty() && (at == within.end() || at->begin > sample.at)) return;
    const StackLabel& label = labels_.of(sample.stack->stack, side);
    const Phase phase = StackLabels::sample(label, sample.wait, sample.stack->gc).phase;
    running.extract += phase == Phase::kExtract;
    running.transform += phase == Phase::kTransform;
    running.vague += phase == Phase::kTransform && !label.rule;
  });
  return running;
}

double NativeSplit::unpackingOf(const ThreadLife& thread, Side side) {
  const Natives natives = nativesOf(thread);
  if (natives.all < kEnoughNatives || natives.unpacking <= 0) return 0;
  const Running running = runningOf(thread, side, {});
  if (running.extract <= 0) return 0;
  const double transforming = running.transform - running.vague;
  return std::clamp(
      (natives.unpacking / natives.all * running.all - transforming) / running.extract, 0.0, 1.0);
}

NativeSplit::Natives NativeSplit::nativesOf(const ThreadLife& thread) {
  Natives natives;
  eachNative(thread, {begin_, end_}, [&](const NativeSlice& native) {
    const NativeClass is = classes_.of(native);
    natives.all += native.samples;
    if (is == NativeClass::kCompression) natives.unpacking += native.samples;
    if (is != NativeClass::kKernel) return;
    const NativeWork work = kernelWork(trace_.text(native.function));
    if (work.is == NativeWork::Is::kOpen) natives.opening += native.samples;
    if (work.is == NativeWork::Is::kRead) natives.reading += native.samples;
  });
  return natives;
}

double NativeSplit::readingOf(const ThreadLife& thread, const Intervals& making) {
  const Natives natives = nativesOf(thread);
  const double calls = natives.opening + natives.reading;
  if (natives.all < kEnoughNatives || calls < kSomeCalls) return 0;
  const Running running = runningOf(thread, Side::kProducer, making);
  if (running.transform <= 0) return 0;
  return std::clamp((calls / natives.all * running.all - running.extract) / running.transform, 0.0,
                    1.0);
}

bool NativeSplit::unpacks(ThreadId thread, Side side, const Sample& sample) {
  if (sample.wait != Wait::kRunning) return false;
  const auto [at, isNew] = unpacking_.try_emplace(thread);
  if (isNew) at->second.share = unpackingOf(trace_.thread(thread), side);
  return at->second.take(sample);
}

bool NativeSplit::reads(ThreadId thread, const Intervals& making, const Sample& sample) {
  if (sample.wait != Wait::kRunning) return false;
  const auto [at, isNew] = reading_.try_emplace(thread);
  if (isNew) at->second.share = readingOf(trace_.thread(thread), making);
  return at->second.take(sample);
}

SampleLabel NativeSplit::label(ThreadId thread, const StackLabel& stack, Side side,
                               const Sample& sample) {
  const SampleLabel what = StackLabels::sample(stack, sample.wait, sample.stack->gc);
  if (what.phase != Phase::kExtract || !unpacks(thread, side, sample)) return what;
  return {Phase::kTransform, OverheadKind::kNone, kUnpacking};
}

SampleLabel NativeSplit::split(ThreadId thread, const Intervals& making, const Sample& sample,
                               const SampleLabel& what) {
  if (what.phase != Phase::kTransform || what.rule == kUnpacking || !reads(thread, making, sample))
    return what;
  return {Phase::kExtract, OverheadKind::kNone, kReadCpuRule};
}

}  // namespace stallprof
