// SPDX-License-Identifier: MIT
#include "trace/trace_builder.h"

#include <malloc.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "recording/reader.h"
#include "trace/range_map.h"

namespace stallprof {
namespace {

// 18 years of uptime: sums of some such times, and small multiples of one, cannot overflow.
constexpr Nanos kLatest{Nanos::max() / 16};
// Of one event, 104 days: a thousand of them can be added.
constexpr Nanos kLongestEvent{Nanos::max() / 1024};

constexpr std::size_t kLargeBytes = 1 << 12;  // of a table: a page
// A large table outgrown is released at once; glibc's own limit for that would rise with the
// tables. What smaller ones release is kept and used again: a part of a run needs what the part
// before it did. A report of ten hours takes 80,000 page faults, 241 MB and 1.64 s of CPU so; with
// 4 MB for the first of these 135,000, 219 MB and 1.78 s (medians of eight runs by turns).
constexpr int kReleasedAtOnce = 1 << 24, kKeptForUse = 1 << 26, kAskedAtOnce = 1 << 22;

void setManifest(TraceBuilder& builder, Manifest manifest, const std::vector<Untrusted>& maps) {
  manifest.maps.insert(manifest.maps.end(), maps.begin(), maps.end());
  builder.manifest() = std::move(manifest);
}

bool timeful(Nanos t) { return t >= Nanos{0} && t <= kLatest; }
bool lasts(Nanos t) { return t >= Nanos{0} && t <= kLongestEvent; }

// Offsets of a task never decrease; a damaged one is pulled up rather than trusted.
WorkerTask repaired(WorkerTask task) {
  task.fetchEnd = std::max(task.fetchEnd, task.fetchBegin);
  task.putEnd = std::max(task.putEnd, task.fetchEnd);
  return task;
}
// Each sample is visited: a damaged count must not take hours.
StackSlice repaired(StackSlice slice) {
  slice.samples = std::min(slice.samples, TraceBuilder::kMaxSamples);
  return slice;
}
// Sums of them must fit. Both are read at other moments than the slice's, by up to a tick.
ThreadSlice repaired(ThreadSlice slice) {
  const Nanos longest = slice.duration + std::chrono::seconds(1);
  slice.run = std::clamp(slice.run, Nanos{}, longest);
  slice.queued = std::clamp(slice.queued, Nanos{}, longest);
  return slice;
}
template <class P>
const P& repaired(const P& payload) {
  return payload;
}

bool credible(const WorkerTask& t) {
  return lasts(t.fetchBegin) && lasts(t.fetchEnd) && lasts(t.putEnd);
}

// Each holds events of one kind; the kinds of no table are kept by an overload of their own.
constexpr std::tuple kTables{&Trace::host,         &Trace::disks,        &Trace::networks,
                             &Trace::cgroups,      &Trace::files,        &Trace::syscalls,
                             &Trace::frameworks,   &Trace::loaders,      &Trace::settings,
                             &Trace::iterators,    &Trace::fetches,      &Trace::workers,
                             &Trace::tasks,        &Trace::slowSamples,  &Trace::optimizerSteps,
                             &Trace::turns,        &Trace::spans,        &Trace::devices,
                             &Trace::deviceTraces, &Trace::deviceSpans,  &Trace::deviceWorks,
                             &Trace::deviceUses,   &Trace::deviceCalls,  &Trace::deviceCallUses,
                             &Trace::ranges,       &Trace::deviceUsages, &Trace::deviceProcesses,
                             &Trace::places,       &Trace::counters,     &Trace::clocks,
                             &Trace::sources,      &Trace::losses,       &Trace::gaps,
                             &Trace::pauses,       &Trace::ends,         &Trace::recorder,
                             &Trace::signals,      &Trace::stepPlaces};

// What a program does again and again, as long as it runs. What it does now and then is none of it:
// the making of iterators and workers, checkpoints, waits for other ranks.
template <class P>
bool recurs(const P&) {
  constexpr bool is = std::is_same_v<P, Fetch> || std::is_same_v<P, WorkerTask> ||
                      std::is_same_v<P, SlowSamples> || std::is_same_v<P, OptimizerStep> ||
                      std::is_same_v<P, Range> || std::is_same_v<P, StepRange> ||
                      std::is_same_v<P, DeviceTrace> || std::is_same_v<P, DeviceSpan> ||
                      std::is_same_v<P, DeviceWork> || std::is_same_v<P, DeviceUse> ||
                      std::is_same_v<P, DeviceCall> || std::is_same_v<P, DeviceCallUse>;
  return is;
}
bool recurs(const PhaseSpan& span) {
  return span.phase != Phase::kPeriodic && span.phase != Phase::kComm;
}

// Sampled once a second or so, cumulative or a level.
template <class P>
constexpr bool kCounts = std::is_same_v<P, DeviceUsage> || std::is_same_v<P, DeviceProcess> ||
                         std::is_same_v<P, HostUsage> || std::is_same_v<P, DiskUsage> ||
                         std::is_same_v<P, NetworkUsage> || std::is_same_v<P, CgroupUsage> ||
                         std::is_same_v<P, SyscallCount> || std::is_same_v<P, RecorderUsage> ||
                         std::is_same_v<P, CounterUsage>;

// Single pieces of device work have a bound of their own (coarsener.h), which counts them.
template <class P>
constexpr bool kDrawn = std::is_same_v<P, DeviceWork> || std::is_same_v<P, DeviceCall>;

// A batch begun before a part ends is awaited in the next; fetches follow one another sooner.
constexpr Nanos kStillNeeded = std::chrono::seconds(60);

template <class P>
std::size_t drop(Table<P>& table, const RowsDone& done) {
  std::erase_if(table, [&](const Timed<P>& row) {
    const Interval time = intervalOf(row);
    return recurs(row.data) && time.end < done.until - kStillNeeded &&
           !overlapsAny(done.kept, time);
  });
  if (kDrawn<P>) return 0;
  return static_cast<std::size_t>(std::count_if(
      table.begin(), table.end(), [](const Timed<P>& row) { return recurs(row.data); }));
}

template <class Life, class LifeId>
Life* growTo(std::vector<Life>& lives, LifeId id, std::uint64_t plausible) {
  if (id.none() || id.value > std::min<std::uint64_t>(TraceBuilder::kMaxLives, plausible))
    return nullptr;
  const std::size_t before = lives.size();
  if (before < id.value) lives.resize(id.value);
  for (std::size_t i = before; i < lives.size(); ++i) {
    lives[i].id = LifeId{static_cast<std::uint32_t>(i + 1)};
    lives[i].seen = Nanos::max();
  }
  return &lives[id.value - 1];
}

}  // namespace

ProcessLife* TraceBuilder::life(ProcessId id) { return growTo(trace_.processes, id, plausible()); }
ThreadLife* TraceBuilder::life(ThreadId id) { return growTo(trace_.threads, id, plausible()); }

template <class LifeId>
void TraceBuilder::end(LifeId id, Nanos at) {
  if (auto* ended = life(id))
    ended->gone = at;
  else
    lose(id);
}

// What a table has outgrown stays resident until something smaller takes its place; room that was
// never written to does not. So a large one grows at once to what it has by the end at this rate,
// unless rows will be thinned out until then.
template <class P>
void TraceBuilder::append(std::vector<Timed<P>>& table, Nanos at, const P& payload) {
  if (table.size() == table.capacity() && table.size() >= kLargeBytes / sizeof(Timed<P>)) {
    const double toCome = coarsener_.thins(progress_) ? 2.0 : 1.05 / std::max(progress_, 0.01);
    table.reserve(
        static_cast<std::size_t>(std::clamp(toCome, 2.0, 8.0) * static_cast<double>(table.size())));
  }
  table.push_back({at, payload});
}

template <class Slice>
void TraceBuilder::addSample(std::vector<Timed<Slice>> ThreadLife::*samples, Nanos at,
                             const Slice& slice) {
  ThreadLife* of = life(slice.thread);
  if (!of) return lose(slice.thread);
  append(of->*samples, at, slice);
  coarsener_.addedSample(trace_);
}

void TraceBuilder::cover(Nanos begin, Nanos end) {
  trace_.begin = covered_ ? std::min(trace_.begin, begin) : begin;
  trace_.end = covered_ ? std::max(trace_.end, end) : end;
  covered_ = true;
}

template <class P>
void TraceBuilder::keep(Nanos at, const P& payload) {
  append(trace_.*std::get<Table<P> Trace::*>(kTables), at, payload);
  if constexpr (kCounts<P>) coarsener_.addedCounter(trace_);
  if constexpr (kDrawn<P>) coarsener_.addedWork(trace_);
  if (recurs(payload) && !kDrawn<P>) ++program_;
}

void TraceBuilder::keep(Nanos at, const ProcessSeen& p) {
  ProcessLife* seen = life(p.process);
  if (!seen) return lose(p.process);
  seen->seen = std::min(seen->seen, at);
  if (!p.parent.none()) seen->parent = p.parent;
  if (p.pid) seen->pid = p.pid;
  if (!p.comm.none()) seen->comm = p.comm;
  if (!p.command.none()) seen->command = p.command;
  if (!p.exe.none()) seen->exe = p.exe;
}

void TraceBuilder::keep(Nanos at, const ProcessGone& p) { end(p.process, at); }

void TraceBuilder::keep(Nanos at, const ThreadSeen& t) {
  ThreadLife* seen = life(t.thread);
  if (!seen) return lose(t.thread);
  seen->seen = std::min(seen->seen, at);
  if (!t.process.none()) seen->process = t.process;
  if (t.tid) seen->tid = t.tid;
  if (!t.name.none()) seen->name = t.name;
}

void TraceBuilder::keep(Nanos at, const ThreadGone& t) { end(t.thread, at); }

void TraceBuilder::keep(Nanos at, const ThreadSlice& s) { addSample(&ThreadLife::slices, at, s); }

void TraceBuilder::keep(Nanos at, const ProcessUsage& u) {
  ProcessLife* of = life(u.process);
  if (!of) return lose(u.process);
  append(of->usage, at, u);
  coarsener_.addedCounter(trace_);
}

void TraceBuilder::keep(Nanos at, const StackSeen& s) {
  if (s.stack.none() || s.stack.value > kMaxStacks || s.caller >= s.stack) return void(++damaged_);
  if (trace_.stacks.size() < s.stack.value) trace_.stacks.resize(s.stack.value);
  Timed<StackSeen>& seen = trace_.stacks[s.stack.value - 1];
  if (seen.data.stack.none() || at < seen.at) seen.at = at;
  seen.data = s;
}

void TraceBuilder::keep(Nanos at, const StackSlice& s) { addSample(&ThreadLife::stacks, at, s); }

void TraceBuilder::keep(Nanos at, const NativeSlice& s) { addSample(&ThreadLife::natives, at, s); }

void TraceBuilder::take(const Event& event) {
  ++events_;
  std::visit(
      [&](const auto& recorded) {
        const auto& payload = repaired(recorded);
        using P = std::decay_t<decltype(payload)>;
        bool good = timeful(event.at);
        if constexpr (requires { payload.duration; }) good = good && lasts(payload.duration);
        if constexpr (std::is_same_v<P, WorkerTask>) good = good && credible(payload);
        if (!good) return void(++damaged_);
        cover(event.at, endOf(event.at, payload));
        keep(event.at, payload);
      },
      event.payload);
}

Result<bool> TraceBuilder::fill(const EventSource& events) {
  for (;;) {
    Result<bool> more = events(*this);
    if (!more.ok() || !more.value() || full()) return more;
  }
}

// Makes true of the rows that are there what trace.h promises; more may follow.
void TraceBuilder::settle() {
  std::apply([&](auto... tables) { (sortByTime(trace_.*tables), ...); }, kTables);
  trace_.steps.clear();
  readRanges(trace_, trace_.manifest.maps);
  for (ThreadLife& thread : trace_.threads) {
    if (thread.process.value > trace_.processes.size()) life(thread.process);
    if (thread.seen == Nanos::max()) thread.seen = trace_.begin;
    removeOverlap(thread.slices);
    sortByTime(thread.stacks);
    sortByTime(thread.natives);
  }
  for (ProcessLife& process : trace_.processes) {
    if (process.seen == Nanos::max()) process.seen = trace_.begin;
    sortByTime(process.usage);
    process.threads.clear();
  }
  for (const ThreadLife& thread : trace_.threads)
    if (!thread.process.none() && thread.process.value <= trace_.processes.size())
      trace_.processes[thread.process.value - 1].threads.push_back(thread.id);
}

const Trace& TraceBuilder::part() {
  settle();
  return trace_;
}

void TraceBuilder::release(const RowsDone& done) {
  if (done.until > Nanos{}) {
    Trace& t = trace_;
    const auto all = [&](auto&... tables) { return (drop(tables, done) + ...); };
    program_ = all(t.fetches, t.tasks, t.slowSamples, t.optimizerSteps, t.spans, t.ranges, t.steps,
                   t.deviceTraces, t.deviceSpans, t.deviceWorks, t.deviceUses, t.deviceCalls,
                   t.deviceCallUses);
  }
  next_ = std::max(max_, 2 * program_);
}

Trace TraceBuilder::seal() {
  if (beyond_) trace_.losses.push_back({trace_.end, {LossKind::kLivesFull, beyond_, {}}});
  if (damaged_) trace_.losses.push_back({trace_.end, {LossKind::kFrameDamaged, damaged_, {}}});
  coarsener_.finish(trace_);
  settle();
  return std::move(trace_);
}

EventSource recordingEvents(const std::string& directory, const std::vector<Untrusted>& maps) {
  std::shared_ptr<RecordingReader> reader;
  return [=](TraceBuilder& builder) mutable -> Result<bool> {
    if (!reader) {
      ::mallopt(M_MMAP_THRESHOLD, kReleasedAtOnce);
      ::mallopt(M_TRIM_THRESHOLD, kKeptForUse);
      ::mallopt(M_TOP_PAD, kAskedAtOnce);
      reader = std::make_shared<RecordingReader>(
          directory, builder.strings(), [&builder](const Event& event) { builder.take(event); });
      // A part is analysed by what the run's manifest says; where that is damaged there is one
      // part.
      if (Result<Manifest> manifest = readManifest(directory); manifest.ok())
        setManifest(builder, std::move(manifest).value(), maps);
      else
        builder.keepAll();
    }
    Result<bool> more = reader->next();
    builder.setProgress(reader->progress());
    if (!more.ok() || more.value()) return more;
    setManifest(builder, reader->summary().manifest, maps);
    builder.setCleanEnd(reader->summary().cleanEnd);
    return false;
  };
}

}  // namespace stallprof
