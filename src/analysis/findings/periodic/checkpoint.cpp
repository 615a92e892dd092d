// SPDX-License-Identifier: MIT
// periodic.checkpoint: the training waits while its state is written.
#include <algorithm>

#include "analysis/facts/source_lines.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"
#include "analysis/findings/torch_version.h"
#include "analysis/steps/timeline.h"

namespace stallprof {
namespace {

const AdviceDefinition kBackgroundCheckpoints{
    "background_checkpoints", {}, [](const AdviceContext& c) {
      const Has has = hasSince(c, kAsyncSaveSince);
      return "Save in the background" + atLine(c.finding.where) +
             ": copy the state to CPU memory, then write it from a thread" +
             (has == Has::kNo ? "."
                              : ", or call torch.distributed.checkpoint.async_save" +
                                    ifNewEnough(has, kAsyncSaveSince) + ".");
    }};

const AdviceDefinition kRarerCheckpoints{
    "rarer_checkpoints", {}, [](const AdviceContext& c) {
      return "Save half as often" + atLine(c.finding.where) +
             ": the saving time per step halves, but up to twice the work is lost in a crash.";
    }};

struct Saves {
  int count = 0;
  const PhaseSpan* longest = nullptr;
};

// Calls without an update between them, as of a model and its optimizer, are one save.
Saves savesIn(const Evidence& e) {
  Saves s;
  std::size_t step = 0, last = 0;
  Nanos ended{};
  for (const auto& span : e.trace.spans) {
    if (span.data.thread != e.trainer.thread || !isSave(e.trace, span.data)) continue;
    if (span.end() <= e.trainer.windowBegin || span.at >= e.trainer.windowEnd) continue;
    while (step < e.trainer.steps.size() && e.trainer.steps[step].begin <= span.at) ++step;
    // Of a long run not all steps are held: there, and without steps, what follows at once is one.
    const bool held = step > 0 && (step == e.trainer.steps.size() || e.trainer.follows(step));
    const bool apart = held ? step != last : seconds(span.at - ended) > e.perStep;
    if (s.count == 0 || apart) ++s.count;
    last = step;
    ended = span.end();
    if (!s.longest || span.data.duration > s.longest->duration) s.longest = &span.data;
  }
  return s;
}

// Only the checkpoint's part of the periodic time shrinks, and what samples found of it in steps.
PipelineSettings withCheckpoints(const Evidence& e, double share, double scale) {
  PipelineSettings s = e.gains.base();
  const double periodic = e.gains.demand().step.periodic + e.gains.workload().apartPeriodic;
  const double played = e.perStep > 0 ? periodic / e.perStep : 0;
  const double part = played > 0 ? std::min(1.0, std::min(share, e.checkpoint) / played) : 0;
  s.periodicScale = 1 - part * (1 - scale);
  const double own = e.gains.demand().step.own;
  const double inSteps = std::max(0.0, share - e.checkpoint) * e.perStep;
  if (own > 0) s.ownScale = 1 - std::min(0.9, inSteps / own) * (1 - scale);
  return s;
}

// Arithmetic where there is no model of the loader: saving holds up everything else. With one, too,
// it bounds the gain: of few saves a resampled window may hold more than there were.
Prediction savingRarely(const Evidence& e, double share, double likely, double minimum,
                        double maximum) {
  if (!e.gains.fits()) return withoutOverhead(e, share, likely, minimum, maximum);
  Prediction p =
      e.gains.predict(withCheckpoints(e, share, likely), withCheckpoints(e, share, minimum),
                      withCheckpoints(e, share, maximum));
  if (!p.speedup) return p;
  const Prediction limit = reducedTo(share, likely, minimum, maximum);
  p.speedup = std::clamp(*p.speedup, 1.0, *limit.speedup * (1 + kModelError));
  p.low = std::clamp(*p.low, 1.0, *p.speedup);
  p.high = std::clamp(*p.high, *p.speedup, *limit.high * (1 + kModelError));
  return p;
}

// The saves that the hook times, and what samples find beside them.
Maybe<Finding> checkpoint(const Evidence& e) {
  const Share sampled = shareOfOverhead(e, OverheadKind::kCheckpoint);
  const double beside = sampled.low > kNotable ? sampled.value : 0, share = e.checkpoint + beside;
  if (share <= kNotable) return {};
  const Saves saves = savesIn(e);
  Finding f = findingOf(e, share,
                        saves.count > 0 ? "Training is blocked while checkpoints are written"
                                        : "Training is blocked while files are written");
  addEvidence(f, "saving takes {} of the time", {ratioWord(share)});
  if (saves.count == 1) f.confidence = lowered(f.confidence);  // how often is not known
  if (saves.count > 0)
    addEvidence(f, "{} in {} steps, {} each",
                {countWord(saves.count, "save"),
                 countWord(static_cast<std::int64_t>(e.trainer.windowSteps())),
                 timeWord(e.checkpoint * e.window / saves.count)});
  if (saves.longest) f.where = lineAt(e.trace, saves.longest->file, saves.longest->line);
  if (beside > 0) {
    addEvidence(f, "of this, writing outside of known saves takes {}", {ratioWord(beside)});
    f.confidence = std::min(f.confidence, Confidence::kMedium);
    if (beside > e.checkpoint) pointAtOverhead(f, e, OverheadKind::kCheckpoint);
  }
  // A copy in memory remains: about a tenth of a write that reaches storage.
  return withAdvice(
      f, {adviceOf(kBackgroundCheckpoints, {"code", "checkpoint", "blocking", "background"},
                   assuming("a copy in memory takes a tenth of a save, at best a fiftieth",
                            withoutOverhead(e, share, 0.1, 0.3, 0.02)),
                   "a second copy of the weights in memory while it is written"),
          adviceOf(kRarerCheckpoints, {"code", "checkpoint_interval", "1", "2"},
                   savingRarely(e, share, 0.5, 0.55, 0.45),
                   "twice the work is lost when a run fails")});
}

}  // namespace

extern const FindingDefinition kCheckpoint(
    "periodic.checkpoint", checkpoint, offers(kBackgroundCheckpoints, kRarerCheckpoints),
    {.cause = R"(The training is blocked while its state, or another file, is written.)",
     .rule =
         R"(saving on the trainer's thread takes over 5 % of the window. This covers calls that the
  hook times, and samples that are blocked in writing, with the user's own function that writes.)",
     .fixes = R"(- Copy the state, and write it in the background.
- Save less often.
- Save to local storage, and copy from there.)",
     .wrong = R"(the window is short and contains one save by chance: check the count. Saves from
  another thread or process are not counted.)"});

}  // namespace stallprof
