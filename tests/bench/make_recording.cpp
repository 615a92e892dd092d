// SPDX-License-Identifier: MIT
// Makes a recording without a run: of a trace in text (a golden's), or a long one made up.
//
//   make_recording TRACE.txt OUT.stallprof
//   make_recording --hours N [--threads N] OUT.stallprof
//
// The made-up one: ten steps a second from a quarter of the threads as workers (four of 13), a pass
// an hour; every busy thread recorded in ten slices and ten stacks a second, the rest sleepers, in
// one; a GPU busy for 70 ms of each step, one second in sixty of it recorded kernel by kernel.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/fd.h"
#include "recording/writer.h"
#include "tests/text_form/trace_form.h"

namespace {

using namespace stallprof;
using namespace std::chrono_literals;

int fail(const std::string& message) {
  std::fprintf(stderr, "make_recording: %s\n", message.c_str());
  return 1;
}

// A Trace's tables as the events they came from.
class Copier {
 public:
  Copier(const Trace& trace, EventOut& out) : trace_(trace), out_(out) {}

  void copy() {
    lives();
    const Trace& t = trace_;
    all(t.host, t.disks, t.networks, t.cgroups, t.files, t.syscalls, t.frameworks, t.loaders,
        t.settings, t.iterators, t.fetches, t.workers, t.tasks, t.slowSamples, t.optimizerSteps,
        t.turns, t.spans, t.places, t.counters, t.pauses, t.devices, t.deviceTraces, t.deviceSpans,
        t.deviceWorks, t.deviceUses, t.deviceCalls, t.deviceCallUses, t.ranges, t.deviceUsages,
        t.deviceProcesses, t.clocks, t.sources, t.losses, t.gaps, t.ends, t.recorder, t.signals);
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Event& a, const Event& b) { return a.at < b.at; });
    for (const Event& event : events_) out_.put(event);
  }

 private:
  template <class P>
  void add(Nanos at, P payload) {
    P::fields(payload, [&](const char*, auto& field) {
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, StringId>)
        field = out_.intern(trace_.text(field));
    });
    events_.push_back(Event{at, payload});
  }
  template <class P>
  void table(const Table<P>& rows) {
    for (const Timed<P>& row : rows) add(row.at, row.data);
  }
  template <class... T>
  void all(const T&... tables) {
    (table(tables), ...);
  }
  void lives() {
    for (const ProcessLife& p : trace_.processes) {
      add(p.seen, ProcessSeen{p.id, p.parent, p.pid, 0, p.comm, p.command, p.exe});
      if (p.gone != Nanos::max()) add(p.gone, ProcessGone{p.id});
      table(p.usage);
    }
    for (const auto& stack : trace_.stacks)
      if (!stack.data.stack.none()) add(stack.at, stack.data);
    for (const ThreadLife& t : trace_.threads) {
      add(t.seen, ThreadSeen{t.id, t.process, t.tid, t.name});
      if (t.gone != Nanos::max()) add(t.gone, ThreadGone{t.id});
      table(t.slices);
      table(t.stacks);
      table(t.natives);
    }
  }
  const Trace& trace_;
  EventOut& out_;
  std::vector<Event> events_;
};

// A long run, made up second by second.
class LongRun {
 public:
  LongRun(Writer& out, std::uint32_t threads)
      : out_(out),
        gpu_(out.intern("GPU-1")),
        gemm_(out.intern("gemm")),
        workers_((threads + 3) / 4),
        sleepers_(threads - 1 - workers_) {}

  void make(int hours) {
    begin();
    for (int second = 0; second < hours * 3600; ++second) {
      const Nanos at = kStart + second * 1s;
      if (second % 3600 == 0) epoch(at, static_cast<std::uint32_t>(second / 3600 + 1));
      steps(at);
      samples(at);
      usage(at, second);
      if (second % 60 == 30) kernels(at);
      out_.tick(at);
    }
    out_.emit(kStart + hours * 3600s, CommandEnd{0, -1, 0});
  }

 private:
  static constexpr Nanos kStart = 100s;
  static constexpr std::uint32_t kStacks = 40;

