// SPDX-License-Identifier: MIT
#include "present/report_json.h"

#include "present/json_values.h"
#include "stallprof/version.h"

namespace stallprof {

using namespace json_values;

namespace {

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
  return {{"library", textOrNull(l.file.raw())},
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
  Json json = {{"kind", text(l.kind)},
               {"num_workers", l.workers},
               {"batch_size", orNull(l.batchSize)},
               {"batching", text(l.batching)},
               {"prefetch_factor", orNull(l.prefetch)},
               {"pin_memory", l.pinMemory},
               {"persistent_workers", l.persistent},
               {"in_order", l.inOrder},
               {"where", place(l.where)}};
  if (!l.package.empty()) json["library"] = text(l.package);  // only where one made the loader
  return json;
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

Json native(const NativeInfo& n) {
  const auto kind = [](const NativeInfo::Class& c) -> Json {
    return {{"class", text(c.name)}, {"samples", c.samples}, {"ratio", number(c.ratio)}};
  };
  const auto function = [](const NativeInfo::Function& f) -> Json {
    return {{"library", textOrNull(f.leaf.file.raw())},
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

}  // namespace stallprof
