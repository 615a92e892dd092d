// SPDX-License-Identifier: MIT
// compute.oversubscribed: the step's own thread pool is wider than the cores it may use.
#include <algorithm>
#include <cmath>

#include "analysis/facts/stack_facts.h"
#include "analysis/findings/framework.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

// The CPU that batches take, over time.
double workersCores(const Evidence& e) {
  return e.workers() > 0 && e.perStep > 0 ? e.gains.demand().batchCpu / e.perStep : 0;
}
// That others keep busy; less than half a one is not worth a thread.
double othersCores(const Evidence& e) {
  const double cores = e.external * e.run.cores;
  return cores < 0.5 ? 0 : cores;
}
// What others leave to the job, its ranks to each other, and its workers to the step.
double coresForPools(const Evidence& e) {
  return std::max(1.0, (e.run.cores - othersCores(e)) / e.ranks - workersCores(e));
}
int threadsThatFit(const Evidence& e) { return static_cast<int>(std::floor(coresForPools(e))); }

bool stopped(const Evidence& e) { return e.run.throttledRatio.value_or(0) > kNotable; }

// The most of the window that as many threads as fit save, of spin loops that are `spins` of the
// process's CPU: what the trainer's own thread loses now, spinning and queued, less the work of
// threads that are no more, which those that stay must do.
double maxSaved(const Evidence& e, double spins) {
  const PoolUse& pool = *e.run.pool;
  const double lost = pool.leaderSpins * seconds(e.trainer.cpu) / e.window + e.starved;
  const double cpu = seconds(e.trainer.processCpu) / e.window;  // cores
  const double fit = threadsThatFit(e), gone = (pool.threads - fit) / (pool.threads - 1);
  const double moved = pool.samples > 0 ? pool.besideWorks / pool.samples * cpu * gone / fit : 0;
  // What it is queued for cores that its own spinning threads hold is no computing; under a limit
  // the same work takes the limit's time.
  const double queued = stopped(e) ? 0 : std::min(e.starved, e.compute);
  const double saved = std::min(queued + spins * (e.compute - queued), lost - moved);
  // A limit that is used up stops the job whatever it does: what spins take of it is time.
  const double ofLimit = stopped(e) && coresFull(e) ? spins * std::min(1.0, cpu / e.run.cores) : 0;
  return std::max(saved, ofLimit);
}

// A parameter of boosted trees overrides the environment, and whether it is given is not seen.
// LightGBM: num_threads (aliases nthread, n_jobs); XGBoost: nthread, n_jobs in its sklearn classes.
std::string unlessAParameter(const AdviceContext& c) {
  const std::string name = c.analysis.run.framework.value_or("");
  const bool lightgbm = name.starts_with("lightgbm");
  if (!lightgbm && !name.starts_with("xgboost")) return "";
  const std::string parameter = lightgbm ? "num_threads" : "nthread";
  return " If the program gives " + parameter + " or n_jobs to " +
         (lightgbm ? "LightGBM" : "XGBoost") + ", set it there: it overrides the variable.";
}

std::string fewerThreadsText(const AdviceContext& c) {
  const Advice::Change& change = c.advice.change;
  const std::string& to = change.to;
  constexpr const char* kWhy =
      ": more threads than cores only wait for each other, and use CPU time.";
  if (change.name == SettingChanged::kThreads)
    return "Call torch.set_num_threads() with " + to + " instead of " + change.from +
           atLine(c.finding.where) + kWhy + " The call overrides OMP_NUM_THREADS.";
  return "Set OMP_NUM_THREADS=" + to + " in the environment" +
         (mayBeTorch(frameworkOf(c))
              ? ", or call torch.set_num_threads(" + to + ") before the first step"
              : "") +
         kWhy + unlessAParameter(c);
}

const AdviceDefinition kFewerThreads{"fewer_threads", {}, fewerThreadsText};

// By the program's own call; null: another pool is the wide one, which the environment sets.
const ThreadsSet* threadsTooMany(const Evidence& e) {
  const Maybe<ThreadsSet>& set = e.run.threadsSet;
  return set && set->threads > threadsThatFit(e) ? &*set : nullptr;
}

