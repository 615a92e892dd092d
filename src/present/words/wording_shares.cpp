// SPDX-License-Identifier: MIT
#include "base/units.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

void add(std::vector<ShareRow>& shares, const char* name, char glyph, double ratio,
         const char* note, bool always = false) {
  if (always || ratio > 0) shares.push_back({name, glyph, ratio, note});
}

}  // namespace

std::vector<ShareRow> trainerShares(const Breakdown& b) {
  std::vector<ShareRow> shares;
  if (!b.ratio) return shares;
  add(shares, "compute", '#', b.ratio->compute, "", true);
  add(shares, "waiting for data", '.', b.ratio->dataWait, "", true);
  add(shares, "load", '=', b.ratio->load, "");
  add(shares, "sync", '~', b.ratio->sync, "");
  add(shares, "comm", '+', b.ratio->comm, "");
  add(shares, "periodic", '-', b.ratio->periodic, "");
  add(shares, "other", '?', b.ratio->other, "", true);
  return shares;
}

std::vector<ShareRow> phaseShares(const Breakdown& b) {
  std::vector<ShareRow> shares;
  if (!b.phase) return shares;
  const Breakdown::PhaseRatio& p = *b.phase;
  add(shares, "extract", '#', p.extract, "open, read and receive samples", true);
  add(shares, "transform", '#', p.transform, "decode, augment, collate", true);
  add(shares, "load", '#', p.load, "hand ready batches to compute", true);
  add(shares, "compute", '#', p.compute, "forward, backward, optimizer", true);
  add(shares, "sync", '#', p.sync, "wait for the device");
  add(shares, "comm", '#', p.comm, "wait for other ranks");
  add(shares, "periodic", '#', p.periodic, "checkpoint, evaluation, logging");
  add(shares, "other", '#', p.other, "trainer time matched by no rule", true);
  add(shares, "unknown", '#', p.unknown, "waiting with unknown cause", true);
  return shares;
}

std::vector<double> ratiosOf(const std::vector<ShareRow>& shares) {
  std::vector<double> ratios;
  for (const ShareRow& s : shares) ratios.push_back(s.ratio);
  return ratios;
}

TrainerTexts trainerTexts(const Breakdown& b) {
  const std::vector<std::string> texts = percentTexts(ratiosOf(trainerShares(b)));
  return texts.size() < 2 ? TrainerTexts{} : TrainerTexts{texts[0], texts[1], texts.back()};
}

std::vector<std::string> blameParts(const Breakdown& b) {
  if (!b.ratio || !b.blame || b.ratio->dataWait < 0.005) return {};
  constexpr const char* kNames[] = {"extract", "transform", "load", "worker start-up", "unknown"};
  const double all[] = {b.blame->extract, b.blame->transform, b.blame->load, b.blame->startup,
                        b.blame->unknown};
  const int whole = apportioned(ratiosOf(trainerShares(b)), 100).at(1);
  const std::vector<std::string> texts = percentTextsOf(whole, all);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (all[i] >= 0.0005) parts.push_back(kNames[i] + (" " + texts[i]));
  if (parts.empty()) return {};
  parts[0] = trainerTexts(b).wait + " waiting for data, blamed on " + parts[0];
  if (b.hiddenWaitRatio.value_or(0) >= 0.005)
    parts.push_back(percentText(*b.hiddenWaitRatio) + " more hidden behind device work");
  return parts;
}

}  // namespace stallprof
