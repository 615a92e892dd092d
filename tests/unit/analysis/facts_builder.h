// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/verdict/judge.h"
#include "tests/unit/analysis/found.h"

// Hand-made facts: a training of equal steps, written down as the numbers a reader can check.
// Milliseconds throughout. Every step computes `compute`, waits `wait` (blamed as given), and so
// on; the window is their sum, so shares are exact by construction.
namespace stallprof::test {

inline Nanos ms(double v) { return fromSeconds(v * 1e-3); }

struct Training {
  int steps = 220, warmup = 20;
  int workers = 2, prefetch = 2;
  bool inOrder = true, persistent = true;
  double cores = 8;
  // A step of the trainer, in ms.
  double compute = 10, load = 0, periodic = 0, other = 0, starved = 0;
  double trainerCpu = -1;  // below 0: all of compute + load
  double waitExtract = 0, waitTransform = 0, waitLoad = 0, waitUnknown = 0;
  int ready = 0;
  // A batch of its producer, in ms.
  double batchCpu = 10, batchIo = 0, batchBlocked = 0, pool = 1;
  std::vector<double> batchScale = {1};  // cycles: the shape of the batch times
  std::int64_t batchBytes = 4'000'000;
  int threads = 1;
  int stepsPerEpoch = 0;  // 0: one epoch, begun before the window
  double startup = 0;     // an epoch, ms; inside the wait of its first step
  int saveEvery = 0;      // torch.save spans of `saveMs`, inside `periodic`
  double saveMs = 0;

