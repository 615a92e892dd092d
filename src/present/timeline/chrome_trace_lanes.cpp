// SPDX-License-Identifier: MIT
#include "present/timeline/chrome_trace_lanes.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace stallprof {
namespace {

// Linux's greatest pid is 2^22 (include/linux/threads.h, PID_MAX_LIMIT): ids above are ours.
constexpr std::int64_t kAboveAnyPid = (1 << 22) + 1;
constexpr int kDeviceOrder = 500, kWorkerOrder = 1'000, kHelperOrder = 1'000'000;
constexpr std::size_t kMaxCounted = 200;  // processes with counters of their own

enum class Place : std::uint8_t { kThread, kAnnotated, kCalls, kGc, kBusy, kStream };

std::string_view shortText(std::string_view text) { return text.substr(0, 200); }

class Layout {
 public:
  Layout(const Trace& trace, const Analyzed& analyzed, const TimelineOptions& options)
      : trace_(trace), analyzed_(analyzed), options_(options) {
    for (const auto& row : trace.workers)
      workerOf_[trace.thread(row.data.thread).process] = row.data.worker;
    for (std::size_t i = 0; i < analyzed.roles.trainers.size(); ++i)
      trainerOf_[analyzed.roles.trainers[i].process] = static_cast<int>(i);
  }

  TimelineLanes lay() {
    trainers();
    threads();
    devices();
    gc();
    finish();
    counted();
    return std::move(out_);
  }

 private:
  using Key = std::tuple<Place, std::uint32_t, std::uint32_t, std::uint32_t>;

  // Of the trainer asked for, or its child, its child's child...
  bool shown(ProcessId id) const {
    if (!options_.oneInterval) return true;
    const auto trains = [&](ProcessId process) { return trainerOf_.count(process) != 0; };
    const ProcessId trainer = trains(id) ? id : firstAbove(trace_, id, trains);
    return !trainer.none() && static_cast<std::size_t>(trainerOf_.at(trainer)) == options_.trainer;
  }

  int orderOf(ProcessId id) const {
    if (const auto at = trainerOf_.find(id); at != trainerOf_.end()) return at->second;
    if (const auto at = workerOf_.find(id); at != workerOf_.end()) return kWorkerOrder + at->second;
    return kHelperOrder;
  }

  std::string nameOf(ProcessId id) const {
    const ProcessLife& life = trace_.process(id);
    const std::string comm(shortText(trace_.text(life.comm)));
    if (const auto at = workerOf_.find(id); at != workerOf_.end())
      return "worker " + std::to_string(at->second) + " (" + comm + ")";
    return std::string(stallprof::nameOf(analyzed_.roles.of(id))) + " (" + comm + ")";
  }

  // A pid that came twice is two processes, and a viewer must not join them.
  std::int64_t pidOf(ProcessId id) {
    const auto known = pids_.find(id);
    if (known != pids_.end()) return known->second;
    const auto pid = static_cast<std::int64_t>(trace_.process(id).pid);
    const bool fresh = pid > 0 && taken_.insert(pid).second;
    return pids_[id] = fresh ? pid : nextId_++;
  }

  TraceLane processLane(ProcessId id) {
    TraceLane lane;
    lane.pid = pidOf(id);
    lane.tid = lane.pid;
    lane.process = nameOf(id);
    lane.processOrder = orderOf(id);
    return lane;
  }

  LaneDraft& draft(const Key& key, ProcessId process) {
    const auto [at, isNew] = drafts_.try_emplace(key);
    if (isNew) {
      at->second.process = process;
      at->second.lane = processLane(process);
    }
    return at->second;
  }

  void add(ThreadId thread, ProcessId process, const SliceRef& ref) {
    const bool known = !thread.none() && trace_.thread(thread).id == thread;
    if (known) process = trace_.thread(thread).process;
    if (!shown(process)) return;
    const Key key{known ? Place::kThread : Place::kCalls, known ? thread.value : process.value, 0,
                  0};
    LaneDraft& lane = draft(key, process);
    if (lane.refs.empty()) nameThread(lane.lane, known ? &trace_.thread(thread) : nullptr);
    lane.refs.push_back(ref);
  }

