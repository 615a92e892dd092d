// SPDX-License-Identifier: MIT
#include "present/report_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "stallprof/version.h"

namespace stallprof {
namespace {

using Json = nlohmann::ordered_json;

// A number that is not finite was not measured.
Json number(double v) { return std::isfinite(v) ? Json(v) : Json(); }
Json number(const Maybe<double>& v) { return v ? number(*v) : Json(); }
Json text(std::string_view bytes) { return toUtf8(bytes); }
Json maybeText(const Maybe<std::string>& bytes) { return bytes ? text(*bytes) : Json(); }
Json textOrNull(std::string_view bytes) { return bytes.empty() ? Json() : text(bytes); }
template <class T>
Json orNull(const Maybe<T>& v) {
  return v ? Json(*v) : Json();
}

template <class T, class F>
Json list(const std::vector<T>& items, F&& one) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(one(item));
  return out;
}

// An object that sums holds only numbers or is null as a whole.
Json summing(Json object) {
  for (const auto& [name, value] : object.items())
    if (value.is_null()) return {};
  return object;
}

Json place(const SourceLine& s) {
  if (s.file.empty()) return {};
  return {{"file", text(s.file.raw())}, {"line", s.line == 0 ? Json() : Json(s.line)}};
}

Json placeAndFunction(const SourceLine& s) {
  if (!s.known()) return {};
  return {{"file", textOrNull(s.file.raw())},
          {"line", s.line == 0 ? Json() : Json(s.line)},
          {"function", textOrNull(s.function.raw())}};
}

Json leaf(const NativeLeaf& l) {
  return {{"library", textOrNull(l.library.raw())},
          {"function", textOrNull(l.function.raw())},
          {"ratio", number(l.ratio)}};
}

Json functionAndPlace(const SourceLine& s, const NativeLeaf& native = {}) {
  if (!s.known()) return {};
  Json json = {{"function", textOrNull(s.function.raw())},
               {"file", textOrNull(s.file.raw())},
               {"line", s.line == 0 ? Json() : Json(s.line)}};
  if (native.known()) json["native"] = leaf(native);  // only where samples tell
  return json;
}

Json loader(const LoaderInfo& l) {
  return {{"kind", text(l.kind)},
          {"num_workers", l.workers},
          {"batch_size", orNull(l.batchSize)},
          {"batching", text(l.batching)},
          {"prefetch_factor", orNull(l.prefetch)},
          {"pin_memory", l.pinMemory},
          {"persistent_workers", l.persistent},
          {"in_order", l.inOrder},
          {"where", place(l.where)}};
}

Json run(const RunInfo& r) {
  const RunInfo::Host& h = r.host;
  return {{"command", list(r.command, [](const Untrusted& w) { return text(w.raw()); })},
          {"started_at", textOrNull(r.startedAt)},
          {"wall_ns", r.wall.count()},
          {"exit", {{"code", orNull(r.exitCode)}, {"signal", orNull(r.exitSignal)}}},
          {"host",
           {{"cpu_model", textOrNull(h.cpuModel)},
            {"cores_online", h.coresOnline},
            {"cores_usable", number(h.coresUsable)},
            {"memory_bytes", h.memoryBytes},
            {"gpus", list(h.gpus, [](const std::string& g) { return text(g); })}}},
          {"processes", r.processes},
          {"framework", maybeText(r.framework)},
          {"loaders", list(r.loaders, loader)}};
}

Json coverage(const CoverageInfo& c) {
  const auto source = [](const CoverageInfo::Source& s) -> Json {
    return {{"name", text(s.name)}, {"state", nameOf(s.state)}, {"why", text(s.why)}};
  };
  const auto loss = [](const auto& l) -> Json {
    return {{"name", text(l.first)}, {"count", l.second}};
  };
  return {{"tier", {{"host", text(c.hostTier)}, {"gpu", text(c.gpuTier)}}},
          {"sources", list(c.sources, source)},
          {"losses", list(c.losses, loss)},
          {"overhead",
           {{"recorder_pid", orNull(c.recorderPid)},
            {"recorder_cpu_ratio", number(c.recorderCpuRatio)},
            {"effective_hz", number(c.effectiveHz)}}}};
}

Json resources(const Resources& r) {
  Json roles;  // null: not measured
  for (const auto& [role, ratio] : r.roleCpuRatio) roles[toUtf8(role)] = number(ratio);
  return {{"cpu_ratio", number(r.cpuRatio)},
          {"role_cpu_ratio", roles.is_null() ? Json() : summing(roles)},
          {"gpu_busy_ratio", number(r.gpuBusyRatio)},
          {"read_bytes_per_s", number(r.readBytesPerSecond)},
          {"write_bytes_per_s", number(r.writeBytesPerSecond)},
          {"net_bytes_per_s", number(r.netBytesPerSecond)},
          {"cache_hit_ratio", number(r.cacheHitRatio)},
          {"peak_rss_bytes", orNull(r.peakRssBytes)},
          {"worker_rss_bytes", orNull(r.workerRssBytes)},
          {"shm_bytes", orNull(r.shmBytes)},
          {"flops_per_s", number(r.flopsPerSecond)},
          {"flops_basis", maybeText(r.flopsBasis)}};
}

Json steps(const StepsInfo& s) {
  Json time;
  if (s.time)
    time = {{"mean", s.time->mean.count()},
            {"p50", s.time->p50.count()},
            {"p95", s.time->p95.count()},
            {"p99", s.time->p99.count()}};
  return {{"count", s.count},
          {"window_count", s.windowCount},
          {"source", maybeText(s.source)},
          {"confidence", nameOf(s.confidence)},
          {"optimizer_steps", s.optimizerSteps},
          {"rate_per_s", number(s.ratePerSecond)},
          {"samples_per_s", number(s.samplesPerSecond)},
          {"window_ns", s.window.count()},
          {"time_ns", time}};
}

Json breakdown(const Breakdown& b) {
  Json ratio, blame, phase;
  if (b.ratio)
    ratio = summing({{"compute", number(b.ratio->compute)},
                     {"data_wait", number(b.ratio->dataWait)},
                     {"load", number(b.ratio->load)},
                     {"sync", number(b.ratio->sync)},
                     {"comm", number(b.ratio->comm)},
                     {"periodic", number(b.ratio->periodic)},
                     {"other", number(b.ratio->other)}});
  if (b.blame)
    blame = summing({{"extract", number(b.blame->extract)},
                     {"transform", number(b.blame->transform)},
                     {"load", number(b.blame->load)},
                     {"startup", number(b.blame->startup)},
                     {"unknown", number(b.blame->unknown)}});
  if (b.phase)
    phase = summing({{"extract", number(b.phase->extract)},
                     {"transform", number(b.phase->transform)},
                     {"load", number(b.phase->load)},
                     {"compute", number(b.phase->compute)},
                     {"sync", number(b.phase->sync)},
                     {"comm", number(b.phase->comm)},
                     {"periodic", number(b.phase->periodic)},
                     {"other", number(b.phase->other)},
                     {"unknown", number(b.phase->unknown)}});
  return {{"scope", text(b.scope)},
          {"ratio", ratio},
          {"data_wait_blame_ratio", blame},
          {"phase_ratio", phase},
          {"hidden_wait_ratio", number(b.hiddenWaitRatio)}};
}

Json verdict(const Verdict& v) {
  return {{"bound_by", text(v.boundBy)},
          {"healthy", orNull(v.healthy)},
          {"confidence", nameOf(v.confidence)},
          {"stall_ratio", number(v.stallRatio)},
          {"au_ratio", number(v.auRatio)}};
}

Json ceiling(const Ceiling& c) {
  return {{"stage", text(c.stage)},
          {"steps_per_s", number(c.stepsPerSecond)},
          {"gap_ratio", number(c.gapRatio)},
          {"limited_by", text(c.limitedBy)},
          {"basis", text(c.basis)}};
}

Json advice(const Advice& a) {
  return {{"id", text(a.id)},
          {"text", text(a.text)},
          {"change",
           {{"kind", text(a.change.kind)},
            {"name", text(a.change.name)},
            {"from", text(a.change.from)},
            {"to", text(a.change.to)}}},
          {"diff", text(a.diff)},
          {"predicted",
           {{"speedup", number(a.predicted.speedup)},
            {"low", number(a.predicted.low)},
            {"high", number(a.predicted.high)}}},
          {"measured", number(a.measured)},
          {"risk", text(a.risk)},
          {"verify_command", text(a.verifyCommand)}};
}

Json finding(const Finding& f) {
  const auto evidence = [](const EvidenceItem& e) -> Json {
    return {{"text", text(e.text)}, {"value", number(e.value)}, {"unit", text(e.unit)}};
  };
  return {{"rank", f.rank},
          {"id", text(f.id)},
          {"phase", nameOf(f.phase)},
          {"share_ratio", number(f.shareRatio)},
          {"within", maybeText(f.within)},
          {"confidence", nameOf(f.confidence)},
          {"title", text(f.title)},
          {"where", placeAndFunction(f.where)},
          {"hot", functionAndPlace(f.hot, f.native)},
          {"evidence", list(f.evidence, evidence)},
          {"advice", list(f.advice, advice)}};
}

Json function(const FunctionInfo& f) {
  return {{"phase", nameOf(f.phase)},
          {"role", text(f.role)},
          {"phase_ratio", number(f.phaseRatio)},
          {"low", number(f.low)},
          {"high", number(f.high)},
          {"hot", functionAndPlace(f.hot, f.native)},
          {"where", placeAndFunction(f.where)},
          {"rule", text(f.rule)},
          {"looks", f.looks},
          {"processes", f.processes}};
}

Json epoch(const EpochInfo& e) {
  return {{"index", e.index},
          {"wall_ns", e.wall.count()},
          {"steps", e.steps},
          {"data_wait_ratio", number(e.dataWaitRatio)},
          {"cache_hit_ratio", number(e.cacheHitRatio)}};
}

Json trainer(const TrainerInfo& t) {
  return {{"pid", t.pid},
          {"rank", orNull(t.rank)},
          {"attempt", t.attempt},
          {"steps", steps(t.steps)},
          {"breakdown", breakdown(t.breakdown)},
          {"verdict", verdict(t.verdict)}};
}

Json deviceTime(const DeviceInfo::Device& d) {
  if (!d.time) return {};
  return summing({{"kernels", number(d.time->kernels)},
                  {"copies", number(d.time->copies)},
                  {"collectives", number(d.time->collectives)},
                  {"idle", number(d.time->idle)}});
}

Json deviceIdle(const DeviceInfo::Device& d) {
  if (!d.idle) return {};
  const DeviceInfo::IdleRatio& i = *d.idle;
  return summing({{"extract", number(i.extract)},
                  {"transform", number(i.transform)},
                  {"load", number(i.load)},
                  {"unknown", number(i.unknown)},
                  {"copy", number(i.copy)},
                  {"sync", number(i.sync)},
                  {"launch", number(i.launch)},
                  {"host", number(i.host)},
                  {"comm", number(i.comm)},
                  {"checkpoint", number(i.checkpoint)},
                  {"evaluation", number(i.evaluation)},
                  {"other", number(i.other)}});
}

Json oneDevice(const DeviceInfo::Device& d) {
  return {{"id", text(d.id)},
          {"name", textOrNull(d.name)},
          {"multiprocessors", orNull(d.multiprocessors)},
          {"busy_ratio", number(d.busy)},
          {"time_ratio", deviceTime(d)},
          {"idle_ratio", deviceIdle(d)},
          {"utilization_ratio", number(d.utilization)},
          {"sm_active_ratio", number(d.smActive)},
          {"sm_occupancy_ratio", number(d.occupancy)},
          {"tensor_active_ratio", number(d.tensorActive)},
          {"dram_active_ratio", number(d.dramActive)},
          {"power_watts", number(d.powerWatts)},
          {"clock_mhz", number(d.clockMhz)},
          {"max_clock_mhz", number(d.maxClockMhz)},
          {"throttled_ratio", number(d.throttled)},
          {"memory_total_bytes", orNull(d.memoryTotal)},
          {"memory_first_bytes", orNull(d.memoryFirst)},
          {"memory_last_bytes", orNull(d.memoryLast)},
          {"memory_peak_bytes", orNull(d.memoryPeak)},
          {"memory_headroom_bytes", orNull(d.memoryHeadroom)}};
}

Json device(const DeviceInfo& d) {
  const auto kernel = [](const DeviceInfo::Kernel& k) -> Json {
    return {{"name", text(k.name.raw())},
            {"category", text(k.category)},
            {"count", k.count},
            {"time_ns", k.time.count()},
            {"time_ratio", number(k.ratio)},
            {"filled_ratio", number(k.filled)}};
  };
  const auto category = [](const DeviceInfo::Category& c) -> Json {
    return {{"name", text(c.name)},
            {"count", c.count},
            {"time_ns", c.time.count()},
            {"time_ratio", number(c.ratio)}};
  };
  const auto copy = [](const DeviceInfo::Copy& c) -> Json {
    return {{"kind", text(c.kind)},     {"memory", text(c.memory)},
            {"count", c.count},         {"time_ns", c.time.count()},
            {"bytes", orNull(c.bytes)}, {"bytes_per_s", number(c.bytesPerSecond)}};
  };
  const auto call = [](const DeviceInfo::Call& c) -> Json {
    return {{"name", text(c.name.raw())},
            {"kind", text(c.kind)},
            {"count", c.count},
            {"time_ns", c.time.count()}};
  };
  return {{"basis", text(d.basis)},
          {"traced_ratio", number(d.tracedRatio)},
          {"estimated", d.estimated},
          {"devices", list(d.devices, oneDevice)},
          {"kernel_categories", list(d.categories, category)},
          {"kernels", list(d.kernels, kernel)},
          {"copies", list(d.copies, copy)},
          {"calls", list(d.calls, call)}};
}

Json native(const NativeInfo& n) {
  const auto kind = [](const NativeInfo::Class& c) -> Json {
    return {{"class", text(c.name)}, {"samples", c.samples}, {"ratio", number(c.ratio)}};
  };
  const auto function = [](const NativeInfo::Function& f) -> Json {
    return {{"library", textOrNull(f.leaf.library.raw())},
            {"function", textOrNull(f.leaf.function.raw())},
            {"class", text(f.className)},
            {"role", text(f.role)},
            {"ratio", number(f.leaf.ratio)},
            {"low", number(f.low)},
            {"high", number(f.high)},
            {"samples", f.samples},
            {"processes", f.processes},
            {"below", functionAndPlace(f.below)}};
  };
  return {{"samples", n.samples},
          {"spin_ratio", number(n.spinRatio)},
          {"pool_ratio", number(n.poolRatio)},
          {"kernel_ratio", number(n.kernelRatio)},
          {"classes", list(n.classes, kind)},
          {"functions", list(n.functions, function)}};
}

Json counters(const CountersInfo& c) {
  return {{"instructions_per_cycle", number(c.instructionsPerCycle)},
          {"llc_misses_per_kilo_instruction", number(c.missesPerKiloInstruction)},
          {"stalled_ratio", number(c.stalledRatio)},
          {"flops_per_s", number(c.flopsPerSecond)},
          {"running_ratio", number(c.runningRatio)}};
}

Json cost(const Cost& c) {
  return {{"price_per_hour", number(c.pricePerHour)},
          {"per_epoch", number(c.perEpoch)},
          {"wasted_per_epoch", number(c.wastedPerEpoch)}};
}

// A report nests a handful deep; deeper is not ours.
constexpr int kDeepest = 8;

void collect(const Json& json, const std::string& path, int depth,
             std::map<std::string, double>& out) {
  if (json.is_number()) out[path] = json.get<double>();
  if (!json.is_object() || depth == kDeepest) return;
  for (const auto& [name, value] : json.items())
    collect(value, path.empty() ? name : path + "." + name, depth + 1, out);
}

}  // namespace

