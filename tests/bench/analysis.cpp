// SPDX-License-Identifier: MIT
// How long the analysis of an hour of 64 threads takes, and its memory: the budget is 3 s and
// 300 MB. The trace is made up: 20 steps a second from 16 workers, each busy thread recorded in ten
// slices a second, each sleeper in one.
//
//   bench_analysis [PASSES] [new]     36 passes; `new`: workers started again for each epoch
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "analysis/analyze.h"
#include "trace/trace_builder.h"

namespace {

using namespace stallprof;
using namespace std::chrono_literals;

constexpr Nanos kHour = 1h, kStep = 50ms;
constexpr std::uint32_t kWorkers = 16, kThreads = 64;

class Maker {
 public:
  Maker(std::uint32_t epochs, bool again) : epochs_(epochs), again_(again) {}

  Trace make() {
    begin(kStart, 1, 0, 1, 1);
    builder_.take({kStart, FrameworkSeen{ProcessId{1}, text("torch"), text("2.1")}});
    LoaderSeen loader;
    loader.process = ProcessId{1};
    loader.loader = 1;
    loader.workers = kWorkers;
    loader.prefetch = 2;
    loader.batchSize = 32;
    loader.file = text("train.py");
    loader.line = 9;
    builder_.take({kStart, loader});
    const Nanos length = kHour / epochs_;
    for (std::uint32_t epoch = 0; epoch < epochs_; ++epoch)
      addEpoch(epoch, kStart + epoch * length, length);
    for (std::uint32_t t = 0; t < kThreads - 1 - kWorkers; ++t) {
      const std::uint32_t thread = ++threads_;
      builder_.take({kStart, ThreadSeen{ThreadId{thread}, ProcessId{1}, 1'000'000 + thread, {}}});
      slices(thread, kStart, kHour, 1s, 1ms, Wait::kFutex);
    }
    slices(1, kStart, kHour, 100ms, 60ms, Wait::kPipe);
    usage(1, kStart, kHour);
    for (Nanos at{}; at < kHour; at += 1s) {
      HostUsage host;
      host.busy = 2 * at;
      host.jobCpu = at;
      host.memoryAvailable = 1 << 30;
      builder_.take({kStart + at, host});
      builder_.take(
          {kStart + at, DiskUsage{text("vda"), at.count(), at.count(), 0, 0, {}, {}, at / 2}});
      FileSeen file;
      file.process = ProcessId{2};
      file.fsType = text("ext4");
      file.waits = 3;
      builder_.take({kStart + at, file});
    }
    builder_.take({kStart + kHour, CommandEnd{0, -1, 0}});
    return builder_.seal();
  }
  [[nodiscard]] std::size_t events() const { return events_; }

 private:
  static constexpr Nanos kStart = 100s;
  StringId text(std::string_view s) { return builder_.strings().intern(s); }

  void begin(Nanos at, std::uint32_t process, std::uint32_t parent, std::uint32_t thread,
             std::uint32_t pid) {
    builder_.take({at, ProcessSeen{ProcessId{process}, ProcessId{parent}, pid, 0, {}, {}, {}}});
    builder_.take({at, ThreadSeen{ThreadId{thread}, ProcessId{process}, pid, {}}});
    processes_ = std::max(processes_, process);
    threads_ = std::max(threads_, thread);
  }

  void slices(std::uint32_t thread, Nanos from, Nanos length, Nanos each, Nanos run, Wait wait) {
    for (Nanos at{}; at < length; at += each, ++events_)
      builder_.take({from + at, ThreadSlice{ThreadId{thread},
                                            wait,
                                            each,
                                            run,
                                            each / 100,
                                            {},
                                            static_cast<std::uint32_t>(each / 10ms)}});
  }

  void usage(std::uint32_t process, Nanos from, Nanos length) {
    for (Nanos at{}; at <= length; at += 1s, ++events_) {
      ProcessUsage u;
      u.process = ProcessId{process};
      u.cpu = at;
      u.readChars = at.count();
      u.readBytes = at.count() / 4;
      u.residentBytes = 1 << 28;
      u.threads = 3;
      builder_.take({from + at, u});
    }
  }

  void addEpoch(std::uint32_t epoch, Nanos from, Nanos length) {
    const std::uint32_t first = again_ ? 2 + epoch * kWorkers : 2;
    for (std::uint32_t w = 0; w < kWorkers; ++w) {
      if (again_ || epoch == 0) {
        begin(from, first + w, 1, first + w, 1000 + first + w);
        slices(first + w, from, again_ ? length : kHour, 100ms, 70ms, Wait::kFileRead);
        usage(first + w, from, again_ ? length : kHour);
      }
      builder_.take({from, WorkerBegin{ThreadId{first + w}, epoch + 1, static_cast<std::int32_t>(w),
                                       kWorkers}});
    }
    builder_.take({from, IteratorBegin{ThreadId{1}, 1, epoch + 1, epoch + 1, 5ms, 1ms, !again_}});
    std::int64_t batch = 0;
    for (Nanos at = 10ms; at + kStep < length; at += kStep, ++batch) {
      const auto worker = static_cast<std::int32_t>(batch % kWorkers);
      builder_.take(
          {from + at, Fetch{ThreadId{1}, 1, epoch + 1, 20ms, 1ms, batch, worker, 0, false, {}}});
      WorkerTask task;
      task.thread = ThreadId{first + static_cast<std::uint32_t>(worker)};
      task.key = epoch + 1;
      task.worker = worker;
      task.batch = batch;
      task.fetchBegin = 1ms;
      task.fetchEnd = 700ms;
      task.putEnd = 701ms;
      task.cpu = 500ms;
      const Nanos begun = std::max(from, from + at - 690ms);
      builder_.take({begun, task});
      builder_.take({from + at + 40ms, OptimizerStep{ThreadId{1}, 5ms, 1}});
      events_ += 3;
    }
    builder_.take(
        {from + length - 5ms, Fetch{ThreadId{1}, 1, epoch + 1, 1ms, 1ms, -1, -1, -1, true, {}}});
  }

  TraceBuilder builder_;
  std::uint32_t epochs_, threads_ = 0, processes_ = 0;
  bool again_;
  std::size_t events_ = 0;
};

double since(Nanos begun) { return seconds(now() - begun); }

}  // namespace

int main(int argc, char** argv) {
  const auto epochs = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 36);
  Maker maker(std::max(1u, epochs), argc > 2 && std::string_view(argv[2]) == "new");
  const Nanos begun = now();
  const Trace trace = maker.make();
  std::printf("%zu events into a trace: %.2f s\n", maker.events(), since(begun));
  const Nanos loaded = now();
  const Analysis analysis = analyze(trace);
  std::printf("analysis: %.2f s, %lld steps, %zu epochs\n", since(loaded),
              static_cast<long long>(analysis.steps.count), analysis.epochs.size());
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("peak RSS %ld MB\n", used.ru_maxrss / 1024);
}