  void nameThread(TraceLane& lane, const ThreadLife* thread) {
    if (thread == nullptr) {
      lane.name = "device calls";
      lane.tid = nextId_++;
      lane.order = 2;
      return;
    }
    const bool main = thread->tid == trace_.process(thread->process).pid;
    const bool fresh = thread->tid != 0 && tids_.insert({lane.pid, thread->tid}).second;
    lane.tid = fresh ? static_cast<std::int64_t>(thread->tid) : nextId_++;
    lane.name = main ? "main" : std::string(shortText(trace_.text(thread->name)));
    lane.order = main ? 0 : 1;
  }

  // Steps of the thread are drawn, by the name that PyTorch's profiler gives to its own.
  bool steps(ThreadId thread) const {
    return std::any_of(out_.trainers.begin(), out_.trainers.end(), [&](const TrainerFacts& t) {
      return t.thread == thread && !t.steps.empty();
    });
  }

  // A step ends where the next fetch begins, and a range around that fetch begins just before: on
  // one lane one of them would be cut to almost nothing.
  bool crossesStep(ThreadId thread, const Interval& range) const {
    for (const TrainerFacts& trainer : out_.trainers) {
      if (trainer.thread != thread) continue;
      const auto around = [&](Nanos t) {
        const auto step = std::upper_bound(trainer.steps.begin(), trainer.steps.end(), t,
                                           [](Nanos at, const Step& s) { return at < s.end; });
        return step != trainer.steps.end() && step->begin < t ? &*step : nullptr;
      };
      const Step *first = around(range.begin), *last = around(range.end);
      if ((first && first->end < range.end) || (last && range.begin < last->begin)) return true;
    }
    return false;
  }

  template <class P>
  void addAnnotated(const Table<P>& table, SliceKind kind) {
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      const SliceRef ref{table[i].at, table[i].end(), i, kind};
      const ThreadId id = table[i].data.thread;
      if (steps(id) && trace_.text(table[i].data.name).starts_with("ProfilerStep#")) continue;
      const auto own = drafts_.find(Key{Place::kThread, id.value, 0, 0});
      if (own == drafts_.end() || !crossesStep(id, {ref.begin, ref.end})) {
        add(id, {}, ref);
        continue;
      }
      const LaneDraft& beside = own->second;
      LaneDraft& lane = draft(Key{Place::kAnnotated, id.value, 0, 0}, beside.process);
      if (lane.refs.empty()) {
        lane.lane.name = beside.lane.name + " (ranges)";
        lane.lane.order = beside.lane.order;
        lane.lane.tid = nextId_++;
      }
      lane.refs.push_back(ref);
    }
  }

  template <class P>
  void addAll(const Table<P>& table, SliceKind kind) {
    for (std::uint32_t i = 0; i < table.size(); ++i)
      add(table[i].data.thread, {}, {table[i].at, table[i].end(), i, kind});
  }

  void trainers() {
    for (std::size_t i = 0; i < analyzed_.roles.trainers.size(); ++i) {
      const TrainerIdentity& who = analyzed_.roles.trainers[i];
      if (!shown(who.process)) continue;
      out_.trainers.push_back(analyzed_.factsOf(trace_, who));
      const auto& steps = out_.trainers.back().steps;
      for (std::uint32_t s = 0; s < steps.size(); ++s)
        add(who.thread, who.process,
            {steps[s].begin, steps[s].end, s, SliceKind::kStep,
             static_cast<std::uint16_t>(out_.trainers.size() - 1)});
    }
  }

  void threads() {
    addAll(trace_.iterators, SliceKind::kIterator);
    addAll(trace_.fetches, SliceKind::kFetch);
    addAnnotated(trace_.spans, SliceKind::kSpan);
    addAnnotated(trace_.ranges, SliceKind::kRange);
    addAll(trace_.optimizerSteps, SliceKind::kOptimizer);
    for (std::uint32_t i = 0; i < trace_.tasks.size(); ++i) {
      const auto& [at, task] = trace_.tasks[i];
      const Nanos begin = at + task.fetchBegin, end = at + task.fetchEnd;
      add(task.thread, {}, {at, begin, i, SliceKind::kIndexWait});
      add(task.thread, {}, {begin, end, i, SliceKind::kMake});
      add(task.thread, {}, {end, at + task.putEnd, i, SliceKind::kSend});
    }
    for (std::uint32_t i = 0; i < trace_.deviceCalls.size(); ++i) {
      const auto& row = trace_.deviceCalls[i];
      add(row.data.thread, row.data.process, {row.at, row.end(), i, SliceKind::kCall});
    }
  }

