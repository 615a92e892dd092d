// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/device_info.h"
#include "analysis/facts/source_line.h"
#include "analysis/facts/tuned.h"
#include "base/text.h"
#include "base/time.h"
#include "event/vocabulary.h"

// What is said about a run: the report's schema (stallprof.report/1) as types, field for field.
// std::nullopt is "not measured", never zero. Shares are 0..1. Built by `analyze`, then only read.
namespace stallprof {

enum class Confidence : std::uint8_t { kLow, kMedium, kHigh, kVerified };
[[nodiscard]] constexpr std::string_view nameOf(Confidence c) {
  constexpr std::string_view kNames[] = {"low", "medium", "high", "verified"};
  return kNames[static_cast<std::size_t>(c)];
}

// A function of a library, or all of a library whose symbols are not known.
struct NativeLeaf {
  Untrusted file, function;  // "libjpeg.so.62"; readable, empty: not known
  double ratio = 0;          // of the CPU samples it is set against
  [[nodiscard]] bool known() const { return !file.empty() || !function.empty(); }
};
// "libjpeg.so.62:decode_mcu", escaped.
[[nodiscard]] std::string nameOf(const NativeLeaf& leaf);

struct LoaderInfo {
  std::string kind, batching;
  std::int32_t workers = 0;
  Maybe<std::int64_t> batchSize;
  Maybe<std::int32_t> prefetch;
  bool pinMemory = false, persistent = false, inOrder = true;
  SourceLine where;
  std::string package;   // that `where` calls, and which makes the loader; "": the loader's own
  std::string pipeline;  // of tf.data: its stages, first to last ("Range.Map.Batch(8)")
};

struct RunInfo {
  std::vector<Untrusted> command;
  bool imported = false;  // a trace of another profiler: `command` says of what, and runs nothing
  std::string startedAt;  // RFC 3339, UTC
  Nanos wall{};
  Maybe<int> exitCode, exitSignal;
  bool ended = false;  // false: still running, or cut off (the report says so)
  struct Host {
    std::string cpuModel;
    std::int32_t coresOnline = 0;
    double coresUsable = 0;
    std::int64_t memoryBytes = 0;
    std::vector<std::string> gpus;
  } host;
  std::int64_t processes = 0;
  Maybe<std::string> framework;  // "torch 1.13.1"
  std::vector<LoaderInfo> loaders;
  // What was changed from outside: as options of `run`; and what the hook changed, as Python writes
  // it.
  struct Setting {
    std::string name, from, to;
    SourceLine where;  // the loader's
  };
  std::vector<Untrusted> overrides;
  std::vector<Setting> settings;
  bool ownThreads = false;  // the program itself calls torch.set_num_threads
};

// What sampling cost this job: the time of its steps with it by that without
// (describe/README.md). `ratio` and its 95 % interval are null where that was not resolved.
struct Slowdown {
  std::int64_t pairs = 0;
  Maybe<double> ratio, low, high;
};

struct CoverageInfo {
  std::string hostTier = "T0", gpuTier = "none";
  struct Source {
    std::string name;
    Coverage state = Coverage::kAbsent;
    std::string why;
  };
  std::vector<Source> sources;
  std::vector<std::pair<std::string, std::uint64_t>> losses;
  Maybe<std::uint32_t> recorderPid;
  Maybe<double> recorderCpuRatio, effectiveHz;
  Maybe<double> pausedRatio;  // of the run's time; null: sampling never paused
  Maybe<Slowdown> slowdown;   // null: no pause could be compared
};

// On which nodes of the host's memory (NUMA) the job's CPU time was spent, in the trainer's window.
// Each second of a process counts for the node on which its first thread was last in it.
struct NumaUse {
  std::int64_t nodes = 0;                       // that have CPUs, two and more
  Maybe<std::int32_t> trainerNode, deviceNode;  // where it was most; of the device it uses
  Maybe<double> trainerNodeRatio;   // of the CPU of the trainer's process: on `trainerNode`
  Maybe<double> deviceRemoteRatio;  // of the same: on another node than the device
  Maybe<double> workerRemoteRatio;  // of the workers' CPU: on another node than the trainer then
  // Of the window: by how much longer the trainer received batches from other nodes than those from
  // its own. Null where it did not have enough of both.
  Maybe<double> handoverCostRatio;
};

// Whose CPU time it was in the trainer's window (src/analysis/describe/README.md defines each
// share). nullopt: not measured.
struct CpuUse {
  // Of the cores that the job could use. External: by programs that are neither of this job nor
  // recorders, as far as those CPUs were not beyond the quota anyway. Siblings: by recorded parts
  // of the same job on this host.
  Maybe<double> jobCpuRatio, externalCpuRatio, siblingCpuRatio;
  Maybe<double> stealRatio;      // of the CPUs that the job may run on, taken by the hypervisor
  Maybe<double> throttledRatio;  // of the time in which the group's tasks could have run
  Maybe<NumaUse> numa;           // null: the host has one node, or does not say
};

struct Resources : CpuUse {
  Maybe<double> cores;  // that the job could use in the window, the mean
  std::vector<std::pair<std::string, double>> roleCpuRatio;  // role -> share of usable cores
  Maybe<double> gpuBusyRatio, readBytesPerSecond, writeBytesPerSecond, netBytesPerSecond,
      cacheHitRatio;
  Maybe<std::int64_t> peakRssBytes, workerRssBytes, shmBytes;
  Maybe<double> flopsPerSecond;
  Maybe<std::string> flopsBasis;
};

struct StepTimes {
  Nanos mean{}, p50{}, p95{}, p99{};
};

struct StepsInfo {
  std::int64_t count = 0, windowCount = 0;
  Maybe<std::string> source;  // marks | nvtx | hook | optimizer | inferred
  Confidence confidence = Confidence::kLow;
  std::int64_t optimizerSteps = 0;
  Maybe<double> ratePerSecond, samplesPerSecond;
  Maybe<std::int64_t> batchSize;  // of the loader of the steps, where the run's have several sizes
  Nanos window{};
  Maybe<StepTimes> time;
};

struct EpochInfo {
  std::int64_t index = 0;
  Nanos wall{};
  std::int64_t steps = 0;
  Maybe<double> dataWaitRatio, cacheHitRatio;
  // To the begin of the next. Of the last, if it is whole: its `wall`, and as long as from the end
  // of the one before to its begin. Null: not known.
  Maybe<Nanos> period{};
};

// Shares of their time that epochs waited for data.
struct FirstEpoch {
  double first = 0, later = 0;
};

struct Breakdown {
  std::string scope = "window";  // window | run
  SourceLine loop;               // of scope run: what the shares are of; unknown: the whole run
  struct Ratio {
    double compute = 0, dataWait = 0, load = 0, sync = 0, comm = 0, periodic = 0, other = 0;
  };
  struct BlameRatio {
    double extract = 0, transform = 0, load = 0, startup = 0, unknown = 0;
  };
  struct PhaseRatio {
    double extract = 0, transform = 0, load = 0, compute = 0, sync = 0, comm = 0, periodic = 0,
           other = 0, unknown = 0;
  };
  Maybe<Ratio> ratio;       // sums to 1
  Maybe<BlameRatio> blame;  // sums to ratio.dataWait
  Maybe<PhaseRatio> phase;  // sums to 1
  Maybe<double> hiddenWaitRatio;
};

// Why a run gets no verdict; `value` is what was found, `limit` what it is compared with.
struct NoVerdict {
  enum class Why : std::uint8_t {
    kNoSteps,
    kFewSteps,
    kFewSamples,
    kUnexplained,
    kOthersCpu,
    kNoFix,
    kUnclear
  };
  Why why = Why::kNoSteps;
  double value = 0, limit = 0;  // steps; samples; share of the window; share of the cores
  SourceLine at{};  // kUnexplained: the line of the loop with most of that; else unknown
};

struct Verdict {
  std::string boundBy = "unknown";
  Maybe<bool> healthy;
  Confidence confidence = Confidence::kLow;
  Maybe<double> stallRatio, auRatio;
  Maybe<NoVerdict> withheld = NoVerdict{};  // null where `boundBy` is a verdict
  std::vector<int> tied{};    // ranks with a score within 10 % of rank 1's, it included; or empty
  bool computesHalf = false;  // of the time, at least
  // The phase of the first fix may take a small part of the time: a step that is three quarters
  // compute is not to be called load-bound.
  [[nodiscard]] bool mostlyComputes() const {
    return computesHalf && boundBy != "compute" && boundBy != "host" && boundBy != "unknown";
  }
};

struct Ceiling {
  std::string stage;  // extract, transform, load, compute, cpu: what the ceiling is of
  double stepsPerSecond = 0;
  double gapRatio = 0;    // measured step time / ceiling's - 1
  std::string limitedBy;  // in words: "2 workers", "4 cores", "device vda"
  std::string basis = "inferred";
};

struct EvidenceItem {
  std::string text;  // ready to print; names from the job already escaped
  Maybe<double> value;
  std::string unit;  // "", "ratio", "ns", "bytes", "bytes_per_s", "count", "per_s"
};

// What a prediction rests on: the run's measured times replayed with the change made, or a size of
// the change's effect that nobody has measured.
enum class Basis : std::uint8_t { kReplayed, kAssumed };
[[nodiscard]] constexpr std::string_view nameOf(Basis b) {
  return b == Basis::kReplayed ? "replayed" : "assumed";
}

struct Prediction {
  Maybe<double> speedup, low, high;  // old / new window time; 90 % interval. Assumed: with the
                                     // likely effect, null, and with the largest
  Basis basis = Basis::kReplayed;
  std::string assumes{};  // completes "assuming that" and "if"; empty where replayed
};

struct Advice {
  std::string id;  // stable, "more_workers"
  std::string text;
  struct Change {
    std::string kind;  // loader_arg | env | code | data | hardware
    std::string name, from, to;
  } change;
  std::string diff;  // "- old\n+ new" lines; may be empty
  Prediction predicted;
  Maybe<double> measured;  // by trials (`stallprof verify`): old / new step time; null: not tried
  std::string risk, verifyCommand;
  Maybe<double> measuredLow{}, measuredHigh{};  // bounds of `measured`
  // Of the trials: gain, no_gain, slower, undecided or failed; empty: not tried.
  std::string outcome{};
};

// Whether its trials showed a gain, or none.
[[nodiscard]] inline bool decided(const Advice& a) {
  return a.measured && a.outcome != "undecided";
}
// It did not run with the change: no gain that was predicted of it counts.
[[nodiscard]] inline bool failedWhenTried(const Advice& a) { return a.outcome == "failed"; }
// What a reader would do is the same.
[[nodiscard]] inline bool sameChange(const Advice& a, const Advice& b) {
  return a.id == b.id && a.change.to == b.change.to;
}

struct Finding {
  int rank = 0;    // 1 is first
  std::string id;  // "transform.too_few_workers"
  Phase phase = Phase::kUnknown;
  double shareRatio = 0;
  Maybe<std::string> within;
  Confidence confidence = Confidence::kLow;
  std::string title;
  SourceLine where, hot;
  std::vector<EvidenceItem> evidence;
  std::vector<Advice> advice;
  NativeLeaf native;  // below `hot`: of that function's CPU samples the most are in this one
};

// Where a phase's time went, by function: from samples of stacks.
struct FunctionInfo {
  Phase phase = Phase::kUnknown;
  std::string role;          // "trainer" | "producer"
  double phaseRatio = 0;     // of the phase
  double low = 0, high = 1;  // 90 % interval
  SourceLine hot, where;     // the innermost frame; the user's line that led to it
  std::string rule;          // why that phase: `stallprof explain --rule`
  std::int64_t samples = 0, processes = 0;
  NativeLeaf native;  // as in Finding
};

// A line of the loop that a trainer without a known loader is in, with all that it calls.
struct LineInfo {
  SourceLine where;
  Phase phase = Phase::kUnknown;  // that most of its time is of
  double ratio = 0;               // of the trainer's samples in the window (or the loop)
  Untrusted text{};               // the line as the file has it; empty: not read
};

// What the job's CPU time was spent in, by the kernel's samples of all its processes in the window
// (or the run). Ratios are of the samples.
struct NativeInfo {
  std::int64_t samples = 0;
  double spinRatio = 0;       // waiting on a CPU: OpenMP's and other locks' loops
  Maybe<double> kernelRatio;  // null where only the user's side was sampled
  struct Class {
    std::string name;
    std::int64_t samples = 0;
    double ratio = 0;
  };
  std::vector<Class> classes;  // most first
  struct Function {
    NativeLeaf leaf;
    double low = 0, high = 1;  // 90 % interval
    std::string className, role;
    std::int64_t samples = 0, processes = 0;
    SourceLine below;  // the Python function most of it ran under
  };
  std::vector<Function> functions;  // most first
  double poolRatio = 0;             // on threads without Python, as work of those that submitted it
};

// What the CPUs' own counters say of the whole job in the window, or the run.
struct CountersInfo {
  Maybe<double> instructionsPerCycle, missesPerKiloInstruction;  // of the last-level cache
  Maybe<double> stalledRatio;                                    // of cycles: waiting for memory
  Maybe<double> flopsPerSecond;
  double runningRatio = 1;  // least share of the time that a counter had; the rest is scaled
};

struct TrainerInfo {
  std::uint32_t pid = 0;
  Maybe<int> rank;
  int attempt = 1;
  bool shown = false;  // all that the analysis has beside `trainers` is of this one
  StepsInfo steps;
  Breakdown breakdown;
  Verdict verdict;
};

// Time and money in the user's words: `--price`, `--epochs`. Not part of the schema's core; printed
// and given as an additive object.
struct Cost {
  Maybe<double> pricePerHour;
  Maybe<double> perEpoch, wastedPerEpoch;  // money
  Maybe<double> epochs{};                  // of a whole training; the rest is of those
  Maybe<Nanos> time{}, timeFixed{};        // as it is, and with the first fix
  Maybe<double> money{}, saved{};
  bool measured = false;  // the gain of the first fix is one that trials measured
};

struct Analysis {
  RunInfo run;
  CoverageInfo coverage;
  Resources resources;
  StepsInfo steps;
  std::vector<EpochInfo> epochs;
  Maybe<FirstEpoch> firstEpoch;  // where it is in the window, and unlike later ones (first_epoch.h)
  Breakdown breakdown;
  Verdict verdict;
  std::vector<Ceiling> ceilings;
  std::vector<Finding> findings;  // by rank
  std::vector<TrainerInfo> trainers;
  std::vector<std::string> caveats;  // what limits how far the figures of this run carry
  std::vector<std::string> notAProblem;
  std::vector<std::string> notMeasured;
  Maybe<Cost> cost;
  std::vector<FunctionInfo> functions;  // by phase, then by share
  std::vector<LineInfo> lines;          // by line; empty: no loop, or its loader is known
  Maybe<DeviceInfo> device;             // null where no device was seen
  Maybe<NativeInfo> native;             // null where no native sample was taken
  Maybe<CountersInfo> counters;         // null where no counter of the CPUs was read
  Maybe<Tuned> tuned;                   // null where `stallprof tune` has not been run
};

}  // namespace stallprof
