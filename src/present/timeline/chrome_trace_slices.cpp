// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analysis/describe/describe.h"
#include "present/timeline/chrome_trace_lanes.h"

namespace stallprof {
namespace {

std::string batchName(const char* verb, std::int64_t batch) {
  return std::string(verb) + " batch " + (batch < 0 ? "?" : std::to_string(batch));
}

void addKnown(TraceSlice& slice, std::string_view key, std::int64_t value) {
  if (value >= 0) slice.args.push_back({key, value});
}

void addText(TraceSlice& slice, std::string_view key, std::string_view value) {
  if (!value.empty()) slice.args.push_back({key, std::string(value.substr(0, 400))});
}

// Where a batch begins its way, and where it ends; never back in time.
void addFlow(TraceSlice& slice, std::uint64_t flow, bool ends, Nanos at) {
  slice.flow = flow;
  slice.flowEnds = ends;
  slice.flowAt = std::clamp(at, slice.begin, std::max(slice.begin, slice.end - Nanos(1)));
}

void writeFetch(const Trace& trace, const SliceRef& ref, const BatchFlows& flows,
                TraceSlice& slice) {
  const Fetch& fetch = trace.fetches[ref.row].data;
  slice.name = fetch.end ? "next() ends the epoch" : batchName("next():", fetch.batch);
  addKnown(slice, "batch", fetch.batch);
  addKnown(slice, "worker", fetch.worker);
  addKnown(slice, "ready", fetch.ready);
  addKnown(slice, "iterator", fetch.epoch);
  addKnown(slice, "loader", fetch.loader);
  addKnown(slice, "cpu_ns", fetch.cpu.count());
  if (const std::uint64_t flow = flows.ofFetch(ref.row); flow != 0)
    addFlow(slice, flow, true, flows.making(flow).end);
}

void writeTask(const Trace& trace, const SliceRef& ref, const BatchFlows& flows,
               TraceSlice& slice) {
  const WorkerTask& task = trace.tasks[ref.row].data;
  if (ref.kind == SliceKind::kIndexWait) slice.name = "waits for an index";
  if (ref.kind == SliceKind::kSend) slice.name = batchName("sends", task.batch);
  addKnown(slice, "batch", task.batch);
  addKnown(slice, "worker", task.worker);
  if (ref.kind != SliceKind::kMake) return;
  slice.name = batchName("makes", task.batch);
  addKnown(slice, "cpu_ns", task.cpu.count());
  addKnown(slice, "process_cpu_ns", task.processCpu.count());
  addKnown(slice, "bytes", task.bytes);
  addKnown(slice, "major_faults", task.majorFaults);
  if (const std::uint64_t flow = flows.ofTask(ref.row); flow != 0)
    addFlow(slice, flow, false, slice.end);
}

void writeSpan(const Trace& trace, const SliceRef& ref, TraceSlice& slice) {
  const PhaseSpan& span = trace.spans[ref.row].data;
  slice.name = trace.text(span.name);
  if (slice.name.empty()) slice.name = nameOf(span.phase);
  addText(slice, "phase", nameOf(span.phase));
  addText(slice, "source", nameOf(span.source));
  addText(slice, "file", trace.text(span.file));
  if (span.line > 0) addKnown(slice, "line", span.line);
}

void writeRange(const Trace& trace, const SliceRef& ref, TraceSlice& slice) {
  const Range& range = trace.ranges[ref.row].data;
  slice.name = trace.text(range.name);
  addText(slice, "domain", trace.text(range.domain));
  addText(slice, "category", trace.text(range.category));
  addKnown(slice, "bytes", range.bytes);
}

void writeCall(const Trace& trace, const SliceRef& ref, TraceSlice& slice) {
  const DeviceCall& call = trace.deviceCalls[ref.row].data;
  slice.name = trace.text(call.name);
  if (slice.name.empty()) slice.name = nameOf(call.kind);
  addText(slice, "kind", nameOf(call.kind));
  if (call.correlation != 0) addKnown(slice, "correlation", call.correlation);
}

}  // namespace

SliceWriter::SliceWriter(const Trace& trace, const TimelineLanes& lanes)
    : trace_(trace), lanes_(lanes) {
  for (const TrainerFacts& trainer : lanes.trainers) epochs_.push_back(epochNumbers(trainer));
}

void SliceWriter::step(const SliceRef& ref, TraceSlice& slice) const {
  const Step& step = lanes_.trainers[ref.trainer].steps[ref.row];
  slice.name = "ProfilerStep#" + std::to_string(step.number);
  addKnown(slice, "batch", step.batch);
  const auto& epochs = epochs_[ref.trainer];
  if (const auto epoch = epochs.find(step.epoch); epoch != epochs.end())
    addKnown(slice, "epoch", epoch->second);
  addKnown(slice, "data_wait_ns", step.split.wait.count());
  addKnown(slice, "load_ns", step.split.load.count());
  addKnown(slice, "compute_ns", step.split.compute.count());
  addKnown(slice, "sync_ns", step.split.sync.count());
  addKnown(slice, "comm_ns", step.split.comm.count());
  addKnown(slice, "periodic_ns", step.split.periodic.count());
  addKnown(slice, "other_ns", step.split.other.count());
}

void SliceWriter::work(const SliceRef& ref, TraceSlice& slice) const {
  const DeviceWork& work = trace_.deviceWorks[ref.row].data;
  slice.name = trace_.text(work.name);
  if (slice.name.empty()) slice.name = nameOf(work.kind);
  addText(slice, "kind", nameOf(work.kind));
  addKnown(slice, "stream", work.stream);
  addKnown(slice, "context", work.context);
  addKnown(slice, "correlation", work.correlation);
  addKnown(slice, "bytes", work.bytes);
  addKnown(slice, "blocks", work.blocks);
  addKnown(slice, "block_threads", work.blockThreads);
  if (work.memory != HostMemory::kUnknown) addText(slice, "memory", nameOf(work.memory));
}

void SliceWriter::write(const SliceRef& ref, const BatchFlows& flows, TraceSlice& slice) const {
  slice.kind = ref.kind;
  slice.begin = ref.begin;
  slice.end = ref.end;
  slice.row = ref.row;
  slice.name.clear();
  slice.args.clear();
  slice.flow = 0;
  slice.cut = {};
  switch (ref.kind) {
    case SliceKind::kStep:
      return step(ref, slice);
    case SliceKind::kFetch:
      return writeFetch(trace_, ref, flows, slice);
    case SliceKind::kIndexWait:
    case SliceKind::kMake:
    case SliceKind::kSend:
      return writeTask(trace_, ref, flows, slice);
    case SliceKind::kSpan:
      return writeSpan(trace_, ref, slice);
    case SliceKind::kRange:
      return writeRange(trace_, ref, slice);
    case SliceKind::kCall:
      return writeCall(trace_, ref, slice);
    case SliceKind::kWork:
      return work(ref, slice);
    case SliceKind::kIterator:
      slice.name = "iter(loader)";
      addKnown(slice, "iterator", trace_.iterators[ref.row].data.epoch);
      return addKnown(slice, "loader", trace_.iterators[ref.row].data.loader);
    case SliceKind::kOptimizer:
      slice.name = "optimizer step";
      return addKnown(slice, "optimizer", trace_.optimizerSteps[ref.row].data.optimizer);
    case SliceKind::kBusy:
      slice.name = "busy";
      addKnown(slice, "busy_ns", trace_.deviceSpans[ref.row].data.busy.count());
      return addKnown(slice, "works", trace_.deviceSpans[ref.row].data.works);
    case SliceKind::kGc:
      slice.name = "garbage collection";
      return;
    case SliceKind::kMerged:
      return;
  }
}

}  // namespace stallprof