  int deviceOf(StringId device) {
    const auto at = std::find(out_.devices.begin(), out_.devices.end(), device);
    if (at != out_.devices.end()) return static_cast<int>(at - out_.devices.begin());
    const int index = static_cast<int>(out_.devices.size());
    TraceLane lane;
    lane.device = index;
    lane.pid = nextId_++;
    lane.tid = lane.pid;
    lane.processOrder = kDeviceOrder + index;
    lane.process =
        "GPU " + std::to_string(index) + " (" + std::string(shortText(trace_.text(device))) + ")";
    out_.devices.push_back(device);
    out_.deviceProcesses.push_back(lane);
    return index;
  }

  void addDevice(Place place, StringId device, ProcessId process, std::uint32_t stream,
                 const SliceRef& ref) {
    if (!shown(process)) return;
    const auto index = static_cast<std::size_t>(deviceOf(device));
    const auto [at, isNew] =
        drafts_.try_emplace(Key{place, static_cast<std::uint32_t>(index), process.value, stream});
    LaneDraft& lane = at->second;
    if (isNew) {
      lane.lane = out_.deviceProcesses[index];
      lane.process = process;
      const std::string pid = std::to_string(trace_.process(process).pid);
      lane.lane.name = place == Place::kBusy ? "busy for " + pid
                                             : "stream " + std::to_string(stream) + " of " + pid;
      lane.lane.order = place == Place::kBusy ? 0 : 1;
      const auto wanted = static_cast<std::int64_t>(stream);
      const bool fresh = place == Place::kStream && tids_.insert({lane.lane.pid, wanted}).second;
      lane.lane.tid = fresh ? wanted : nextId_++;
    }
    lane.refs.push_back(ref);
  }

  void devices() {
    for (const auto& row : trace_.devices)
      if (shown(row.data.process) || !options_.oneInterval) deviceOf(row.data.device);
    for (std::uint32_t i = 0; i < trace_.deviceSpans.size(); ++i) {
      const auto& row = trace_.deviceSpans[i];
      addDevice(Place::kBusy, row.data.device, row.data.process, 0,
                {row.at, row.end(), i, SliceKind::kBusy});
    }
    for (std::uint32_t i = 0; i < trace_.deviceWorks.size(); ++i) {
      const auto& row = trace_.deviceWorks[i];
      addDevice(Place::kStream, row.data.device, row.data.process, row.data.stream,
                {row.at, row.end(), i, SliceKind::kWork});
    }
  }

  // Samples in a row that found the collector running are one slice. They are samples, so they have
  // a lane of their own: what is exact must not be cut for them.
  void gc() {
    const double hz = trace_.manifest.hz > 0 ? trace_.manifest.hz : 100;
    const Nanos sample = fromSeconds(1 / hz);
    for (const ThreadLife& thread : trace_.threads)
      for (const auto& row : thread.stacks) {
        if (!row.data.gc || !shown(thread.process)) continue;
        LaneDraft& lane = draft(Key{Place::kGc, thread.id.value, 0, 0}, thread.process);
        if (lane.refs.empty()) {
          lane.lane.name = "garbage collection of " + std::to_string(thread.tid) + " (samples)";
          lane.lane.order = 3;
          lane.lane.tid = nextId_++;
        } else if (lane.refs.back().end + sample >= row.at) {
          lane.refs.back().end = std::max(lane.refs.back().end, row.end() + sample);
          continue;
        }
        lane.refs.push_back({row.at, row.end() + sample, 0, SliceKind::kGc});
      }
  }

