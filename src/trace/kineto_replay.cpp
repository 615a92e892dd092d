// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

#include "trace/kineto.h"

namespace stallprof {
namespace {

using namespace std::chrono_literals;
using Kind = KinetoSlice::Kind;

constexpr Nanos kStart = 1s;           // of the recording; its instants are never below 0
constexpr Nanos kLongestSpan = 100ms;  // of a device's span: written as often as the agent does
constexpr Nanos kUseEvery = 1s;        // totals by name, as the agent's

enum class Class : std::uint8_t { kCompute, kCopy, kCollective };

Class classOf(DeviceWorkKind kind) {
  switch (kind) {
    case DeviceWorkKind::kCollective:
      return Class::kCollective;
    case DeviceWorkKind::kToDevice:
    case DeviceWorkKind::kToHost:
    case DeviceWorkKind::kOnDevice:
    case DeviceWorkKind::kPeer:
    case DeviceWorkKind::kSet:
      return Class::kCopy;
    default:
      return Class::kCompute;
  }
}

HostMemory memoryOf(std::string_view name) {
  if (name.find("Pageable") != std::string_view::npos) return HostMemory::kPageable;
  if (name.find("Pinned") != std::string_view::npos) return HostMemory::kPinned;
  return name.find("Managed") != std::string_view::npos ? HostMemory::kManaged
                                                        : HostMemory::kUnknown;
}

DeviceCallKind callKind(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("Launch")) return DeviceCallKind::kLaunch;
  if (has("Memcpy") || has("Memset")) return DeviceCallKind::kCopy;
  if (has("Synchronize")) return DeviceCallKind::kSync;
  return has("Malloc") || has("Free") || has("MemAlloc") ? DeviceCallKind::kAllocate
                                                         : DeviceCallKind::kOther;
}

// When a device worked, out of its pieces of work: the union over its streams.
class Spans {
 public:
  Spans(StringId device, ProcessId process, EventOut& out)
      : device_(device), process_(process), out_(out) {}

  void add(Nanos at, Nanos duration, Class work) {
    edges_.push_back({at, 1, work});
    edges_.push_back({at + duration, -1, work});
  }

  void emit() {
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
      return std::tuple(a.at, a.change) < std::tuple(b.at, b.change);
    });
    for (const Edge& edge : edges_) epoch(edge);
    close(last_);
  }

 private:
  struct Edge {
    Nanos at{};
    int change = 0;
    Class work = Class::kCompute;
  };

  [[nodiscard]] int running() const { return counts_[0] + counts_[1] + counts_[2]; }

  void epoch(const Edge& edge) {
    const Nanos since = open_ ? edge.at - last_ : Nanos(0);
    if (running() > 0) {
      span_.busy += since;
      if (counts_[0] == 0) (counts_[2] > 0 ? span_.collectiveOnly : span_.copyOnly) += since;
    } else if (since >= kDeviceGap) {
      close(last_);
    }
    counts_[static_cast<std::size_t>(edge.work)] += edge.change;
    last_ = edge.at;
    if (open_ && edge.at - begin_ >= kLongestSpan) close(edge.at);
    if (!open_ && running() > 0) {
      open_ = true;
      begin_ = edge.at;
      span_ = {};
    }
    if (edge.change > 0) ++span_.works;
  }

  void close(Nanos at) {
    if (!open_) return;
    open_ = false;
    span_.device = device_;
    span_.process = process_;
    span_.duration = at - begin_;
    out_.emit(begin_, span_);
  }

  StringId device_;
  ProcessId process_;
  EventOut& out_;
  std::vector<Edge> edges_;
  std::array<int, 3> counts_{};
  DeviceSpan span_;
  Nanos begin_{}, last_{};
  bool open_ = false;
};

class Replay {
 public:
  Replay(const KinetoTrace& trace, std::int32_t workers, EventOut& out)
      : trace_(trace), workers_(workers), out_(out) {}

  void replay() {
    first_ = trace_.slices.front().at;
    trainer();
    sources();
    for (const KinetoSlice& slice : trace_.slices) emit(slice);
    devices();
    for (auto& [device, spans] : spans_) spans.emit();
    for (const auto& [key, use] : uses_) out_.emit(std::get<0>(key), use);
    for (const auto& [key, use] : callUses_) out_.emit(std::get<0>(key), use);
    out_.emit(when(end_), CommandEnd{});  // how the program ended a trace does not say
  }

