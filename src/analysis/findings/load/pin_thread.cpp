// SPDX-License-Identifier: MIT
// load.pin_thread: one thread pins every batch, and is a whole core busy.
#include <algorithm>

#include "analysis/blame/blame.h"
#include "analysis/findings/device_rules.h"
#include "analysis/findings/fixes.h"

namespace stallprof {
namespace {

constexpr double kPinThreadBusy = 0.90;  // of a core

// Of a core, by the busiest thread that pins batches for this trainer.
double pinThreadBusy(const Evidence& e) {
  double busiest = 0;
  for (const ThreadId id : e.trace.process(e.trainer.process).threads) {
    const ThreadLife& thread = e.trace.thread(id);
    if (!pinsBatches(e.trace, thread) || e.window <= 0) continue;
    const Observed seen = observe(thread, e.trainer.windowInterval());
    busiest = std::max(busiest, seconds(seen.run) / e.window);
  }
  return busiest;
}

Maybe<Finding> pinThread(const Evidence& e) {
  const double busy = pinThreadBusy(e);
  if (busy < kPinThreadBusy || e.steadyWait() <= kNotable) return {};
  Finding f = deviceFinding(e, e.steadyWait(), "The thread that pins batches uses a whole core");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "it runs {} of the time", {ratioWord(busy)});
  addEvidence(f, "meanwhile the training thread waits {} of the time", {ratioWord(e.steadyWait())});
  if (const double bytes = e.gains.workload().batchBytes; bytes > 0)
    addEvidence(f, "{} per batch", {bytesWord(bytes)});
  // The model has no stage for it: a quarter of the bytes leaves a quarter of its time, and the
  // wait ends where something else becomes the limit.
  constexpr double kMinLeft = 0.25;
  const auto speedup = [&](double part) {
    return 1 / std::max(kMinLeft, 1 - part * std::min(1.0, e.steadyWait()));
  };
  return withAdvice(f, {copyFewerBytes(assuming("half of the waiting is removed, at most all of it",
                                                {speedup(0.5), speedup(0), speedup(1)}))});
}

}  // namespace

extern const FindingDefinition kPinThread(
    "load.pin_thread", pinThread, offers(kCopyFewerBytes),
    {.cause = R"(One thread copies every batch into pinned memory, and uses a whole core for it.)",
     .rule =
         R"(the loader's pin thread runs for over 90 % of the window while the training thread waits
  for data for over 5 %.)",
     .fixes = R"(- Smaller dtype.
- Pin batches where they are made, or do not pin them.)",
     .wrong = R"(the thread spins instead of copying, or its process holds the GIL elsewhere. The
  thread is identified by the name that PyTorch 2 gives it.)"});

}  // namespace stallprof
