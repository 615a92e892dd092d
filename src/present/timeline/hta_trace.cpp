// SPDX-License-Identifier: MIT
#include "present/timeline/hta_trace.h"

#include <algorithm>
#include <set>

#include "analysis/blame/samples/ranks.h"
#include "classify/kernels.h"

namespace stallprof {
namespace {

// The legacy default stream's number in CUPTI, and so in every trace of Kineto's. HTA counts work
// of stream 0 for no step.
constexpr std::uint32_t kDefaultStream = 7;

std::int64_t microseconds(Nanos t) { return t.count() / 1000; }

std::string_view hostName(HostMemory memory) {
  if (memory == HostMemory::kPinned) return "Pinned";
  return memory == HostMemory::kManaged ? "Managed" : "Pageable";
}

// Kineto's name of a copy or set; nothing for a kernel.
std::string copyName(const DeviceWork& work) {
  const std::string host(hostName(work.memory));
  switch (work.kind) {
    case DeviceWorkKind::kToDevice:
      return "Memcpy HtoD (" + host + " -> Device)";
    case DeviceWorkKind::kToHost:
      return "Memcpy DtoH (Device -> " + host + ")";
    case DeviceWorkKind::kOnDevice:
      return "Memcpy DtoD (Device -> Device)";
    case DeviceWorkKind::kPeer:
      return "Memcpy PtoP (Device -> Device)";
    case DeviceWorkKind::kSet:
      return "Memset (Device)";
    default:
      return {};
  }
}

// A slice in Kineto's words.
struct HtaWords {
  std::string_view category = "user_annotation";
  std::string name, args;
};

class HtaSink final : public TraceSink {
 public:
  HtaSink(const Trace& trace, ByteStream& out) : trace_(trace), out_(out) {
    for (const auto& row : trace.loaders)
      if (row.data.workers > 0) withWorkers_.emplace(row.data.process, row.data.loader);
  }

  void lane(const TraceLane&) override {}  // named with its first slice: most have none here

  void slice(const TraceLane& lane, const TraceSlice& slice) override {
    if (slice.kind == SliceKind::kBusy) return;  // a union of works, not work
    nameLane(lane);
    const HtaWords words = wordsOf(lane, slice);
    const std::int64_t begin = microseconds(slice.begin - trace_.begin);
    line() << "{\"ph\":\"X\",\"cat\":\"" << words.category
           << "\",\"name\":" << jsonText(words.name, KernelName::kLongest) << whereOf(lane)
           << ",\"ts\":" << std::to_string(begin)
           << ",\"dur\":" << std::to_string(microseconds(slice.end - trace_.begin) - begin)
           << ",\"args\":" << words.args << "}";
    last_ = std::max(last_, slice.end);
  }

  void counter(const TraceLane&, std::string_view, std::string_view, Nanos, double) override {}

  // What closes a trace of Kineto's.
  void close() {
    line() << "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":0,\"tid\":0,\"ts\":"
           << std::to_string(microseconds(std::max(last_, trace_.begin) - trace_.begin)) << "}";
  }

 private:
  HtaWords wordsOf(const TraceLane& lane, const TraceSlice& slice) {
    if (slice.kind == SliceKind::kWork) return work(lane, slice);
    if (slice.kind == SliceKind::kCall) return call(slice);
    HtaWords words;
    words.name = slice.name;
    words.args = jsonArgs(slice);
    if (slice.kind == SliceKind::kFetch) {
      const Fetch& fetch = trace_.fetches[slice.row].data;  // one of an import names no worker
      const bool many = fetch.worker >= 0 ||
                        withWorkers_.contains({trace_.thread(fetch.thread).process, fetch.loader});
      words.name = std::string("enumerate(DataLoader)#_") +
                   (many ? "MultiProcessing" : "SingleProcess") + "DataLoaderIter.__next__";
    }
    if (slice.kind == SliceKind::kOptimizer) words.name = "Optimizer.step#step";
    return words;
  }

  HtaWords work(const TraceLane& lane, const TraceSlice& slice) const {
    const DeviceWork& work = trace_.deviceWorks[slice.row].data;
    HtaWords words;
    words.category = work.kind == DeviceWorkKind::kSet ? "gpu_memset" : "gpu_memcpy";
    words.name = copyName(work);
    if (words.name.empty()) {
      words.category = "kernel";
      words.name = kernelName(slice.name).shortName;
      if (words.name.empty()) words.name = slice.name;
    }
    std::string& args = words.args;
    args = "{\"device\":" + std::to_string(lane.device) +
           ",\"context\":" + std::to_string(work.context) +
           ",\"stream\":" + std::to_string(work.stream == 0 ? kDefaultStream : work.stream);
    const auto add = [&args](const char* key, const std::string& value) {
      args += std::string(",\"") + key + "\":" + value;
    };
    if (work.correlation != 0) add("correlation", std::to_string(work.correlation));
    if (work.bytes >= 0) add("bytes", std::to_string(work.bytes));
    if (work.blocks >= 0) add("grid", "[" + std::to_string(work.blocks) + ",1,1]");
    if (work.blockThreads >= 0) add("block", "[" + std::to_string(work.blockThreads) + ",1,1]");
    args += "}";
    return words;
  }