  [[nodiscard]] double wait() const { return waitExtract + waitTransform + waitLoad + waitUnknown; }
  [[nodiscard]] double step() const { return compute + load + periodic + other + wait(); }
};

struct Facts {
  Trace trace;
  TrainerFacts trainer;
  RunFacts run;
  [[nodiscard]] Judgement judge() const { return stallprof::judge(trace, trainer, run); }
  Facts& with(const char* framework, const char* version, std::uint32_t process = 1) {
    FrameworkSeen seen;
    seen.process = ProcessId{process};
    seen.name = trace.strings.intern(framework);
    seen.version = trace.strings.intern(version);
    trace.frameworks.push_back({Nanos{}, seen});
    return *this;
  }
};

inline void addLoader(Facts& f, const Training& t) {
  LoaderSeen loader;
  loader.process = ProcessId{1};
  loader.loader = 1;
  loader.kind = f.trace.strings.intern("torch.DataLoader");
  loader.workers = t.workers;
  loader.prefetch = t.workers > 0 ? t.prefetch : -1;
  loader.batchSize = 32;
  loader.inOrder = t.inOrder;
  loader.persistent = t.persistent;
  loader.file = f.trace.strings.intern("train.py");
  loader.line = 88;
  f.trace.loaders.push_back({Nanos{}, loader});
  f.trainer.loader = 0;
}

inline Step stepAt(const Training& t, Nanos at, int index) {
  Step s;
  s.begin = at;
  const bool first = t.stepsPerEpoch > 0 && index % t.stepsPerEpoch == 0;
  const Nanos startup = first ? ms(t.startup) : Nanos{};
  s.split.compute = ms(t.compute);
  s.split.load = ms(t.load);
  s.split.other = ms(t.other);
  s.split.periodic = ms(t.periodic);
  s.split.wait = ms(t.wait()) + startup;
  s.blame = {ms(t.waitExtract), ms(t.waitTransform), ms(t.waitLoad), startup, ms(t.waitUnknown)};
  s.starved = ms(t.starved);
  s.end = at + s.split.total();
  s.batch = index;
  s.number = static_cast<std::uint32_t>(index);
  s.ready = t.ready;
  return s;
}

inline BatchWork workAt(const Training& t, const Step& step, int index) {
  const double scale = t.batchScale[static_cast<std::size_t>(index) % t.batchScale.size()];
  BatchWork w;
  w.batch = index;
  w.step = step.number;
  w.worker = t.workers > 0 ? index % t.workers : -1;
  w.threadCpu = ms(t.batchCpu * scale);
  w.cpu = ms(t.batchCpu * t.pool * scale);
  w.extract = ms(t.batchIo * scale);
  w.blocked = ms(t.batchBlocked * scale);
  w.begin = step.begin;
  w.end = w.begin + w.threadCpu + w.extract + w.blocked;
  w.bytes = t.batchBytes;
  return w;
}

inline void addSave(Facts& f, const Training& t, const Step& step) {
  PhaseSpan span;
  span.thread = ThreadId{1};
  span.phase = Phase::kPeriodic;
  span.duration = ms(t.saveMs);
  span.name = f.trace.strings.intern("torch.save");
  span.file = f.trace.strings.intern("train.py");
  span.line = 163;
  f.trace.spans.push_back({step.end - ms(t.saveMs), span});
}

inline void addEpochs(Facts& f, const Training& t) {
  const int length = t.stepsPerEpoch > 0 ? t.stepsPerEpoch : t.steps;
  for (int first = 0; first < t.steps; first += length) {
    Epoch p;
    p.epoch = static_cast<std::uint32_t>(first / length + 1);
    p.begin = f.trainer.steps[static_cast<std::size_t>(first)].begin;
    const int last = std::min(t.steps, first + length) - 1;
    p.end = f.trainer.steps[static_cast<std::size_t>(last)].end;
    p.steps = static_cast<std::uint64_t>(last - first + 1);
    for (int i = first; i <= last; ++i)
      f.trainer.steps[static_cast<std::size_t>(i)].epoch = p.epoch;
    f.trainer.epochs.push_back(p);
  }
}

inline void addWindow(Facts& f, const Training& t) {
  TrainerFacts& facts = f.trainer;
  facts.warmup = static_cast<std::size_t>(std::min(t.warmup, t.steps));
  if (facts.steps.empty()) return;
  facts.windowBegin =
      facts.warmup < facts.steps.size() ? facts.steps[facts.warmup].begin : facts.steps.back().end;
  facts.windowEnd = facts.steps.back().end;
  for (std::size_t i = facts.warmup; i < facts.steps.size(); ++i) {
    facts.split += facts.steps[i].split;
    facts.blame += facts.steps[i].blame;
    facts.starved += facts.steps[i].starved;
  }
  const double own = t.trainerCpu >= 0 ? t.trainerCpu : t.compute + t.load - t.starved;
  const double fetch = t.workers == 0 ? t.batchCpu * t.pool : 0;
  facts.cpu = ms(own * static_cast<double>(facts.windowSteps()));
  facts.processCpu = ms((own + fetch) * static_cast<double>(facts.windowSteps()));
}

inline Facts factsOf(const Training& t) {
  Facts f;
  f.run.cores = t.cores;
  f.run.externalCpuRatio = 0.0;
  f.trace.manifest.host.coresOnline = static_cast<std::int32_t>(t.cores);
  f.trainer.process = ProcessId{1};
  f.trainer.thread = ThreadId{1};
  f.trainer.source = StepSource::kHook;
  addLoader(f, t);
  Nanos at = ms(1000);
  for (int i = 0; i < t.steps; ++i) {
    f.trainer.steps.push_back(stepAt(t, at, i));
    f.trainer.works.push_back(workAt(t, f.trainer.steps.back(), i));
    at = f.trainer.steps.back().end;
    if (t.saveEvery > 0 && i % t.saveEvery == t.saveEvery - 1)
      addSave(f, t, f.trainer.steps.back());
  }
  for (int i = 0; i < t.workers; ++i) {
    WorkerFacts w;
    w.process = ProcessId{static_cast<std::uint32_t>(2 + i)};
    w.worker = i;
    w.threads = t.threads;
    w.lastResident = 300'000'000;
    w.peakPrivate = 100'000'000;
    f.trainer.workers.push_back(w);
  }
  addEpochs(f, t);
  addWindow(f, t);
  return f;
}

// Producer-bound with W workers: the step takes S / W.
inline Training starving(int workers, double cpu, double io, double compute) {
  Training t{.workers = workers, .compute = compute, .batchCpu = cpu, .batchIo = io};
  const double wait = (cpu + io) / workers - compute;
  t.waitTransform = wait * cpu / (cpu + io);
  t.waitExtract = wait * io / (cpu + io);
  return t;
}

// Two workers that are blocked on storage for 36 of 40 ms a batch: `scattered` of their reads went
// back in the file.
inline Facts reading(double bytesPerCall, Maybe<double> scattered = 0.5) {
  Facts f = factsOf(starving(2, 4, 36, 5));
  f.run.bytesPerReadCall = bytesPerCall;
  f.run.scatteredReadRatio = scattered;
  f.run.readBytesPerSecond = 90e6;
  f.run.peakReadBytesPerSecond = 100e6;
  f.run.diskBusyRatio = 0.8;
  return f;
}

inline const Finding* find(const Judgement& j, std::string_view id) {
  for (const Finding& f : j.findings)
    if (f.id == id) return &f;
  return nullptr;
}
inline bool fires(const Training& t, std::string_view id) {
  return find(factsOf(t).judge(), id) != nullptr;
}
// Null also where the finding did not fire.
inline const Advice* adviceIn(const Judgement& j, std::string_view finding, std::string_view id) {
  const Finding* f = find(j, finding);
  return f ? adviceIn(*f, id) : nullptr;
}
inline double bestSpeedup(const Finding& f) {
  double best = 0;
  for (const Advice& a : f.advice) best = std::max(best, a.predicted.speedup.value_or(0));
  return best;
}

}  // namespace stallprof::test