  void begin() {
    for (std::uint32_t p = 1; p <= 1 + workers_; ++p) {
      out_.emit(kStart, ProcessSeen{ProcessId{p},
                                    ProcessId{p == 1 ? 0 : 1u},
                                    100 + p,
                                    0,
                                    out_.intern("python3"),
                                    {},
                                    {}});
      out_.emit(kStart, ThreadSeen{ThreadId{p}, ProcessId{p}, 100 + p, {}});
    }
    for (std::uint32_t t = 0; t < sleepers_; ++t)
      out_.emit(kStart, ThreadSeen{ThreadId{2 + workers_ + t}, ProcessId{1}, 200 + t, {}});
    for (std::uint32_t s = 1; s <= kStacks; ++s) {
      StackSeen stack;
      stack.stack = StackId{s};
      stack.caller = StackId{s / 2};
      stack.file = out_.intern("train.py");
      stack.line = s;
      stack.function = out_.intern("step_" + std::to_string(s));
      out_.emit(kStart, stack);
    }
    LoaderSeen loader;
    loader.process = ProcessId{1};
    loader.loader = 1;
    loader.workers = static_cast<std::int32_t>(workers_);
    loader.kind = out_.intern("torch.DataLoader");
    loader.prefetch = 2;
    loader.batchSize = 32;
    out_.emit(kStart, loader);
    DeviceSeen device;
    device.device = gpu_;
    device.name = out_.intern("NVIDIA H100");
    device.process = ProcessId{1};
    device.ordinal = 0;
    out_.emit(kStart, device);
  }

  void epoch(Nanos at, std::uint32_t number) {
    epoch_ = number;
    batch_ = 0;
    out_.emit(at, IteratorBegin{ThreadId{1}, 1, number, number, 5ms, 1ms, number > 1});
    for (std::uint32_t w = 0; w < workers_ && number == 1; ++w)
      out_.emit(at, WorkerBegin{ThreadId{2 + w}, 1, static_cast<std::int32_t>(w),
                                static_cast<std::int32_t>(workers_)});
  }

  void steps(Nanos second) {
    for (int i = 0; i < 10; ++i, ++batch_) {
      const Nanos at = second + i * 100ms + 10ms;
      const auto worker = static_cast<std::int32_t>(batch_ % workers_);
      out_.emit(at, Fetch{ThreadId{1}, 1, epoch_, 20ms, 1ms, batch_, worker, 0, false, {}});
      WorkerTask task;
      task.thread = ThreadId{2 + static_cast<std::uint32_t>(worker)};
      task.key = epoch_;
      // Its share of the workers' time, but for an eighth; the batch is there 10 ms too late.
      const Nanos busy = workers_ * 100ms * 7 / 8;
      task.worker = worker;
      task.batch = batch_;
      task.fetchBegin = 1ms;
      task.fetchEnd = busy;
      task.putEnd = busy + 1ms;
      task.cpu = busy * 6 / 7;
      if (batch_ >= 10 && at - busy > kStart) out_.emit(at - busy + 10ms, task);
      out_.emit(at + 80ms, OptimizerStep{ThreadId{1}, 5ms, 1});
      DeviceSpan span;
      span.device = gpu_;
      span.process = ProcessId{1};
      span.duration = span.busy = 70ms;
      span.works = 50;
      out_.emit(at + 20ms, span);
    }
  }

  void samples(Nanos second) {
    for (std::uint32_t t = 1; t <= 1 + workers_; ++t)
      for (int i = 0; i < 10; ++i) {
        const Nanos at = second + i * 100ms;
        out_.emit(at, ThreadSlice{ThreadId{t}, Wait::kPipe, 100ms, 70ms, 1ms, {}, 10});
        StackSlice sample;
        sample.thread = ThreadId{t};
        sample.duration = 90ms;
        sample.samples = 10;
        sample.stack = StackId{1 + (t * 7 + static_cast<std::uint32_t>(i)) % kStacks};
        out_.emit(at, sample);
      }
    for (std::uint32_t t = 0; t < sleepers_; ++t)
      out_.emit(second,
                ThreadSlice{ThreadId{2 + workers_ + t}, Wait::kFutex, 1s, 1ms, {}, {}, 100});
  }

