// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/largest.h"
#include "recording/activity/activity_spans.h"
#include "recording/activity/activity_work.h"
#include "trace/kineto.h"

namespace stallprof {
namespace {

using namespace std::chrono_literals;
using Kind = KinetoSlice::Kind;

constexpr Nanos kStart = 1s;           // of the recording; its instants are never below 0
constexpr Nanos kLongestSpan = 100ms;  // of a device's span: written as often as the agent does
constexpr Nanos kUseEvery = 1s;        // totals by name, as the agent's
constexpr std::size_t kMaxEnds = 3;    // an epoch has more fetches than so many for each end

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

class Replay {
 public:
  Replay(const KinetoTrace& trace, std::int32_t workers, EventOut& out)
      : trace_(trace), workers_(workers), out_(out) {}

  void replay() {
    first_ = trace_.slices.front().at;
    trainer();
    sources();
    findEnds();
    for (const KinetoSlice& slice : trace_.slices) emit(slice);
    announceDevices();
    for (auto& [index, device] : devices_) settle(device, when(end_) + Nanos(1));
    for (const auto& [key, use] : uses_) out_.emit(std::get<0>(key), use);
    for (const auto& [key, use] : callUses_) out_.emit(std::get<0>(key), use);
    out_.emit(when(end_), CommandEnd{});  // how the program ended a trace does not say
  }

 private:
  struct Device {
    StringId name;
    BusyUnion work;
    Nanos settled = kStart;
  };

  [[nodiscard]] Nanos when(Nanos at) const { return at - first_ + kStart; }

  // The process that trains: most of the fetches, steps and calls are its.
  void trainer() {
    std::map<std::int64_t, std::uint64_t> by;
    for (const KinetoSlice& slice : trace_.slices) {
      end_ = std::max(end_, slice.at + slice.duration);
      if (slice.kind != Kind::kWork) ++by[slice.pid];
    }
    const auto maximum = largestIn(by);
    trainer_ = process(maximum == by.end() ? 1 : maximum->first);
  }

  // Fetches that got no batch, as an epoch was over: the thread asks again with no call of it to
  // CUDA in between. One that makes none shows no ends, nor one that takes from several loaders by
  // turns, which asks again and again.
  void findEnds() {
    struct Asked {
      const KinetoSlice* fetch = nullptr;
      bool worked = false;
    };
    std::map<std::pair<std::int64_t, std::int64_t>, Asked> last;
    std::set<std::pair<std::int64_t, std::int64_t>> calling;
    std::size_t fetches = 0;
    for (const KinetoSlice& slice : trace_.slices)
      if (slice.kind == Kind::kCall) calling.insert({slice.pid, slice.tid});
    for (const KinetoSlice& slice : trace_.slices) {
      Asked& asked = last[{slice.pid, slice.tid}];
      const bool after = asked.fetch && slice.at >= asked.fetch->at + asked.fetch->duration;
      asked.worked =
          asked.worked || (after && (slice.kind == Kind::kCall || slice.kind == Kind::kOptimizer));
      if (slice.kind != Kind::kFetch || !calling.contains({slice.pid, slice.tid})) continue;
      if (asked.fetch && !asked.worked) ends_.insert(asked.fetch);
      asked = {&slice, false};
      ++fetches;
    }
    if (kMaxEnds * ends_.size() > fetches) ends_.clear();
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

  // One loader with workers, and one without: a trace does not show which of several it is.
  void fetch(const KinetoSlice& slice, Nanos at) {
    const auto [loader, isNew] = loaders_.try_emplace(
        slice.workers, Loader{static_cast<std::uint32_t>(loaders_.size() + 1), 0, 0});
    if (isNew) {
      LoaderSeen seen;
      seen.process = process(slice.pid);
      seen.loader = loader->second.number;
      seen.kind = out_.intern("torch.DataLoader");
      seen.workers = slice.workers ? workers_ : 0;
      out_.emit(kStart, seen);
    }
    Fetch fetch;
    fetch.thread = thread(slice);
    Loader& of = loader->second;
    if (of.epoch == 0) of.epoch = ++epochs_;
    fetch.loader = of.number;
    fetch.epoch = of.epoch;
    fetch.duration = slice.duration;
    fetch.end = ends_.contains(&slice);
    if (!fetch.end) fetch.batch = of.batches++;
    out_.emit(at, fetch);
    if (!fetch.end) return;
    of.epoch = 0;
    of.batches = 0;
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
    const bool kernel = busyWith(slice.work) != BusyWith::kCopy;
    if (kernel) work.name = name(slice);
    if (!kernel) work.memory = memoryOf(trace_.strings.at(slice.name));
    work.stream = static_cast<std::uint32_t>(slice.tid);
    work.context = slice.context;
    work.correlation = slice.correlation;
    work.bytes = slice.bytes;
    work.blocks = slice.blocks;
    work.blockThreads = slice.blockThreads;
    out_.emit(at, work);
    Device& on = devices_[slice.pid];
    on.name = work.device;
    if (at - on.settled >= kLongestSpan) settle(on, at);
    on.work.add(at.count(), (at + slice.duration).count(), busyWith(slice.work));
    use(work, at);
  }

  // Slices come by time, so nothing that begins before `until` follows.
  void settle(Device& device, Nanos until) {
    std::vector<BusySpan> spans;
    device.work.settle(until.count(), kDeviceGap.count(), SIZE_MAX, spans);
    for (const BusySpan& span : spans)
      out_.emit(Nanos(span.begin),
                DeviceSpan{device.name, trainer_, Nanos(span.end - span.begin), Nanos(span.busy),
                           Nanos(span.copyOnly), Nanos(span.collectiveOnly), span.works});
    device.settled = until;
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

  void announceDevices() {
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
      if (devices_.count(known.index) != 0) out_.emit(kStart, seen);
    }
    if (devices_.empty()) return;
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
  std::map<std::int64_t, Device> devices_;  // by index
  std::map<std::tuple<Nanos, StringId, DeviceWorkKind, HostMemory, StringId>, DeviceUse> uses_;
  std::map<std::tuple<Nanos, ThreadId, StringId>, DeviceCallUse> callUses_;
  struct Loader {
    std::uint32_t number = 0;
    std::int64_t batches = 0;
    std::uint32_t epoch = 0;  // 0: none is open
  };
  std::uint32_t epochs_ = 0;
  std::set<const KinetoSlice*> ends_;
  std::map<bool, Loader> loaders_;  // by whether it has workers
};

}  // namespace

Manifest manifestOf(const KinetoTrace& trace, const std::string& file) {
  Manifest manifest;
  manifest.command = {Untrusted(std::string(Manifest::kImport)), Untrusted(file)};
  manifest.startedMonotonic = kStart;
  const Nanos first = trace.slices.empty() ? Nanos(0) : trace.slices.front().at;
  if (trace.base != Nanos(0))  // without it instants have a begin of their own
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