 private:
  [[nodiscard]] Nanos when(Nanos at) const { return at - first_ + kStart; }

  // The process that trains: most of the fetches, steps and calls are its.
  void trainer() {
    std::map<std::int64_t, std::uint64_t> by;
    for (const KinetoSlice& slice : trace_.slices) {
      end_ = std::max(end_, slice.at + slice.duration);
      if (slice.kind != Kind::kWork) ++by[slice.pid];
    }
    const auto maximum = std::max_element(
        by.begin(), by.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    trainer_ = process(maximum == by.end() ? 1 : maximum->first);
  }

  void sources() {
    const auto say = [&](const char* name, Coverage state, const char* why) {
      SourceState source;
      source.source = out_.intern(name);
      source.state = state;
      source.why = out_.intern(why);
      out_.emit(kStart, source);
    };
    say("tier", Coverage::kFull, "T0");
    say("hook", Coverage::kPartial, "imported from a trace of PyTorch's profiler");
    const bool any = std::any_of(trace_.slices.begin(), trace_.slices.end(),
                                 [](const KinetoSlice& s) { return s.kind == Kind::kWork; });
    if (any) say("cupti", Coverage::kFull, "");
  }

  ProcessId process(std::int64_t pid) {
    const auto [at, isNew] =
        processes_.try_emplace(pid, ProcessId{static_cast<std::uint32_t>(processes_.size() + 1)});
    if (isNew)
      out_.emit(kStart,
                ProcessSeen{at->second, {}, static_cast<std::uint32_t>(pid), 0, {}, {}, {}});
    return at->second;
  }

  ThreadId thread(const KinetoSlice& slice) {
    const ProcessId of = process(slice.pid);
    const auto [at, isNew] = threads_.try_emplace(
        {slice.pid, slice.tid}, ThreadId{static_cast<std::uint32_t>(threads_.size() + 1)});
    if (isNew)
      out_.emit(kStart, ThreadSeen{at->second, of, static_cast<std::uint32_t>(slice.tid), {}});
    return at->second;
  }

  StringId name(const KinetoSlice& slice) { return out_.intern(trace_.strings.at(slice.name)); }

  void emit(const KinetoSlice& slice) {
    const Nanos at = when(slice.at);
    switch (slice.kind) {
      case Kind::kFetch:
        return fetch(slice, at);
      case Kind::kOptimizer: {
        const auto [number, isNew] =
            optimizers_.try_emplace(slice.name, static_cast<std::uint32_t>(optimizers_.size() + 1));
        return out_.emit(at, OptimizerStep{thread(slice), slice.duration, number->second});
      }
      case Kind::kRange: {
        Range range;
        range.thread = thread(slice);
        range.duration = slice.duration;
        range.name = name(slice);
        return out_.emit(at, range);
      }
      case Kind::kCall:
        return call(slice, at);
      case Kind::kWork:
        return work(slice, at);
    }
  }

  // One pass: a trace does not say where one ends.
  void fetch(const KinetoSlice& slice, Nanos at) {
    if (batch_ == 0) {
      LoaderSeen loader;
      loader.process = process(slice.pid);
      loader.loader = 1;
      loader.kind = out_.intern("torch.DataLoader");
      loader.workers = slice.workers ? workers_ : 0;
      out_.emit(kStart, loader);
    }
    Fetch fetch;
    fetch.thread = thread(slice);
    fetch.loader = fetch.epoch = 1;
    fetch.duration = slice.duration;
    fetch.batch = batch_++;
    out_.emit(at, fetch);
  }

  void call(const KinetoSlice& slice, Nanos at) {
    DeviceCall call;
    call.thread = thread(slice);
    call.process = process(slice.pid);
    call.name = name(slice);
    call.duration = slice.duration;
    call.correlation = slice.correlation;
    call.kind = callKind(trace_.strings.at(slice.name));
    out_.emit(at, call);
    DeviceCallUse& use = callUses_[{bucket(at + slice.duration), call.thread, call.name}];
    use.thread = call.thread;
    use.process = call.process;
    use.duration = kUseEvery;
    use.kind = call.kind;
    use.name = call.name;
    ++use.count;
    use.time += slice.duration;
  }

  void work(const KinetoSlice& slice, Nanos at) {
    DeviceWork work;
    work.device = device(slice.pid);
    work.process = trainer_;
    work.duration = slice.duration;
    work.kind = slice.work;
    const bool kernel = classOf(slice.work) != Class::kCopy;
    if (kernel) work.name = name(slice);
    if (!kernel) work.memory = memoryOf(trace_.strings.at(slice.name));
    work.stream = static_cast<std::uint32_t>(slice.tid);
    work.context = slice.context;
    work.correlation = slice.correlation;
    work.bytes = slice.bytes;
    work.blocks = slice.blocks;
    work.blockThreads = slice.blockThreads;
    out_.emit(at, work);
    spans_.try_emplace(slice.pid, work.device, trainer_, out_)
        .first->second.add(at, slice.duration, classOf(slice.work));
    use(work, at);
  }

  void use(const DeviceWork& work, Nanos at) {
    DeviceUse& use =
        uses_[{bucket(at + work.duration), work.device, work.kind, work.memory, work.name}];
    use.device = work.device;
    use.process = trainer_;
    use.duration = kUseEvery;
    use.kind = work.kind;
    use.memory = work.memory;
    use.name = work.name;
    ++use.count;
    use.time += work.duration;
    if (work.bytes >= 0) use.bytes = std::max<std::int64_t>(use.bytes, 0) + work.bytes;
  }

  // The second that something ended in.
  static Nanos bucket(Nanos end) { return (end - kStart) / kUseEvery * kUseEvery + kStart; }

  StringId device(std::int64_t index) { return out_.intern("device " + std::to_string(index)); }

  void devices() {
    for (const KinetoDevice& known : trace_.devices) {
      DeviceSeen seen;
      seen.device = device(known.index);
      seen.process = trainer_;
      seen.name = out_.intern(trace_.strings.at(known.name));
      seen.ordinal = static_cast<std::int32_t>(known.index);
      seen.multiprocessors = static_cast<std::int32_t>(known.multiprocessors);
      seen.majorCapability = static_cast<std::int32_t>(known.major);
      seen.minorCapability = static_cast<std::int32_t>(known.minor);
      seen.memoryBytes = known.memoryBytes;
      if (spans_.count(known.index) != 0) out_.emit(kStart, seen);
    }
    if (spans_.empty()) return;
    DeviceTrace traced;
    traced.process = trainer_;
    traced.duration = end_ - first_;
    traced.kernels = traced.calls = traced.each = true;
    out_.emit(kStart, traced);
  }

  const KinetoTrace& trace_;
  std::int32_t workers_;
  EventOut& out_;
  Nanos first_{}, end_{};
  ProcessId trainer_;
  std::map<std::int64_t, ProcessId> processes_;
  std::map<std::pair<std::int64_t, std::int64_t>, ThreadId> threads_;
  std::map<StringId, std::uint32_t> optimizers_;
  std::map<std::int64_t, Spans> spans_;
  std::map<std::tuple<Nanos, StringId, DeviceWorkKind, HostMemory, StringId>, DeviceUse> uses_;
  std::map<std::tuple<Nanos, ThreadId, StringId>, DeviceCallUse> callUses_;
  std::int64_t batch_ = 0;
};

}  // namespace

Manifest manifestOf(const KinetoTrace& trace, const std::string& file) {
  Manifest manifest;
  manifest.command = {Untrusted("import"), Untrusted(file)};
  manifest.startedMonotonic = kStart;
  const Nanos first = trace.slices.empty() ? Nanos(0) : trace.slices.front().at;
  manifest.startedRealtime = std::max(Nanos(0), trace.base + first);
  const auto set = [&](const char* name, std::int64_t value) {
    if (value >= 0) manifest.environment.emplace_back(name, Untrusted(std::to_string(value)));
  };
  set("RANK", trace.rank);
  set("WORLD_SIZE", trace.world);
  return manifest;
}

void replayKineto(const KinetoTrace& trace, std::int32_t workers, EventOut& out) {
  if (!trace.slices.empty()) Replay(trace, workers, out).replay();
}

}  // namespace stallprof