  static bool outerFirst(const SliceRef& a, const SliceRef& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end != b.end) return a.end > b.end;
    return a.kind < b.kind;
  }

  // Work of one stream may overlap (programmatic dependent launch does): what does not fit is a
  // lane further down. The rest nests on its own.
  void spread(LaneDraft& lane) {
    const bool apart = lane.refs.front().kind == SliceKind::kWork ||
                       lane.refs.front().kind == SliceKind::kBusy || lane.lane.order == 2;
    if (!apart) return out_.lanes.push_back(std::move(lane));
    std::vector<LaneDraft> fits;
    std::vector<Nanos> ends;
    for (const SliceRef& ref : lane.refs) {
      std::size_t at = 0;
      while (at < ends.size() && ends[at] > ref.begin) ++at;
      if (at == ends.size()) {
        ends.emplace_back();
        fits.push_back({lane.lane, lane.process, {}});
        if (at > 0) {
          fits[at].lane.name += " (" + std::to_string(at + 1) + ")";
          fits[at].lane.tid = nextId_++;
        }
      }
      ends[at] = ref.end;
      fits[at].refs.push_back(ref);
    }
    for (LaneDraft& one : fits) out_.lanes.push_back(std::move(one));
  }

  void finish() {
    for (auto& [key, lane] : drafts_) {
      out_.slices += lane.refs.size();
      std::stable_sort(lane.refs.begin(), lane.refs.end(), outerFirst);
      spread(lane);
      lane = {};
    }
    std::stable_sort(
        out_.lanes.begin(), out_.lanes.end(), [](const LaneDraft& a, const LaneDraft& b) {
          return std::tuple(a.lane.processOrder, a.lane.pid, a.lane.order, a.lane.tid) <
                 std::tuple(b.lane.processOrder, b.lane.pid, b.lane.order, b.lane.tid);
        });
    for (std::size_t i = 0; i < out_.lanes.size(); ++i) out_.lanes[i].lane.index = i;
  }

  void counted() {
    for (const ProcessLife& process : trace_.processes) {
      if (process.usage.size() < 2 || !shown(process.id)) continue;
      if (orderOf(process.id) == kHelperOrder && out_.counted.size() >= kMaxCounted) continue;
      out_.counted.push_back(process.id);
      out_.processes.push_back(processLane(process.id));
    }
    out_.host.pid = nextId_++;
    out_.host.tid = out_.host.pid;
    out_.host.process = "host";
    out_.host.processOrder = kDeviceOrder - 1;
  }

  const Trace& trace_;
  const Analyzed& analyzed_;
  const TimelineOptions& options_;
  TimelineLanes out_;
  std::map<ProcessId, std::int32_t> workerOf_;
  std::map<ProcessId, int> trainerOf_;
  std::map<ProcessId, std::int64_t> pids_;
  std::set<std::int64_t> taken_;
  std::set<std::pair<std::int64_t, std::int64_t>> tids_;
  std::map<Key, LaneDraft> drafts_;
  std::int64_t nextId_ = kAboveAnyPid;
};

}  // namespace

TimelineLanes layLanes(const Trace& trace, const Analyzed& analyzed,
                       const TimelineOptions& options) {
  return Layout(trace, analyzed, options).lay();
}

BatchFlows::BatchFlows(const Trace& trace)
    : trace_(trace), taskOf_(trace.fetches.size()), fetchOf_(trace.tasks.size()) {
  std::map<std::pair<ProcessId, std::uint32_t>, std::uint64_t> keys;
  for (const auto& row : trace.iterators)
    keys[{trace.thread(row.data.thread).process, row.data.epoch}] = row.data.key;
  std::vector<std::tuple<std::uint64_t, std::int64_t, std::uint32_t>> made;
  made.reserve(trace.tasks.size());
  for (std::uint32_t i = 0; i < trace.tasks.size(); ++i)
    made.emplace_back(trace.tasks[i].data.key, trace.tasks[i].data.batch, i);
  std::sort(made.begin(), made.end());
  for (std::uint32_t i = 0; i < trace.fetches.size(); ++i) {
    const Fetch& fetch = trace.fetches[i].data;
    const auto key = keys.find({trace.thread(fetch.thread).process, fetch.epoch});
    if (key == keys.end() || fetch.batch < 0 || fetch.worker < 0) continue;
    const auto at = std::lower_bound(made.begin(), made.end(),
                                     std::tuple(key->second, fetch.batch, std::uint32_t{0}));
    if (at == made.end() || std::get<0>(*at) != key->second || std::get<1>(*at) != fetch.batch)
      continue;
    const std::uint32_t task = std::get<2>(*at);
    const auto& row = trace.tasks[task];
    if (fetchOf_[task] != 0 || row.at + row.data.fetchEnd >= trace.fetches[i].end()) continue;
    taskOf_[i] = task + 1;
    fetchOf_[task] = i + 1;
  }
}

std::uint64_t BatchFlows::ofTask(std::uint32_t row) const {
  return fetchOf_[row] == 0 ? 0 : row + 1;
}
std::uint64_t BatchFlows::ofFetch(std::uint32_t row) const { return taskOf_[row]; }
Interval BatchFlows::making(std::uint64_t flow) const {
  const auto& row = trace_.tasks[flow - 1];
  return {row.at + row.data.fetchBegin, row.at + row.data.fetchEnd};
}
Interval BatchFlows::taking(std::uint64_t flow) const {
  const auto& row = trace_.fetches[fetchOf_[flow - 1] - 1];
  return {row.at, row.end()};
}

}  // namespace stallprof