  void usage(Nanos at, int second) {
    for (std::uint32_t p = 1; p <= 1 + workers_; ++p) {
      ProcessUsage u;
      u.process = ProcessId{p};
      u.cpu = second * 700ms;
      u.residentBytes = 1 << 28;
      u.threads = 3;
      u.readChars = u.readBytes = second * std::int64_t{1'000'000};
      out_.emit(at, u);
    }
    HostUsage host;
    host.busy = second * 4s;
    host.jobCpu = second * 3500ms;
    host.memoryAvailable = 1LL << 34;
    out_.emit(at, host);
    DeviceUsage gpu;
    gpu.device = gpu_;
    gpu.busyMilli = 700;
    gpu.memoryUsed = 1LL << 33;
    out_.emit(at, gpu);
  }

  void kernels(Nanos second) {
    DeviceTrace traced;
    traced.process = ProcessId{1};
    traced.duration = 1s;
    traced.kernels = traced.calls = true;
    traced.each = true;
    out_.emit(second, traced);
    for (int i = 0; i < 500; ++i) {
      const Nanos at = second + i / 50 * 100ms + 30ms + i % 50 * 1400us;
      DeviceWork work;
      work.device = gpu_;
      work.process = ProcessId{1};
      work.duration = 1300us;
      work.name = gemm_;
      work.stream = 7;
      work.context = 1;
      work.correlation = ++correlation_;
      out_.emit(at, work);
      DeviceCall call;
      call.thread = ThreadId{1};
      call.process = ProcessId{1};
      call.duration = 5us;
      call.kind = DeviceCallKind::kLaunch;
      call.name = out_.intern("cudaLaunchKernel");
      call.correlation = correlation_;
      out_.emit(at - 20us, call);
    }
  }

  Writer& out_;
  StringId gpu_, gemm_;
  std::uint32_t workers_, sleepers_, epoch_ = 0, correlation_ = 0;
  std::int64_t batch_ = 0;
};

Manifest longManifest() {
  Manifest manifest;
  manifest.command = {Untrusted("python3"), Untrusted("train.py")};
  manifest.startedMonotonic = 100s;
  manifest.startedRealtime = 1767225600s;
  manifest.hz = 100;
  manifest.host.cpuModel = "Example CPU";
  manifest.host.coresOnline = 8;
  manifest.host.coresUsable = 8;
  manifest.host.memoryBytes = 64'000'000'000;
  return manifest;
}

struct Words {
  std::string trace, out;
  int hours = 0, threads = 13;
};

// Empty `out`: they make no sense.
Words wordsOf(int argc, char** argv) {
  Words words;
  int at = 1;
  for (; at + 1 < argc && argv[at][0] == '-'; at += 2)
    (std::string(argv[at]) == "--hours" ? words.hours : words.threads) = std::atoi(argv[at + 1]);
  if (words.hours == 0 && at < argc) words.trace = argv[at++];
  if (at + 1 == argc && words.threads >= 2 && words.hours + words.trace.size() > 0)
    words.out = argv[at];
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  const Words words = wordsOf(argc, argv);
  if (words.out.empty())
    return fail(
        "usage: make_recording TRACE.txt OUT.stallprof, or --hours N [--threads N] OUT.stallprof");
  Trace trace;
  trace.manifest = longManifest();
  if (words.hours == 0) {
    const Result<std::string> text = readFile(words.trace);
    if (!text.ok()) return fail(text.error().message);
    Result<Trace> parsed = parseTrace(text.value());
    if (!parsed.ok()) return fail(parsed.error().message);
    trace = std::move(parsed).value();
  }
  auto writer = Writer::create(words.out, trace.manifest);
  if (!writer.ok()) return fail(writer.error().message);
  if (words.hours > 0)
    LongRun(*writer.value(), static_cast<std::uint32_t>(words.threads)).make(words.hours);
  else
    Copier(trace, *writer.value()).copy();
  writer.value()->close();
  return 0;
}
