// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/steps/roles.h"
#include "classify/native_class.h"
#include "event/vocabulary.h"
#include "present/metrics/report_fields_findings.h"

// The report's fields of devices and of the CPUs' samples and counters, and the report itself, of
// all of them.
namespace stallprof::report {

constexpr auto fieldsOf(const DeviceInfo::TimeRatio*) {
  using T = DeviceInfo::TimeRatio;
  return fieldList(field("kernels", &T::kernels),
                   field("copies", &T::copies, {"nothing but copies"}),
                   field("collectives", &T::collectives, {"nothing but those and copies"}),
                   field("idle", &T::idle));
}
constexpr auto fieldsOf(const DeviceInfo::IdleRatio*) {
  using I = DeviceInfo::IdleRatio;
  return fieldList(field("extract", &I::extract), field("transform", &I::transform),
                   field("load", &I::load), field("unknown", &I::unknown), field("copy", &I::copy),
                   field("sync", &I::sync), field("launch", &I::launch), field("host", &I::host),
                   field("comm", &I::comm), field("checkpoint", &I::checkpoint),
                   field("evaluation", &I::evaluation), field("other", &I::other));
}
constexpr auto fieldsOf(const DeviceInfo::Device*) {
  using D = DeviceInfo::Device;
  return fieldList(
      field("id", &D::id, {"its UUID"}),
      field("name", [](const D& d) { return TextOrNull{d.name}; }),
      field("multiprocessors", &D::multiprocessors),
      field("busy_ratio", &D::busy,
            {.text = "Traced time with the trainer's work on the device.", .exported = true}),
      field("time_ratio", &D::time, shares("The device's traced time; sums to 1.", "part")),
      field("idle_ratio", &D::idle,
            {.text = "sums to time_ratio.idle: what the trainer's thread did meanwhile",
             .sums = true}),
      field("utilization_ratio", &D::utilization, {"the monitoring library's, of all processes"}),
      field("sm_active_ratio", &D::smActive), field("sm_occupancy_ratio", &D::occupancy),
      field("tensor_active_ratio", &D::tensorActive), field("dram_active_ratio", &D::dramActive),
      field("power_watts", &D::powerWatts, {.text = "Mean power.", .exported = true}),
      field("clock_mhz", &D::clockMhz), field("max_clock_mhz", &D::maxClockMhz),
      field("throttled_ratio", &D::throttled, {"of the time, by power or heat"}),
      field("memory_total_bytes", &D::memoryTotal), field("memory_first_bytes", &D::memoryFirst),
      field("memory_last_bytes", &D::memoryLast),
      field("memory_peak_bytes", &D::memoryPeak,
            {.text = "Most memory in use, of all processes.", .exported = true}),
      field("memory_headroom_bytes", &D::memoryHeadroom, {"total less peak, of all processes"}));
}
constexpr auto fieldsOf(const DeviceInfo::Kernel*) {
  using K = DeviceInfo::Kernel;
  return fieldList(
      field("name", &K::name), field("category", &K::category), field("count", &K::count),
      field("time_ns", &K::time), field("time_ratio", &K::ratio, {"of all kernels' time"}),
      field("filled_ratio", &K::filled, {"min(1, blocks / multiprocessors), weighted by time"}));
}
constexpr auto fieldsOf(const DeviceInfo::Category*) {
  using C = DeviceInfo::Category;
  return fieldList(field("name", &C::name), field("count", &C::count), field("time_ns", &C::time),
                   field("time_ratio", &C::ratio));
}
constexpr auto fieldsOf(const DeviceInfo::Copy*) {
  using C = DeviceInfo::Copy;
  return fieldList(field("kind", &C::kind),
                   field("memory", &C::memory, {.words = kWordsOf<kHostMemoryNames>}),
                   field("count", &C::count), field("time_ns", &C::time), field("bytes", &C::bytes),
                   field("bytes_per_s", &C::bytesPerSecond));
}
constexpr auto fieldsOf(const DeviceInfo::Call*) {
  using C = DeviceInfo::Call;
  return fieldList(field("name", &C::name),
                   field("kind", &C::kind, {.words = kWordsOf<kDeviceCallKindNames>}),
                   field("count", &C::count), field("time_ns", &C::time));
}
constexpr auto fieldsOf(const DeviceInfo*) {
  using D = DeviceInfo;
  return fieldList(
      field("basis", &D::basis,
            {.text = "the source of how busy they were, here and in resources.gpu_busy_ratio",
             .words = "trace|nvml|none"}),
      field("traced_ratio", &D::tracedRatio, {"of the window, with kernels traced"}),
      field("estimated", &D::estimated,
            {"the breakdown of the rest of the window is estimated from the traced part"}),
      field("devices", &D::devices), field("kernel_categories", &D::categories),
      field("kernels", &D::kernels, {"most time first; summed over works, which may overlap"}),
      field("copies", &D::copies), field("calls", &D::calls));
}

constexpr auto fieldsOf(const NativeInfo::Class*) {
  using C = NativeInfo::Class;
  return fieldList(field("class", &C::name, {.words = kWordsOf<kNativeClassNames>}),
                   field("samples", &C::samples), field("ratio", &C::ratio));
}
constexpr auto fieldsOf(const NativeInfo::Function*) {
  using F = NativeInfo::Function;
  return fieldList(
      field("library", [](const F& f) { return textOrNull(f.leaf.file); },
            {"a file's name; null: code that no file holds"}),
      field("function", [](const F& f) { return textOrNull(f.leaf.function); },
            {"null where the library's symbols do not say, or were not found"}),
      field("class", &F::className), field("role", &F::role, {.words = kWordsOf<kRoleNames>}),
      field("ratio", [](const F& f) { return f.leaf.ratio; }), field("low", &F::low),
      field("high", &F::high), field("samples", &F::samples), field("processes", &F::processes),
      field("below", [](const F& f) { return hotPlace(f.below, nullptr); },
            {"the Python function most of it ran under"}));
}
constexpr auto fieldsOf(const NativeInfo*) {
  using N = NativeInfo;
  return fieldList(
      field("samples", &N::samples),
      field("spin_ratio", &N::spinRatio, {"waiting on a CPU: loops of OpenMP and of other locks"}),
      field("pool_ratio", &N::poolRatio,
            {"on threads without Python, counted under the Python function that submitted their "
             "work; samples far from any stack of it are not"}),
      field("kernel_ratio", &N::kernelRatio, {"null where only the user's side was sampled"}),
      field("classes", &N::classes), field("functions", &N::functions));
}

constexpr auto fieldsOf(const CountersInfo*) {
  using C = CountersInfo;
  return fieldList(
      field("instructions_per_cycle", &C::instructionsPerCycle),
      field("llc_misses_per_kilo_instruction", &C::missesPerKiloInstruction,
            {"misses of the last-level cache"}),
      field("stalled_ratio", &C::stalledRatio,
            {"of all cycles: the CPU waited, for memory mostly"}),
      field("flops_per_s", &C::flopsPerSecond),
      field("running_ratio", &C::runningRatio,
            {"the least share of the time that one of them counted; scaled to all of it"}));
}

constexpr auto fieldsOf(const Analysis*) {
  using A = Analysis;
  return fieldList(
      field("schema", [](const A&) { return std::string_view(kReportSchema); },
            {.words = kReportSchema}),
      group("tool", field("version", [](const A&) { return std::string_view(STALLPROF_VERSION); },
                          {.pattern = "^[0-9]+\\.[0-9]+\\.[0-9]+"})),
      field("run", &A::run), field("coverage", &A::coverage), field("resources", &A::resources),
      field("steps", &A::steps), field("epochs", &A::epochs), field("breakdown", &A::breakdown),
      field("verdict", &A::verdict), field("ceilings", &A::ceilings),
      field("findings", &A::findings), field("trainers", &A::trainers),
      field("caveats", &A::caveats, {.text = "What limits how far the figures of this run carry."}),
      field("not_a_problem", &A::notAProblem), field("not_measured", &A::notMeasured),
      field("cost", &A::cost,
            {.text = "only where a price or a number of epochs was given", .optional = true}),
      field("functions", [](const A& a) { return a.functions.empty() ? nullptr : &a.functions; },
            {"Where a phase's time went, by function; null where no Python stacks were seen."}),
      field("lines", [](const A& a) { return a.lines.empty() ? nullptr : &a.lines; },
            {.text = "The lines of the loop that a trainer without a known loader is in, with all "
                     "that they call; only where one was seen.",
             .optional = true}),
      field("device", &A::device,
            {.text = "The devices that the trainer used, in its window; only where one was seen.",
             .optional = true}),
      field(
          "native", &A::native,
          {.text = "What the job's CPU time was spent in, by the kernel's samples of all its "
                   "processes in the window or, without one, the run; only where some were taken. "
                   "Ratios are of the samples.",
           .optional = true}),
      field("counters", &A::counters,
            {.text = "What the CPUs' own counters say of the whole job in the window or, without "
                     "one, the run; only where some counted.",
             .optional = true}),
      field("tune", &A::tuned,
            {.text = "The search for the loader's best setting; only where stallprof tune ran.",
             .optional = true}));
}

}  // namespace stallprof::report
