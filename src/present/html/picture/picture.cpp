// SPDX-License-Identifier: MIT
#include "present/html/picture/picture.h"

#include <algorithm>
#include <map>

namespace stallprof {
namespace {

constexpr std::size_t kMaxFiles = 20;

// The step whose length is the median of those that steps.time_ns is of, and the longest of all.
std::pair<std::size_t, std::size_t> medianAndWorst(const TrainerFacts& trainer) {
  const auto length = [&](std::size_t i) {
    return std::pair(trainer.steps[i].end - trainer.steps[i].begin, i);
  };
  const auto shorter = [&](std::size_t a, std::size_t b) { return length(a) < length(b); };
  std::vector<std::size_t> plain = plainSteps(trainer);
  std::sort(plain.begin(), plain.end(), shorter);
  std::size_t longest = trainer.warmup;
  for (std::size_t i = longest; i < trainer.steps.size(); ++i)
    if (shorter(longest, i)) longest = i;
  return {trainer.typicalOf(plain), longest};
}

}  // namespace

std::string_view nameOf(Hue hue) {
  constexpr std::string_view kNames[] = {"compute", "wait",   "load",     "extract", "transform",
                                         "sync",    "comm",   "periodic", "other",   "unknown",
                                         "first",   "second", "third"};
  return kNames[static_cast<std::size_t>(hue)];
}

Hue hueOf(Phase phase) {
  switch (phase) {
    case Phase::kExtract:
      return Hue::kExtract;
    case Phase::kTransform:
      return Hue::kTransform;
    case Phase::kLoad:
      return Hue::kLoad;
    case Phase::kCompute:
      return Hue::kCompute;
    case Phase::kSync:
      return Hue::kSync;
    case Phase::kComm:
      return Hue::kComm;
    case Phase::kPeriodic:
      return Hue::kPeriodic;
    case Phase::kOther:
      return Hue::kOther;
    case Phase::kUnknown:
      break;
  }
  return Hue::kUnknown;
}

void drawFiles(const Trace& trace, Picture& picture) {
  std::map<StringId, FileRow> byPath;
  for (const auto& row : trace.files) {
    const FileSeen& seen = row.data;
    if (seen.path.none()) continue;
    FileRow& file = byPath[seen.path];
    file.waits += seen.waits;
    file.size = std::max(file.size, seen.size);
    if (file.mount.empty()) {
      file.mount = trace.text(seen.mount);
      file.type = trace.text(seen.fsType);
    }
  }
  for (auto& [id, file] : byPath) {
    if (file.waits == 0) continue;
    file.path = trace.text(id);
    picture.files.push_back(std::move(file));
  }
  std::sort(picture.files.begin(), picture.files.end(), [](const FileRow& a, const FileRow& b) {
    return a.waits != b.waits ? a.waits > b.waits : a.path < b.path;
  });
  if (picture.files.size() <= kMaxFiles) return;
  picture.moreFiles = picture.files.size() - kMaxFiles;
  picture.files.resize(kMaxFiles);
}

Picture draw(const Trace& trace, const Analyzed& analyzed, const RuleTable& rules) {
  Picture picture;
  const TrainerFacts& trainer = analyzed.trainer;
  const Maybe<StepTimes>& times = analyzed.analysis.steps.time;
  picture.strip = drawStrip(trainer, times ? Maybe<Nanos>(times->p50) : std::nullopt);
  if (trainer.windowSteps() > 0) {
    const auto [median, worst] = medianAndWorst(trainer);
    picture.median = drawStep(trace, trainer, median);
    picture.worst = drawStep(trace, trainer, worst);
  }
  drawPanels(trace, analyzed, picture);
  drawFiles(trace, picture);
  picture.flames = drawFlames(trace, analyzed, rules);
  return picture;
}

}  // namespace stallprof
