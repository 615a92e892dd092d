// SPDX-License-Identifier: MIT
// compute.lock_contention: the threads of a program without an interpreter pass a lock around.
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "analysis/facts/stack_facts.h"
#include "analysis/findings/build.h"

namespace stallprof {
namespace {

// Of the process's CPU samples: locks, and the kernel's part of them.
constexpr double kMuchLocking = 0.15;
// In the functions of locks: else futex() is for other waits.
constexpr double kSomeLocking = 0.02;

const AdviceDefinition kLockLess{
    "lock_less",
    "Let each thread work on data of its own and combine the results once a step (OpenMP: "
    "reduction), or take the lock once for many samples instead of once for each."};
const AdviceDefinition kWithOneThread{"with_one_thread", {}, [](const AdviceContext& c) {
                                        return "Try OMP_NUM_THREADS=1 instead of " +
                                               c.advice.change.from +
                                               ": one thread takes the lock without a wait.";
                                      }};

// OpenMP's, by the environment or by those that spin; 0: it is not used.
int openMpThreads(const Evidence& e) {
  if (e.run.pool->openMp <= 0) return 0;
  const std::string_view set = e.trace.manifest.variable("OMP_NUM_THREADS");
  int threads = 0;
  if (std::from_chars(set.data(), set.data() + set.size(), threads).ec == std::errc())
    return threads;
  return e.run.pool->threads;
}

Maybe<Finding> lockContention(const Evidence& e) {
  const Maybe<PoolUse>& pool = e.run.pool;
  if (!pool || e.window <= 0) return {};
  SampleSum all;
  all.samples = all.squares = pool->samples;
  const double some = kSomeLocking * pool->samples;
  const double locking = pool->locks + pool->futex + (pool->openMpLocks > some ? pool->spins : 0);
  const Share share = shareOf(locking, all);
  if (pool->locks <= some || share.low <= kMuchLocking) return {};
  const double cpu = seconds(e.trainer.processCpu) / e.window;  // cores
  Finding f = findingOf(e, share.value * std::min(1.0, cpu), "Threads wait for each other's lock");
  f.confidence = e.quietHost() ? Confidence::kMedium : Confidence::kLow;
  addEvidence(f, "{} of the CPU samples of the training process acquire or release a lock",
              {ratioWord(share.value)});
  if (const double kernel = pool->futex / locking; kernel > kNotable)
    addEvidence(f, "{} of them in the kernel, to sleep or to wake the next thread",
                {ratioWord(kernel)});
  addEvidence(f, "the training process keeps {} busy", {numberWord(cpu, "core")});
  Maybe<Advice> one;
  if (const int threads = openMpThreads(e); threads > 1)
    one = adviceOf(kWithOneThread, {"env", "OMP_NUM_THREADS", std::to_string(threads), "1"}, {},
                   "what needs no lock is computed on one core, too");
  return withAdvice(
      f, {adviceOf(kLockLess, {"code", "lock", "for each sample", "once a step"}, {}), one});
}

}  // namespace

extern const FindingDefinition kLockContention(
    "compute.lock_contention", lockContention, offers(kLockLess, kWithOneThread),
    {.cause =
         R"(Threads of the training process take one lock (a mutex, a critical section) so often that
  passing it on takes much of their CPU time. Meanwhile one of them works.)",
     .rule =
         R"(of a program without an interpreter: over 15 % of the process's CPU samples are in
  functions of locks and in the kernel's futex(), at the low end of a 90 % interval, and over 2 %
  in the functions of locks alone. Of critical sections of OpenMP its spin loops count, too.)",
     .fixes = R"(- Data of each thread's own, combined once a step.
- The lock taken once for many samples, or atomic operations.
- Fewer threads: with one no thread waits.)",
     .wrong = R"(threads that hand each other very small pieces of work through a queue show the
  same. Larger pieces are then the fix.)"});

}  // namespace stallprof