  HtaWords call(const TraceSlice& slice) {
    const DeviceCall& call = trace_.deviceCalls[slice.row].data;
    HtaWords words;
    words.name = slice.name;
    const bool driver = slice.name.rfind("cu", 0) == 0 && slice.name.rfind("cuda", 0) != 0;
    words.category = driver ? "cuda_driver" : "cuda_runtime";
    // HTA joins works and calls by it: two calls that share one would count the work twice.
    const bool joins = call.correlation != 0 && joined_.insert(call.correlation).second;
    words.args = joins ? "{\"correlation\":" + std::to_string(call.correlation) + "}" : "{}";
    return words;
  }

  void nameLane(const TraceLane& lane) {
    if (!lanes_.insert(lane.index).second) return;
    const std::string where = whereOf(lane);
    if (processes_.insert(lane.pid).second) {
      meta("process_name", where, "\"name\":" + jsonText(lane.process));
      const std::string label = lane.device < 0 ? "CPU" : "GPU " + std::to_string(lane.device);
      meta("process_labels", where, "\"labels\":\"" + label + "\"");
      meta("process_sort_index", where, "\"sort_index\":" + std::to_string(lane.processOrder));
    }
    meta("thread_name", where, "\"name\":" + jsonText(lane.name));
    meta("thread_sort_index", where, "\"sort_index\":" + std::to_string(lane.order));
  }
  static std::string whereOf(const TraceLane& lane) {
    return ",\"pid\":" + std::to_string(lane.device < 0 ? lane.pid : lane.device) +
           ",\"tid\":" + std::to_string(lane.tid);
  }
  ByteStream& line() {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
    return out_;
  }
  void meta(std::string_view name, const std::string& where, const std::string& arg) {
    line() << "{\"ph\":\"M\",\"name\":\"" << name << "\"" << where << ",\"ts\":0,\"args\":{" << arg
           << "}}";
  }

  const Trace& trace_;
  ByteStream& out_;
  bool first_ = true;
  std::set<std::size_t> lanes_;
  std::set<std::int64_t> processes_;
  std::set<std::uint32_t> joined_;  // correlations that a call has; bounded as the slices are
  Nanos last_{};
  std::set<std::pair<ProcessId, std::uint32_t>> withWorkers_;  // loaders
};

// The devices of the trainer's process, numbered by appearance as the lanes are.
std::string deviceProperties(const Trace& trace, ProcessId trainer) {
  std::string out;
  std::set<StringId> seen;
  for (const auto& row : trace.devices) {
    const DeviceSeen& device = row.data;
    if (device.process != trainer || !seen.insert(device.device).second) continue;
    out += (out.empty() ? "" : ", ") + std::string("{\"id\": ") + std::to_string(seen.size() - 1) +
           ", \"name\": " + jsonText(trace.text(device.name));
    const auto add = [&out](const char* key, std::int64_t value) {
      if (value >= 0) out += std::string(", \"") + key + "\": " + std::to_string(value);
    };
    add("totalGlobalMem", device.memoryBytes);
    add("numSms", device.multiprocessors);
    add("computeMajor", device.majorCapability);
    add("computeMinor", device.minorCapability);
    out += "}";
  }
  return out;
}

std::int64_t worldOf(const Trace& trace, const Roles& roles) {
  auto world = std::max(static_cast<std::int64_t>(roles.trainers.size()),
                        trace.manifest.numberIn("WORLD_SIZE").value_or(1));
  for (std::size_t i = 0; i < roles.trainers.size(); ++i)
    world = std::max(world, rankOf(trace, roles, i) + 1);
  return world;
}

}  // namespace

std::int64_t rankOf(const Trace& trace, const Roles& roles, std::size_t trainer) {
  std::set<int> shown;
  Maybe<int> own;
  for (std::size_t i = 0; i < roles.trainers.size(); ++i) {
    const auto rank = rankOf(trace, roles.trainers[i].process, roles.trainers.size() == 1);
    if (rank) shown.insert(*rank);
    if (i == trainer) own = rank;
  }
  // Two jobs in one recording both have a rank 0: their files would have one name.
  return own && shown.size() == roles.trainers.size() ? *own : static_cast<std::int64_t>(trainer);
}

std::string htaFileName(std::int64_t rank) {
  return "rank" + std::to_string(rank) + ".pt.trace.json";
}

TraceWritten writeHtaTrace(const Trace& trace, const Analyzed& analyzed,
                           const TimelineOptions& given, const WriteBytes& write) {
  TimelineOptions options = given;
  options.oneInterval = true;
  const Roles& roles = analyzed.roles;
  const ProcessId process = options.trainer < roles.trainers.size()
                                ? roles.trainers[options.trainer].process
                                : ProcessId{};
  ByteStream out(write);
  // HTA finds the rank by `"rank":\s+(\d+)`, line by line: the space is needed.
  out << "{\n\"schemaVersion\": 1,\n\"deviceProperties\": [" << deviceProperties(trace, process)
      << "],\n\"distributedInfo\": {\"backend\": \"\", \"rank\": "
      << std::to_string(rankOf(trace, roles, options.trainer))
      << ", \"world_size\": " << std::to_string(worldOf(trace, roles))
      << "},\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": "
      << std::to_string(realtimeOfBegin(trace).count()) << ",\n\"traceEvents\": [";
  HtaSink sink(trace, out);
  TraceWritten written;
  written.summary = drawTimeline(trace, analyzed, options, sink);
  sink.close();
  out << "\n],\n\"traceName\": \"stallprof\",\n\"stallprof\": " << summaryJson(written.summary)
      << "\n}\n";
  written.ok = out.flush();
  written.bytes = out.bytes();
  return written;
}

}  // namespace stallprof
