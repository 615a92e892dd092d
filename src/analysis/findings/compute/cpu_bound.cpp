// SPDX-License-Identifier: MIT
// compute.cpu_bound: the healthy answer where no device is known to be busy.
#include <algorithm>

#include "analysis/facts/source_lines.h"
#include "analysis/findings/build.h"
#include "analysis/findings/framework.h"
#include "analysis/findings/hot.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/torch_version.h"

namespace stallprof {
namespace {

constexpr double kLittleWait = 0.05;
constexpr double kBlocked = kMaxUnexplained;
constexpr double kIdle = 0.8, kOneThread = 1.2;  // cores

std::string fasterComputeText(const AdviceContext& c) {
  const Maybe<NoVerdict>& withheld = c.analysis.verdict.withheld;
  if (withheld && withheld->why == NoVerdict::Why::kFewSamples && withheld->value > 0)
    return "Record a longer run, or with a larger --budget: these samples do not show whether the "
           "step makes data itself.";
  if (!c.advice.change.to.empty())
    return "There is no wait to remove. The time is the thread's own work" +
           std::string(c.analysis.functions.empty() ? "" : ", in the functions of this report") +
           ". A faster device, lower precision" + alsoCompile(c) +
           " or a smaller model can help. If that work makes data, let a thread or a process make "
           "it ahead of time.";
  if (c.analysis.run.loaders.empty())
    return "First check whether the step waits for data that it makes itself, or for a lock that "
           "another thread holds: no loader was detected, so such a wait is inside the step. "
           "`stallprof export -f folded` has what the other threads do meanwhile.";
  return "Do not change the loader: no change to it is predicted to gain 5 %. Improve the step "
         "itself: a faster device, lower precision" +
         alsoCompile(c) + ", or a smaller model.";
}

const AdviceDefinition kFasterCompute{"faster_compute", {}, fasterComputeText};

const AdviceDefinition kMoreThreads{
    "more_threads", {}, [](const AdviceContext& c) {
      const Advice::Change& change = c.advice.change;
      const bool called = change.name == SettingChanged::kThreads;
      return (called ? "Try torch.set_num_threads(" + change.to + ")" + atLine(c.finding.where) +
                           ": it is 1 there"
                     : "Try OMP_NUM_THREADS=" + change.to +
                           (mayBeTorch(frameworkOf(c)) ? ", or torch.set_num_threads()" : "") +
                           ": the environment has 1") +
             ", and cores are idle while the step computes. The gain depends on the size of its "
             "operators.";
    }};

// The program, or else the environment, wants the step computed on one thread.
bool wantsOneThread(const Evidence& e) {
  return e.run.threadsSet ? e.run.threadsSet->threads == 1
                          : e.trace.manifest.variable("OMP_NUM_THREADS") == "1";
}

// Blocked beside data and periodic work: asleep, or waiting for what nothing names. A device's work
// is such a wait, and other findings cover it.
double blockedBeside(const Evidence& e) {
  if (!e.trainerBlockedKnown || e.device.seen) return 0;
  return std::max(0.0, e.trainerBlocked - e.wait - e.periodic);
}

// A program without an interpreter takes a lock as it computes: threads would wait for each other.
bool takesLocks(const Evidence& e) {
  constexpr double kTakes = 0.01;  // of its CPU samples, with no other thread that wants it
  const Maybe<PoolUse>& pool = e.run.pool;
  return pool && pool->locks > kTakes * pool->samples;
}

Maybe<Advice> moreThreads(const Evidence& e) {
  const double idle = (1 - e.coresUsed) * e.run.cores / std::max(1, e.ranks);
  if (!wantsOneThread(e) || e.device.seen || idle < kIdle ||
      e.gains.workload().trainerCpuRatio > kOneThread || blockedBeside(e) > kBlocked ||
      takesLocks(e))
    return {};  // what waits for others does so with any number of threads
  const bool called = e.run.threadsSet.has_value();
  const int more = 1 + static_cast<int>(idle + 1 - kIdle);
  return adviceOf(
      kMoreThreads,
      {called ? "code" : "env", called ? std::string(SettingChanged::kThreads) : "OMP_NUM_THREADS",
       "1", std::to_string(more)},
      {}, "several ranks, or workers, need their own cores");
}

// This answer rests on the trainer's own time, not on the loader's model.
Confidence ownTimeConfidence(const Evidence& e) {
  if (e.trainer.native.seen)
    return e.shared > 0.05 || 2 * e.trainer.native.named > e.compute ? Confidence::kLow
                                                                     : Confidence::kMedium;
  Confidence c = Confidence::kHigh;
  if (e.trainer.windowSteps() < 100) c = lowered(c);
  if (e.shared > 0.05) c = lowered(c);
  if (e.compute + e.periodic < 0.8) c = lowered(c);
  if (e.loader && e.wait + e.ownLoad > kLittleWait) c = lowered(c);
  // Without a loader, making data and waiting for it are inside the step and counted as its work.
  if (!e.loader) c = e.trainerBlocked > kBlocked ? Confidence::kLow : lowered(c);
  if (blockedBeside(e) > kBlocked) c = Confidence::kLow;
  return c;
}

// The function in which it is: at a lock that another thread holds, or an answer that takes long.
void addBlockedPlace(Finding& f, const Evidence& e) {
  const double samples = e.trainer.stacks.trainer.samples;
  const Maybe<HotFunction> blocked =
      hottest(e, {Side::kTrainer, Phase::kCompute, {}, HotQuery::Of::kBlocked});
  if (!blocked || blockedBeside(e) <= kBlocked || blocked->samples <= kBlocked * samples) return;
  addEvidence(f, "it is blocked in {} {} of the time",
              {textWord(nameOf(*blocked)), ratioWord(blocked->samples / samples)});
}

void addBlockedEvidence(Finding& f, const Evidence& e) {
  // What the main thread of a program without an interpreter waited for is in its phases.
  if (e.trainer.native.seen && e.trainerBlocked > kLittleWait) return;
  if (e.loader)
    addEvidence(f, "waits for data {} of the time", {ratioWord(e.wait)});
  else if (e.trainerBlockedKnown && e.trainerBlocked <= kLittleWait)
    addEvidence(f, "no loader was detected; the thread was blocked {} of the time",
                {ratioWord(e.trainerBlocked)});
  else if (e.trainerBlockedKnown)
    addEvidence(f,
                "no loader was detected: the thread was blocked {} of the time, possibly waiting "
                "for data or a device",
                {ratioWord(e.trainerBlocked)});
  if (const double blocked = blockedBeside(e); e.loader && blocked > kBlocked)
    addEvidence(
        f, "in addition, the thread sleeps or waits for a lock or another process {} of the time",
        {ratioWord(blocked)});
}

// The line of a loop without a known loader that takes most of its time, where one does.
void addMainLine(Finding& f, const Evidence& e) {
  constexpr double kMainLine = 0.5;
  const std::vector<LoopLineSamples>& lines = e.trainer.stacks.lines;
  const auto longest = std::max_element(lines.begin(), lines.end(),
                                        [](const LoopLineSamples& a, const LoopLineSamples& b) {
                                          return a.samples.time < b.samples.time;
                                        });
  const double all = e.trainer.stacks.trainerTime;
  if (longest == lines.end() || all <= 0 || longest->samples.time < kMainLine * all) return;
  const SourceLine line = lineOf(e.trace, longest->frame);
  if (!f.where.known()) f.where = line;
  addEvidence(f, "{} of the time is at {}",
              {ratioWord(longest->samples.time / all), textWord(nameOf(line))});
}

Maybe<Finding> cpuBound(const Evidence& e) {
  if (e.device.bound()) return {};
  Finding f = findingOf(e, e.compute, "The training step itself limits the pace");
  f.confidence = ownTimeConfidence(e);
  if (e.perStep > 0)
    addEvidence(f, "computes {} of {} per step",
                {timeWord(e.compute * e.perStep), timeWord(e.perStep)}, ratioWord(e.compute));
  else
    addEvidence(f, "computes {} of the time", {ratioWord(e.compute)});
  if (const double named = e.trainer.native.named; named > kLittleWait)
    addEvidence(f, "{} of the time is data or compute only by function names or loops",
                {ratioWord(named)});
  addBlockedEvidence(f, e);
  addBlockedPlace(f, e);
  if (e.device.timeline)
    addEvidence(f, "the device is busy {} of the time", {ratioWord(e.device.busy)});
  if (e.trainer.processCpu > Nanos{}) {
    const bool steps = e.perStep > 0;
    addEvidence(f, "the training process keeps {} busy{}",
                {numberWord(steps ? e.gains.workload().trainerCpuRatio
                                  : seconds(e.trainer.processCpu) / e.window,
                            "core"),
                 textWord(steps ? " while it computes" : "")});
  }
  // Without a loader a blocked thread is to be checked first; one that works has no wait.
  const bool works = !e.loader && e.trainerBlockedKnown &&
                     (e.trainerBlocked <= kLittleWait || e.trainer.native.seen);
  Maybe<Advice> threads = moreThreads(e);
  if (threads && e.run.threadsSet) f.where = e.run.threadsSet->where;
  addMainLine(f, e);
  return withAdvice(
      f, {std::move(threads),
          adviceOf(kFasterCompute, {"code", "model", "", works ? "its own work" : ""}, {})});
}

}  // namespace

extern const FindingDefinition kCpuBound(
    "compute.cpu_bound", cpuBound, offers(kMoreThreads, kFasterCompute), kHealthyAnswer,
    {.cause =
         R"(The input pipeline is healthy: the step's own work limits the pace. No change to data loading,
  saving or the host is predicted to gain 5 %.)",
     .rule =
         R"(no finding has a fix worth 5 %, and steps were detected or most of the time is compute.)",
     .fixes = R"(- Do not change the loader.
- More threads, if OMP_NUM_THREADS=1 or torch.set_num_threads(1) is set and cores are idle.
- Make the step cheaper: lower precision, torch.compile, a smaller model, a device.)",
     .wrong = R"(a device was used and its timeline was not recorded (see coverage). Its work is
  then visible only as waiting of the trainer, and compute includes idle time of the device. A loop
  that reads its data without a loader counts as compute, too. In a program without an interpreter,
  own code that filters and mixes sound resembles training, except for names and OpenMP: confidence
  is then low.)"});

}  // namespace stallprof
