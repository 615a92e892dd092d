// SPDX-License-Identifier: MIT
// compute.lock_wait: the step waits for a lock whose holder sleeps or waits itself.
#include <algorithm>
#include <utility>

#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

const AdviceDefinition kLockShorter{
    "lock_shorter", {}, [](const AdviceContext& c) {
      return "Take the lock that is waited for" + atLine(c.finding.where) +
             " only to read or change what it protects: sleep, send, and read files outside of it. "
             "If an answer is waited for there, ask for it a step ahead. `stallprof export -f "
             "folded` has what the other threads do meanwhile.";
    }};

Maybe<Finding> lockWait(const Evidence& e) {
  const LockWait wait = waitForLock(e);
  const double waited = std::min(wait.blocked.value, e.trainerBlocked) - wait.workBeside;
  if (wait.low() <= kNotable || waited <= kNotable) return {};
  Finding f =
      overheadFinding(e, waited, "The step waits for a lock or an answer, and nobody works");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "the training thread is blocked in a line of the program's own {} of the time",
              {ratioWord(wait.blocked.value)});
  addIntervalEvidence(f, wait.blocked, e.trainer.stacks.trainer.samples);
  addEvidence(f, "other threads of its process work at most {} of the time",
              {ratioWord(wait.workBeside)});
  if (const auto line = hottest(e, kBlockedInOwnLines)) {
    point(f, *line);
    addEvidence(f, "most of it is in {}", {textWord(nameOf(*line))});
  }
  // All of it may be more than the samples say, up to all time blocked, which the kernel knows.
  Prediction gain = withoutHalf(e, waited);
  if (const double maximum = std::min(wait.blocked.high, e.trainerBlocked); maximum > waited)
    gain.high = withoutHalf(e, maximum).high;
  return withAdvice(f, {adviceOf(kLockShorter, {"code", "lock", "held for long", "held shortly"},
                                 std::move(gain))});
}

}  // namespace

extern const FindingDefinition kLockWait(
    "compute.lock_wait", lockWait, offers(kLockShorter), within(),
    {.cause =
         R"(The training thread waits in a line of the program's own code, for a lock that another
  thread or process holds (a replay buffer, a statistics object) or for another thread's answer.
  Who is waited for does not compute: it sleeps, sends, reads, or waits itself.)",
     .rule =
         R"(by samples, the training thread is blocked in a futex, in code of the user's own that
  rules do not know, without a wait for the GIL. That is over 5 % of the window (at the low end of
  a 90 % interval), less all CPU time of the other threads of the process. No device is in use.)",
     .fixes = R"(- The lock held only while what it protects is read or changed.
- A queue, or a copy, in place of the lock.
- An answer that is asked for a step ahead.)",
     .wrong = R"(the line starts work in another process and waits for its result: examine that
  process then.)"});

}  // namespace stallprof
