// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

struct Saves {
  int count = 0;
  const PhaseSpan* longest = nullptr;
};

Saves savesIn(const Evidence& e) {
  Saves s;
  for (const auto& span : e.trace.spans) {
    if (span.data.phase != Phase::kPeriodic || span.data.thread != e.trainer.thread) continue;
    if (span.end() <= e.trainer.windowBegin || span.at >= e.trainer.windowEnd) continue;
    ++s.count;
    if (!s.longest || span.data.duration > s.longest->duration) s.longest = &span.data;
  }
  return s;
}

// Only the checkpoint's part of the periodic time shrinks.
PipelineSettings withCheckpoints(const Evidence& e, double scale) {
  PipelineSettings s = e.gains.base();
  const double part = e.periodic > 0 ? std::min(1.0, e.checkpoint / e.periodic) : 0;
  s.periodicScale = 1 - part * (1 - scale);
  return s;
}

// Arithmetic where there is no model of the loader: saving holds up everything else.
Prediction predicted(const Evidence& e, double likely, double least, double most) {
  if (e.gains.fits())
    return e.gains.predict(withCheckpoints(e, likely), withCheckpoints(e, least),
                           withCheckpoints(e, most));
  const auto speedup = [&](double scale) { return 1 / (1 - e.checkpoint * (1 - scale)); };
  return {speedup(likely), speedup(least), speedup(most)};
}

}  // namespace

Maybe<Finding> checkpoint(const Evidence& e) {
  if (e.checkpoint <= kNotable) return {};
  Finding f = findingOf(e, "periodic.checkpoint", Phase::kPeriodic, e.checkpoint,
                        "Training stands still while checkpoints are written");
  const Saves saves = savesIn(e);
  tell(f, "saving takes " + percent(e.checkpoint) + " of the time", e.checkpoint, "ratio");
  tell(f,
       std::to_string(saves.count) + " saves in " + std::to_string(e.trainer.windowSteps()) +
           " steps, " + duration(e.checkpoint * e.window / std::max(1, saves.count)) + " each",
       saves.count, "count");
  if (saves.longest) {
    f.where.file = Untrusted(std::string(e.trace.text(saves.longest->file)));
    f.where.line = saves.longest->line;
  }
  // A copy in memory remains: about a tenth of a write that reaches storage.
  offer(f, adviceOf("background_checkpoints", {"code", "checkpoint", "blocking", "background"},
                    predicted(e, 0.1, 0.3, 0.02),
                    "a second copy of the weights in memory while it is written"));
  offer(f, adviceOf("rarer_checkpoints", {"code", "checkpoint_interval", "1", "2"},
                    predicted(e, 0.5, 0.55, 0.45), "twice the work is lost when a run dies"));
  return f;
}

}  // namespace stallprof