std::string reportJson(const Analysis& a) {
  const auto line = [](const std::string& s) { return text(s); };
  Json json = {{"schema", kReportSchema},
               {"tool", {{"version", STALLPROF_VERSION}}},
               {"run", run(a.run)},
               {"coverage", coverage(a.coverage)},
               {"resources", resources(a.resources)},
               {"steps", steps(a.steps)},
               {"epochs", list(a.epochs, epoch)},
               {"breakdown", breakdown(a.breakdown)},
               {"verdict", verdict(a.verdict)},
               {"ceilings", list(a.ceilings, ceiling)},
               {"findings", list(a.findings, finding)},
               {"trainers", list(a.trainers, trainer)},
               {"not_a_problem", list(a.notAProblem, line)},
               {"not_measured", list(a.notMeasured, line)}};
  if (a.cost) json["cost"] = cost(*a.cost);  // only where a price was given
  json["functions"] = a.functions.empty() ? Json() : list(a.functions, function);
  if (a.device) json["device"] = device(*a.device);          // only where one was seen
  if (a.native) json["native"] = native(*a.native);          // only where samples were taken
  if (a.counters) json["counters"] = counters(*a.counters);  // only where some counted
  return json.dump(2, ' ', /*ensure_ascii=*/true) + "\n";
}

Result<std::map<std::string, double>> reportNumbers(const std::string& json) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("schema") || !parsed["schema"].is_string())
    return Error{Error::Kind::kDamaged, "not a stallprof report in JSON"};
  const auto schema = parsed["schema"].get<std::string>();
  if (schema != kReportSchema)
    return Error{Error::Kind::kUnsupported, "its schema is '" + escapeTerminal(schema, 64) +
                                                "'; this version reads '" + kReportSchema + "'"};
  std::map<std::string, double> numbers;
  collect(parsed, "", 0, numbers);
  return numbers;
}

}  // namespace stallprof
