// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <utility>

#include "base/interval.h"
#include "classify/native_class.h"
#include "trace/trace.h"

namespace stallprof {

// The kernel's samples of one thread whose middle is in `window`, in order: visit(slice, middle).
// Slices of no sample are left out.
template <class Visit>
void eachTimedNative(const ThreadLife& thread, const Interval& window, Visit&& visit) {
  for (const Timed<NativeSlice>& row : thread.natives)
    if (const Nanos middle = row.at + row.data.duration / 2;
        row.data.samples > 0 && window.contains(middle))
      visit(row.data, middle);
}
template <class Visit>
void eachNative(const ThreadLife& thread, const Interval& window, Visit&& visit) {
  eachTimedNative(thread, window, [&](const NativeSlice& native, Nanos) { visit(native); });
}

// What class of code samples are in. A function is read once, however many samples it has.
class NativeClasses {
 public:
  explicit NativeClasses(const Trace& trace) : trace_(trace) {}
  [[nodiscard]] NativeClass of(const NativeSlice& native) {
    const auto [at, isNew] = known_.try_emplace({native.file, native.function});
    if (isNew)
      at->second =
          nativeClass(trace_.text(native.file), readableSymbol(trace_.text(native.function)));
    return at->second;
  }

 private:
  const Trace& trace_;
  std::map<std::pair<StringId, StringId>, NativeClass> known_;
};

// A thread's samples, and those in spin loops.
struct Spins {
  double samples = 0, spins = 0;
  [[nodiscard]] double works() const { return samples - spins; }
};
[[nodiscard]] inline Spins spinsIn(const ThreadLife& thread, const Interval& window,
                                   NativeClasses& classes) {
  Spins sum;
  eachNative(thread, window, [&](const NativeSlice& native) {
    sum.samples += native.samples;
    if (classes.of(native) == NativeClass::kSpin) sum.spins += native.samples;
  });
  return sum;
}

}  // namespace stallprof
