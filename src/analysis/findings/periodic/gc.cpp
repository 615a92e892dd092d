// SPDX-License-Identifier: MIT
// periodic.gc: Python's garbage collector stops the training.
#include <algorithm>

#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

constexpr double kGcNotable = 0.01;  // over ranks the stops add up

const AdviceDefinition kGcFreeze{
    "gc_freeze",
    "Call gc.collect() and gc.freeze() once before the loop, so that objects of the setup are not "
    "traversed again. With many ranks, call gc.disable(), and gc.collect() every N steps on all "
    "ranks at once."};

Maybe<Finding> garbageCollection(const Evidence& e) {
  Maybe<Finding> f = sampledOverhead(e, OverheadKind::kGc, kGcNotable,
                                     "Python's garbage collector stops the training",
                                     "garbage collection takes {} of the training thread's time");
  if (!f) return {};
  // Receiving a batch starts the collector: its time is in the row of the fetch. How much of it is
  // for objects of the setup is not known.
  if (2 * e.periodic < f->shareRatio && e.ownLoad > e.compute) {
    f->phase = Phase::kLoad;
    f->confidence = std::min(f->confidence, Confidence::kMedium);
  }
  // What is alive since setup is most of what a collection walks.
  return withAdvice(*f,
                    {adviceOf(kGcFreeze, {"code", "gc", "automatic", "frozen"},
                              assuming("a fifth of the collection time remains, at best a fiftieth",
                                       withoutOverhead(e, f->shareRatio, 0.2, 0.6, 0.02)),
                              "objects in cycles made before gc.freeze() are never freed")});
}

}  // namespace

extern const FindingDefinition kGarbageCollection(
    "periodic.gc", garbageCollection, offers(kGcFreeze),
    {.cause =
         R"(Python's garbage collector interrupts some steps. With several ranks these interruptions add
  up.)",
     .rule =
         R"(the garbage collector runs in over 1 % of the samples of the training thread (at the low
  end of a 90 % interval).)",
     .fixes = R"(- gc.freeze() after setup; collect every N steps on all ranks at once.)",
     .wrong = R"(memory grows if cycles are never collected.)"});

}  // namespace stallprof