// What of `saved` is likely left: it may be queued for the cores of others, too, which leave a
// thread that works all the time no more than the rest of them. Under a limit `saved` is of the
// limit's time already.
double likelyLeft(const Evidence& e, double saved) {
  const double others = stopped(e) ? 0 : othersCores(e), time = 1 - saved;
  const double core = others > 0 ? std::clamp(e.run.cores - others, 0.5, 1.0) : 1;
  return saved > 0 ? std::clamp((time / core - time) / saved, 0.0, 0.5) : 0;
}

// Half of it at least.
Advice fewerThreads(const Evidence& e, double saved) {
  const ThreadsSet* set = threadsTooMany(e);
  const std::string fit = std::to_string(threadsThatFit(e));
  Advice::Change change{"env", "OMP_NUM_THREADS", std::to_string(e.run.pool->threads), fit};
  if (set)
    change = {"code", std::string(SettingChanged::kThreads), std::to_string(set->threads), fit};
  return adviceOf(kFewerThreads, std::move(change),
                  assuming("the training thread then loses no time to its pool",
                           withoutOverhead(e, saved, likelyLeft(e, saved), 0.5, 0)),
                  "raise it again with a higher CPU limit or fewer ranks");
}

Maybe<Finding> oversubscribedStep(const Evidence& e) {
  const Maybe<PoolUse>& pool = e.run.pool;
  if (!pool || !(e.contended || stopped(e)) || e.compute <= kNotable) return {};
  if (pool->threads <= coresForPools(e)) return {};
  SampleSum all;
  all.samples = all.squares = pool->samples;
  const Share spins = shareOf(pool->spins, all);
  if (maxSaved(e, spins.low) <= kNotable) return {};
  const double saved = maxSaved(e, spins.value);
  Finding f = findingOf(e, saved, "The step has more threads than available cores");
  // By the trainer's own samples, whatever is known of a loader; others may hold the cores.
  f.confidence = e.quietHost() ? Confidence::kMedium : Confidence::kLow;
  if (const ThreadsSet* set = threadsTooMany(e)) f.where = set->where;
  addEvidence(f, "{} in the training process's pool", {countWord(pool->threads, "thread")});
  addEvidence(f, "spin loops take {} of its CPU", {ratioWord(spins.value)});
  addEvidence(f, "usable cores: {}", {numberWord(e.run.cores)});
  if (othersCores(e) > 0)
    addEvidence(f, "other programs keep {} of these cores busy", {numberWord(othersCores(e))});
  if (workersCores(e) > 0.1)
    addEvidence(f, "the workers keep {} of these cores busy", {numberWord(workersCores(e))});
  if (e.run.siblings > 0)
    addEvidence(f, "{} of the job share these cores",
                {countWord(static_cast<int>(e.run.siblings), "other recording")});
  return withAdvice(f, {fewerThreads(e, saved)});
}

}  // namespace

extern const FindingDefinition kOversubscribedStep(
    "compute.oversubscribed", oversubscribedStep, offers(kFewerThreads),
    within("host.cpu_throttled", "host.noisy_neighbour"),
    {.cause =
         R"(The training process uses more pool threads (OpenMP, BLAS) than available cores. Running
  threads spin while they wait for threads without a core, which uses up the quota. The pool is as
  large as the host, or as another limit. Libraries ignore a container's quota and other programs,
  and ranks and workers do not coordinate their pools.)",
     .rule =
         R"(the trainer's thread and the spinning threads next to it exceed the cores that ranks,
  workers and, from half a core on, other programs leave to the process. Also, cores are short
  (under a tenth idle, or the trainer without one for over 5 %), or the job is throttled for over
  5 %. As many threads as cores would save over 5 % of the window. The saving is the spin and
  run-queue time of the trainer's thread, less the sampled work of the removed threads; at most the
  CPU share of spin loops (low end of a 90 % interval). Of a used-up CPU limit: their share.)",
     .fixes =
         R"(- Set OMP_NUM_THREADS, or torch.set_num_threads(), to the number of usable cores.
- Raise the limit to the CPU demand of the threads.)",
     .wrong = R"(other programs use the cores only from time to time. It is an assumption that
  fewer threads lose no useful work.)"});

}  // namespace stallprof
