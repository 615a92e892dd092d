// SPDX-License-Identifier: MIT
#pragma once

#include "present/metrics/field.h"
#include "present/metrics/report_json.h"
#include "present/words/wording.h"
#include "stallprof/version.h"

// Every field of the report in JSON, once: name, value, meaning, and who else uses it.
// Durations are integer nanoseconds (_ns), sizes bytes (_bytes), shares 0..1 (_ratio); null is "not
// measured". A field that is added here is written, in the schema, and where it says so a metric of
// the gate and of OpenMetrics. Taking one away or changing its meaning needs another kReportSchema.
namespace stallprof::report {

inline constexpr char kPhases[] = "extract|transform|load|compute|sync|comm|periodic|other|unknown";

constexpr Maybe<std::uint32_t> lineNumber(const SourceLine& s) {
  return s.line == 0 ? Maybe<std::uint32_t>() : Maybe<std::uint32_t>(s.line);
}

// A line of the user's code as the loader's, a finding's place and a hot function name it.
struct FileLine {
  const SourceLine* at;
};
struct Place {
  const SourceLine* at;
};
struct HotPlace {
  const SourceLine* at;
  const NativeLeaf* native;
};
inline Maybe<FileLine> fileLine(const SourceLine& s) {
  return s.file.empty() ? Maybe<FileLine>() : Maybe<FileLine>(FileLine{&s});
}
inline Maybe<Place> place(const SourceLine& s) {
  return s.known() ? Maybe<Place>(Place{&s}) : Maybe<Place>();
}
inline Maybe<HotPlace> hotPlace(const SourceLine& s, const NativeLeaf* native) {
  return s.known() ? Maybe<HotPlace>(HotPlace{&s, native}) : Maybe<HotPlace>();
}
inline TextOrNull textOrNull(const Untrusted& text) { return {text.raw()}; }

constexpr auto fieldsOf(const FileLine*) {
  return fieldList(field("file", [](const FileLine& p) { return p.at->file; }),
                   field("line", [](const FileLine& p) { return lineNumber(*p.at); }));
}
constexpr auto fieldsOf(const Place*) {
  return fieldList(field("file", [](const Place& p) { return textOrNull(p.at->file); }),
                   field("line", [](const Place& p) { return lineNumber(*p.at); }),
                   field("function", [](const Place& p) { return textOrNull(p.at->function); }));
}
constexpr auto fieldsOf(const NativeLeaf*) {
  return fieldList(field("library", [](const NativeLeaf& l) { return textOrNull(l.file); },
                         {"a file's name; null: code that no file holds"}),
                   field("function", [](const NativeLeaf& l) { return textOrNull(l.function); },
                         {"null where the library's symbols do not say, or were not found"}),
                   field("ratio", &NativeLeaf::ratio));
}
constexpr auto fieldsOf(const HotPlace*) {
  return fieldList(
      field("function", [](const HotPlace& p) { return textOrNull(p.at->function); }),
      field("file", [](const HotPlace& p) { return textOrNull(p.at->file); }),
      field("line", [](const HotPlace& p) { return lineNumber(*p.at); }),
      field("native",
            [](const HotPlace& p) {
              const bool known = p.native != nullptr && p.native->known();
              return known ? Maybe<NativeLeaf>(*p.native) : Maybe<NativeLeaf>();
            },
            {.text = "of a hot function's CPU samples the most are in this one; only where some "
                     "were taken",
             .optional = true}));
}

constexpr auto fieldsOf(const LoaderInfo*) {
  return fieldList(
      field("kind", &LoaderInfo::kind), field("num_workers", &LoaderInfo::workers),
      field("batch_size", &LoaderInfo::batchSize), field("batching", &LoaderInfo::batching),
      field("prefetch_factor", &LoaderInfo::prefetch), field("pin_memory", &LoaderInfo::pinMemory),
      field("persistent_workers", &LoaderInfo::persistent), field("in_order", &LoaderInfo::inOrder),
      field("where", [](const LoaderInfo& l) { return fileLine(l.where); }),
      field("library", [](const LoaderInfo& l) { return TextOrNull{l.package}; },
            {.text = "the installed package that the line calls and that made the loader; only "
                     "where one did",
             .optional = true}));
}

// Null where it was not measured, as of an imported trace.
template <class T>
constexpr Maybe<T> aboveZero(T value) {
  return value > T{} ? Maybe<T>(value) : Maybe<T>(std::nullopt);
}
constexpr auto fieldsOf(const RunInfo::Host*) {
  using Host = RunInfo::Host;
  return fieldList(field("cpu_model", [](const Host& h) { return TextOrNull{h.cpuModel}; }),
                   field("cores_online", [](const Host& h) { return aboveZero(h.coresOnline); }),
                   field("cores_usable", [](const Host& h) { return aboveZero(h.coresUsable); }),
                   field("memory_bytes", [](const Host& h) { return aboveZero(h.memoryBytes); }),
                   field("gpus", &Host::gpus));
}
constexpr auto fieldsOf(const RunInfo::Setting*) {
  using S = RunInfo::Setting;
  return fieldList(field("name", &S::name), field("from", &S::from), field("to", &S::to),
                   field("where", [](const S& s) { return fileLine(s.where); }));
}
constexpr auto fieldsOf(const RunInfo*) {
  return fieldList(
      field("command", &RunInfo::command),
      field("started_at", [](const RunInfo& r) { return TextOrNull{r.startedAt}; },
            {"RFC 3339, UTC"}),
      field("wall_ns", &RunInfo::wall,
            metric("Wall time of the command.", "whole run", Worse::kHigher)),
      group("exit", field("code", &RunInfo::exitCode, {.minimum = kNoMinimum}),
            field("signal", &RunInfo::exitSignal, {.minimum = kNoMinimum})),
      field("host", &RunInfo::host),
      field("processes", &RunInfo::processes, {.label = "processes"}),
      field("framework", &RunInfo::framework), field("loaders", &RunInfo::loaders),
      field("overrides",
            [](const RunInfo& r) { return r.overrides.empty() ? nullptr : &r.overrides; },
            {.text = "What was changed in the command from outside, as options of "
                     "stallprof run; only where something was.",
             .optional = true}),
      field("settings", [](const RunInfo& r) { return r.settings.empty() ? nullptr : &r.settings; },
            {.text = "Arguments of loaders that were changed so, as Python writes "
                     "their values; only where some were.",
             .optional = true}));
}

constexpr auto fieldsOf(const CoverageInfo::Source*) {
  using Source = CoverageInfo::Source;
  return fieldList(field("name", &Source::name),
                   field("state", &Source::state, {.words = "full|partial|absent"}),
                   field("why", &Source::why));
}
using Loss = std::pair<std::string, std::uint64_t>;
constexpr auto fieldsOf(const Loss*) {
  return fieldList(field("name", &Loss::first), field("count", &Loss::second));
}
inline constexpr Maybe<double> kNoRatio = std::nullopt;
constexpr auto fieldsOf(const CoverageInfo*) {
  return fieldList(
      group("tier", field("host", &CoverageInfo::hostTier, {.words = "T0|T1|T2|T3|T4|T5|T6"}),
            field("gpu", &CoverageInfo::gpuTier, {.words = "full|windowed|nvtx|nvml|none"})),
      field("sources", &CoverageInfo::sources), field("losses", &CoverageInfo::losses),
      group("overhead", field("recorder_pid", &CoverageInfo::recorderPid, {.minimum = kNoMinimum}),
            field("recorder_cpu_ratio", &CoverageInfo::recorderCpuRatio),
            field("effective_hz", &CoverageInfo::effectiveHz,
                  {.text = "samples a second of an active thread, pauses apart"}),
            field("paused_ratio", &CoverageInfo::pausedRatio,
                  {.text = "time without sampling on purpose, of the run"}),
            field("slowdown_ratio",
                  [](const CoverageInfo& c) { return c.slowdown ? c.slowdown->ratio : kNoRatio; },
                  {.text = "time of this job's steps while sampled, by that in pauses; null: not "
                           "resolved"}),
            field("slowdown_low",
                  [](const CoverageInfo& c) { return c.slowdown ? c.slowdown->low : kNoRatio; },
                  {.text = "of a 95 % interval"}),
            field("slowdown_high",
                  [](const CoverageInfo& c) { return c.slowdown ? c.slowdown->high : kNoRatio; },
                  {.text = "of a 95 % interval"}),
            field("slowdown_pairs",
                  [](const CoverageInfo& c) {
                    return c.slowdown ? Maybe<std::int64_t>(c.slowdown->pairs) : std::nullopt;
                  },
                  {.text = "pauses compared with the time around them"})));
}

constexpr auto fieldsOf(const NumaUse*) {
  using N = NumaUse;
  return fieldList(
      field("nodes", &N::nodes, {"that have CPUs"}),
      field("trainer_node", &N::trainerNode, {"where the trainer was most"}),
      field("trainer_node_ratio", &N::trainerNodeRatio,
            {"of the CPU of the trainer's process, on that node"}),
      field("worker_remote_ratio", &N::workerRemoteRatio,
            {"of the workers' CPU, on another node than the trainer was on then"}),
      field("device_node", &N::deviceNode, {"that the trainer's device is attached to"}),
      field("device_remote_ratio", &N::deviceRemoteRatio,
            {"of the CPU of the trainer's process, on another node than that"}),
      field("handover_cost_ratio", &N::handoverCostRatio,
            {"of the window: what receiving batches from other nodes took longer than from its "
             "own; null: it did not have enough of both"}));
}
constexpr auto fieldsOf(const Resources*) {
  using R = Resources;
  constexpr Worse kUp = Worse::kHigher, kDown = Worse::kLower;
  return fieldList(
      field("cpu_ratio", &R::jobCpuRatio, metric("CPU, of the usable cores.", "CPU")),
      field("cores", &R::cores,
            {.text = "That the job could use in the window, the mean: its CPUs, or its quota."}),
      field(
          "external_cpu_ratio", &R::externalCpuRatio,
          metric("CPU that other programs took from the job, of the usable cores.", "others' CPU")),
      field("sibling_cpu_ratio", &R::siblingCpuRatio,
            metric("CPU of this job's other recordings on this host, of the usable cores.",
                   "siblings' CPU")),
      field("steal_ratio", &R::stealRatio,
            metric("Time that the hypervisor took, of the CPUs that the job may run on.", "steal")),
      field("throttled_ratio", &R::throttledRatio,
            metric("Time stopped by a CPU quota, of that in which tasks could have run.",
                   "throttled")),
      field("numa", &R::numa,
            {.text = "On which nodes of memory the job's CPU time was spent; only on a host that "
                     "has several.",
             .optional = true}),
      field("role_cpu_ratio", [](const R& r) { return NamedRatios{&r.roleCpuRatio}; },
            {.text = "CPU by role, of the usable cores.", .by = "role", .exported = true}),
      field("gpu_busy_ratio", &R::gpuBusyRatio,
            metric("Time with work on a GPU.", "GPU busy", kDown)),
      field("read_bytes_per_s", &R::readBytesPerSecond, metric("Read from storage.", "read")),
      field("write_bytes_per_s", &R::writeBytesPerSecond, metric("Written to storage.", "written")),
      field("net_bytes_per_s", &R::netBytesPerSecond,
            metric("Received and sent, by the host.", "network")),
      field("cache_hit_ratio", &R::cacheHitRatio,
            metric("Reads that the page cache served.", "cache hits", kDown)),
      field("peak_rss_bytes", &R::peakRssBytes, metric("Most resident memory.", "peak RSS", kUp)),
      field("worker_rss_bytes", &R::workerRssBytes,
            metric("Resident memory of workers.", "worker RSS", kUp)),
      field("shm_bytes", &R::shmBytes, metric("Used of /dev/shm.", "shared memory", kUp)),
      field("flops_per_s", &R::flopsPerSecond, {.label = "FLOP a second", .worse = kDown}),
      field("flops_basis", &R::flopsBasis));
}

constexpr auto fieldsOf(const StepTimes*) {
  constexpr Worse kUp = Worse::kHigher;
  return fieldList(field("mean", &StepTimes::mean, {.label = "step time mean", .worse = kUp}),
                   field("p50", &StepTimes::p50, {.label = "step time p50", .worse = kUp}),
                   field("p95", &StepTimes::p95, {.label = "step time p95", .worse = kUp}),
                   field("p99", &StepTimes::p99, {.label = "step time p99", .worse = kUp}));
}
constexpr auto fieldsOf(const StepsInfo*) {
  using S = StepsInfo;
  return fieldList(
      field("count", &S::count, {.label = "steps"}),
      field("window_count", &S::windowCount, {.label = "steps in the window"}),
      field("source", &S::source, {.words = "marks|nvtx|hook|optimizer|inferred"}),
      field("confidence", &S::confidence),
      field("optimizer_steps", &S::optimizerSteps, {.label = "optimizer steps"}),
      field("rate_per_s", &S::ratePerSecond,
            metric("Steps a second in the window.", "steps a second", Worse::kLower)),
      field("samples_per_s", &S::samplesPerSecond,
            metric("Samples a second in the window.", "samples a second", Worse::kLower)),
      field("batch_size", &S::batchSize,
            {.text = "Of the loader whose batches the steps are of; only where the loaders of the "
                     "run have several sizes and this one is known.",
             .optional = true}),
      field("window_ns", &S::window, {.label = "window", .worse = Worse::kHigher}),
      field("time_ns", &S::time,
            {.text = "Time of a step; boundaries of epochs set apart.",
             .by = "stat",
             .exported = true}));
}

constexpr auto fieldsOf(const EpochInfo*) {
  return fieldList(field("index", &EpochInfo::index), field("wall_ns", &EpochInfo::wall),
                   field("steps", &EpochInfo::steps),
                   field("data_wait_ratio", &EpochInfo::dataWaitRatio),
                   field("cache_hit_ratio", &EpochInfo::cacheHitRatio));
}

constexpr auto share(const char* name, auto member, const char* label,
                     Worse worse = Worse::kHigher) {
  return field(name, member, {.label = label, .worse = worse});
}
constexpr auto fieldsOf(const Breakdown::Ratio*) {
  using R = Breakdown::Ratio;
  return fieldList(share("compute", &R::compute, "computing", Worse::kLower),
                   share("data_wait", &R::dataWait, "waiting for data"),
                   share("load", &R::load, "load"), share("sync", &R::sync, "sync"),
                   share("comm", &R::comm, "comm"), share("periodic", &R::periodic, "periodic"),
                   share("other", &R::other, "other"));
}
constexpr auto fieldsOf(const Breakdown::BlameRatio*) {
  using R = Breakdown::BlameRatio;
  return fieldList(share("extract", &R::extract, "wait for extract"),
                   share("transform", &R::transform, "wait for transform"),
                   share("load", &R::load, "wait for load"),
                   share("startup", &R::startup, "wait for start-up"),
                   share("unknown", &R::unknown, "wait unexplained"));
}
constexpr auto fieldsOf(const Breakdown::PhaseRatio*) {
  using R = Breakdown::PhaseRatio;
  return fieldList(
      share("extract", &R::extract, "phase extract"),
      share("transform", &R::transform, "phase transform"),
      field("load", &R::load,
            {.text = "start-up included", .label = "phase load", .worse = Worse::kHigher}),
      share("compute", &R::compute, "phase compute", Worse::kLower),
      share("sync", &R::sync, "phase sync"), share("comm", &R::comm, "phase comm"),
      share("periodic", &R::periodic, "phase periodic"), share("other", &R::other, "phase other"),
      share("unknown", &R::unknown, "phase unknown"));
}
constexpr auto fieldsOf(const Breakdown*) {
  using B = Breakdown;
  return fieldList(
      field("scope", &B::scope, {.words = "window|run"}),
      field("loop",
            [](const B& b) -> Maybe<FileLine> {
              if (!b.loop.known()) return {};
              return FileLine{&b.loop};
            },
            {.text = "Without steps: the loop that shares are of; null: of the whole run."}),
      field("ratio", &B::ratio, shares("The trainer's time by what it did; sums to 1.", "part")),
      field("data_wait_blame_ratio", &B::blame,
            shares("Data waits by what the batch that was waited for needed; sums to data_wait.",
                   "cause")),
      field("phase_ratio", &B::phase,
            shares("Own time and blamed waits by phase; sums to 1.", "phase")),
      field("hidden_wait_ratio", &B::hiddenWaitRatio,
            metric("Data waits while a device worked.", "hidden wait", Worse::kHigher)));
}

}  // namespace stallprof::report
