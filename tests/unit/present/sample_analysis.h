// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/facts/analysis.h"

// Analyses a reviewer can read, shared by the tests of every sink.
namespace stallprof::samples {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline SourceLine at(const char* file, std::uint32_t line, const char* function = "") {
  return {Untrusted(file), Untrusted(function), line};
}

inline Nanos ms(double milliseconds) { return fromSeconds(milliseconds * 1e-3); }

// Nothing measured at all.
inline Analysis nothing() { return {}; }

inline Finding aFinding(int rank, const char* id, Phase phase, double share, Confidence confidence,
                        const char* title) {
  return {rank, id, phase, share, {}, confidence, title, {}, {}, {}, {}, {}};
}

// Without a diff or a command that checks it.
inline Advice anAdvice(const char* id, const char* text, const char* kind, Prediction predicted,
                       const char* risk = "") {
  return {id, text, {kind, "", "", ""}, "", predicted, {}, risk, ""};
}

inline RunInfo aRun() {
  RunInfo run;
  run.command = {Untrusted("python"), Untrusted("train.py"), Untrusted("--workers"),
                 Untrusted("2")};
  run.startedAt = "2026-11-21T02:25:56Z";
  run.wall = ms(183'500);
  run.exitCode = 0;
  run.ended = true;
  run.host = {"AMD EPYC 7763 64-Core Processor", 8, 8, 33'400'000'000, {}};
  run.processes = 4;
  run.framework = "torch 1.13.1";
  LoaderInfo loader;
  loader.kind = "map";
  loader.batching = "auto";
  loader.workers = 2;
  loader.batchSize = 64;
  loader.prefetch = 2;
  loader.where = at("train.py", 88);
  run.loaders = {loader};
  return run;
}

inline CoverageInfo aCoverage() {
  CoverageInfo c;
  c.hostTier = "T4";
  c.sources = {{"hook", Coverage::kFull, ""},
               {"task_events", Coverage::kAbsent, "perf_event_open is not permitted"},
               {"gpu", Coverage::kAbsent, "no device"}};
  c.recorderPid = 4242;
  c.recorderCpuRatio = 0.0042;
  c.effectiveHz = 100;
  c.pausedRatio = 0.03;
  c.slowdown = Slowdown{212, 1.0042, 0.9988, 1.0097};
  return c;
}

// 812 steps, decoding on two workers too few: the mock-up's run.
inline Analysis inputBound() {
  Analysis a;
  a.run = aRun();
  a.coverage = aCoverage();
  a.resources.jobCpuRatio = 0.41;
  a.resources.readBytesPerSecond = 31'200'000;
  a.resources.roleCpuRatio = {{"trainer", 0.16}, {"worker", 0.25}};
  a.resources.cacheHitRatio = 0.97;
  a.resources.peakRssBytes = 3'120'000'000;
  a.steps.count = 812;
  a.steps.windowCount = 792;
  a.steps.source = "hook";
  a.steps.confidence = Confidence::kHigh;
  a.steps.optimizerSteps = 812;
  a.steps.ratePerSecond = 2.427;
  a.steps.samplesPerSecond = 155.3;
  a.steps.window = ms(326'300);
  a.steps.time = StepTimes{ms(412), ms(408), ms(471), ms(1310)};
  a.epochs = {{0, ms(71'000), 203, 0.52, 0.11},
              {1, ms(64'200), 203, 0.36, 0.99},
              {2, ms(63'900), 203, 0.35, 0.99}};
  a.breakdown.ratio = Breakdown::Ratio{0.512, 0.381, 0.046, 0, 0, 0.034, 0.027};
  a.breakdown.blame = Breakdown::BlameRatio{0.071, 0.281, 0.012, 0.013, 0.004};
  a.breakdown.phase = Breakdown::PhaseRatio{0.071, 0.281, 0.071, 0.512, 0, 0, 0.034, 0.027, 0.004};
  a.verdict = {"transform", false, Confidence::kHigh, {}, 0.512};
  a.verdict.computesHalf = true;
  a.ceilings = {{"transform", 2.45, 0.01, "2 workers", "inferred"},
                {"compute", 4.65, 0.92, "the trainer's own time", "inferred"},
                {"cpu", 9.6, 2.95, "8 cores", "inferred"}};

  Finding workers = aFinding(1, "transform.too_few_workers", Phase::kTransform, 0.381,
                             Confidence::kHigh, "The workers cannot keep up with the trainer");
  workers.where = at("train.py", 88);
  workers.hot = at("PIL/Image.py", 1234, "resize");
  workers.evidence = {
      {"2 workers at 99 % CPU, 5 of 8 cores idle", 0.99, "ratio"},
      {"no batch lay ready at 97 % of the fetches", 0.97, "ratio"},
      {"a batch costs 815 ms of CPU, the trainer needs one each 256 ms", 8.15e8, "ns"}};
  workers.advice = {
      {"more_workers",
       "num_workers=2 -> 6",
       {"loader_arg", "num_workers", "2", "6"},
       "- DataLoader(ds, batch_size=64, num_workers=2)\n"
       "+ DataLoader(ds, batch_size=64, num_workers=6)",
       {1.51, 1.42, 1.61},
       {},
       "+4 processes, about 3.1 GB of memory; 18 GB are free",
       "stallprof run -o after.stallprof -- python train.py --workers 6 && stallprof compare "
       "run.stallprof after.stallprof"},
      anAdvice("preprocess_offline", "decode once, store tensors", "data", {1.58, 1.38, 1.66},
               "disk space")};

  Finding files = aFinding(2, "extract.small_files", Phase::kExtract, 0.071, Confidence::kMedium,
                           "Many small files");
  files.within = "transform.too_few_workers";
  files.evidence = {{"64 opens a batch, 41 kB each", 64.0, "count"}};
  files.advice = {
      anAdvice("shards", "pack samples into sequential shards", "data", {1.06, 1.04, 1.09})};

  Finding saves = aFinding(3, "periodic.checkpoint", Phase::kPeriodic, 0.034, Confidence::kHigh,
                           "Checkpoints hold the training up");
  saves.where = at("train.py", 131);
  saves.advice = {
      anAdvice("async_checkpoint", "save in a background thread", "code", {1.02, 1.01, 1.03})};
  a.findings = {workers, files, saves};

  TrainerInfo trainer;
  trainer.pid = 4250;
  trainer.steps = a.steps;
  trainer.breakdown = a.breakdown;
  trainer.verdict = a.verdict;
  a.trainers = {trainer};
  a.notAProblem = {"memory: 18 GB free", "CPU quota: not throttled", "swap: none"};
  a.notMeasured = {"page faults by file"};
  return a;
}

// Two of each of the first phases, with names longer than a line.
inline void addLongFunctions(Analysis& a) {
  for (int i = 0; i < 8; ++i) {
    FunctionInfo f;
    f.phase = static_cast<Phase>(1 + i / 2);
    f.phaseRatio = 0.5;
    f.samples = 100;
    f.hot.function = Untrusted(std::string(150, 'f'));
    f.hot.file = Untrusted("a.py");
    a.functions.push_back(f);
  }
}

inline Analysis healthy() {
  Analysis a = inputBound();
  a.breakdown.ratio = Breakdown::Ratio{0.966, 0.004, 0.021, 0, 0, 0, 0.009};
  a.breakdown.blame = Breakdown::BlameRatio{0.001, 0.003, 0, 0, 0};
  a.breakdown.phase = Breakdown::PhaseRatio{0.001, 0.003, 0.021, 0.966, 0, 0, 0, 0.009, 0};
  a.verdict = {"compute", true, Confidence::kHigh, {}, 0.966};
  a.verdict.computesHalf = true;
  Finding bound = aFinding(1, "compute.cpu_bound", Phase::kCompute, 0.966, Confidence::kHigh,
                           "The model's own computation sets the pace");
  bound.evidence = {{"batches lay ready at 99 % of the fetches", 0.99, "ratio"}};
  a.findings = {bound};
  a.epochs.clear();
  a.ceilings = {{"compute", 2.43, 0.0, "the trainer's own time", "inferred"}};
  a.trainers[0].breakdown = a.breakdown;
  a.trainers[0].verdict = a.verdict;
  return a;
}

// A job that never stepped: the whole run's breakdown, and no verdict.
inline Analysis noSteps() {
  Analysis a;
  a.run = aRun();
  a.run.command = {Untrusted("sleep"), Untrusted("1")};
  a.run.wall = ms(1003);
  a.run.framework.reset();
  a.run.loaders.clear();
  a.run.processes = 1;
  a.coverage = aCoverage();
  a.resources.jobCpuRatio = 0.001;
  a.breakdown.scope = "run";
  a.breakdown.ratio = Breakdown::Ratio{0, 0, 0, 0, 0, 0, 1};
  a.breakdown.phase = Breakdown::PhaseRatio{0, 0, 0, 0, 0, 0, 0, 1, 0};
  return a;
}

// Still running or cut off, with damage, and a command that failed.
inline Analysis damaged() {
  Analysis a = inputBound();
  a.run.ended = false;
  a.run.exitCode.reset();
  a.run.exitSignal = 9;
  a.coverage.losses = {{"frame_torn", 1}, {"frame_damaged", 3}, {"ring_full", 120}};
  return a;
}

inline Tuned aTuned() {
  Tuned tuned;
  tuned.where = at("train.py", 88);
  tuned.settings = {{2, 2, {}, 3.91, 3.91, 2'100'000'000, ""},
                    {4, 2, {}, 5.2, 5.6, 2'900'000'000, ""},
                    {6, 2, {}, {}, {}, {}, "tune-3 made no steps and was ended by signal 9"},
                    {4, 4, 1, 5.3, {}, 2'950'000'000, ""}};
  tuned.compared = 1;
  tuned.measured = 1.32;
  tuned.low = 1.29;
  tuned.high = 1.36;
  tuned.moreBytes = 8e8;
  tuned.outcome = "gain";
  tuned.change = "DataLoader(..., num_workers=2 -> 4)";
  return tuned;
}

// Two findings whose gains do not differ, several ranks, a price, a search for settings.
inline Analysis tied() {
  Analysis a = inputBound();
  a.verdict.boundBy = "mixed";
  a.verdict.tied = {1, 2};
  a.findings[1].within.reset();
  a.findings[1].confidence = Confidence::kHigh;
  a.findings[1].advice[0].predicted = {1.55, 1.4, 1.6};
  a.cost = Cost{2.5, 0.0443, 0.0169};
  a.tuned = aTuned();
  for (int rank = 0; rank < 12; ++rank) {
    TrainerInfo trainer = a.trainers[0];
    trainer.rank = rank;
    if (rank == 0) a.trainers.clear();
    a.trainers.push_back(trainer);
  }
  return a;
}

// Every byte there is, a terminal escape, a right-to-left override, markup: at the length of a
// path.
inline std::string hostileBytes() {
  std::string bytes;
  for (int c = 1; c < 256; ++c) bytes += static_cast<char>(c);
  bytes += '\0';
  return bytes + "\x1b]0;owned\x07\x1b[2J \xe2\x80\xae\xe2\x80\x8b <script>|`*_[x](javascript:1) " +
         std::string(300, 'w');
}

// Everything that may come from the job is hostile, and there is far too much of it.
inline Analysis hostile() {
  Analysis a = inputBound();
  const std::string bytes = hostileBytes();
  const Untrusted name(bytes);
  a.run.command.assign(500, name);
  a.run.host.cpuModel = bytes;
  a.run.host.gpus = {bytes};
  a.run.framework = bytes;
  a.run.loaders[0].kind = bytes;
  a.run.loaders[0].where = {name, name, 7};
  a.coverage.sources.assign(60, {bytes, Coverage::kPartial, bytes});
  a.coverage.losses.assign(60, {bytes, 1});
  a.ceilings.assign(60, {bytes, 1, 1, bytes, "inferred"});
  Finding finding = a.findings[0];
  finding.title = bytes;
  finding.where = finding.hot = {name, name, 7};
  finding.native = {name, name, 0.5};
  finding.evidence.assign(60, {bytes, 1.0, bytes});
  Advice advice = finding.advice[0];
  advice.id = advice.text = advice.risk = advice.verifyCommand = bytes;
  advice.change = {"code", bytes, bytes, bytes};
  advice.diff = "- " + bytes + "\n+ " + bytes;
  finding.advice.assign(6, advice);
  a.findings.clear();
  for (int rank = 1; rank <= 60; ++rank) {
    finding.rank = rank;
    a.findings.push_back(finding);
  }
  NativeInfo::Function function;
  function.leaf = {name, name, 0.5};
  function.below = {name, name, 7};
  function.className = "program";
  function.role = "worker";
  function.samples = 500;
  function.processes = 60;
  a.native = NativeInfo{1000, 0.25, 0.5, {{"program", 1000, 1}}, {}};
  a.native->functions.assign(60, function);
  a.tuned = aTuned();
  a.tuned->where = {name, name, 7};
  a.tuned->change = a.tuned->why = a.tuned->settings[2].why = bytes;
  a.epochs.assign(60, a.epochs[0]);
  a.trainers.assign(60, a.trainers[0]);
  a.notAProblem.assign(60, bytes);
  a.notMeasured.assign(60, bytes);
  return a;
}

}  // namespace stallprof::samples
