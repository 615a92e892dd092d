// SPDX-License-Identifier: MIT
#include "analysis/blame/blame.h"

#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

// The producers of a trace whose trainer is thread 1; `fetch` is by its order in the trace.
struct Blamed {
  explicit Blamed(const std::string& text, const FetchShares& stacks = {})
      : trace(traceOf(kTrainer + kWorker + text)),
        timeline(readTimeline(trace, {ProcessId{1}, ThreadId{1}})),
        producers(trace, timeline, stacks) {}
  Trace trace;
  TrainerTimeline timeline;
  Producers producers;

  [[nodiscard]] Blame wait(std::size_t fetch, Nanos begin, Nanos end) const {
    const Blame blame = producers.blame(timeline.epochs[timeline.epochOf[fetch]],
                                        *timeline.fetches[fetch], {begin, end});
    CHECK(blame.total() == end - begin);
    return blame;
  }
  [[nodiscard]] BatchWork work(std::size_t fetch) const {
    BatchWork made;
    REQUIRE(
        producers.work(timeline.epochs[timeline.epochOf[fetch]], *timeline.fetches[fetch], made));
    return made;
  }
};

const std::string kWorkerPass =
    "0 loader process=1 loader=1 workers=1\n"
    "0 iterator thread=1 loader=1 epoch=1 key=7\n";

// A batch of worker 0: index in hand after 10 ms, made in 100 ms, handed over in 2 ms.
std::string task(const std::string& at, int batch, const std::string& cpu) {
  return at + " task thread=2 key=7 batch=" + std::to_string(batch) +
         " fetch_begin=10ms fetch_end=110ms put_end=112ms cpu=" + cpu + "\n";
}
std::string fetch(const std::string& at, const std::string& duration, int batch) {
  return at + " fetch thread=1 loader=1 epoch=1 worker=0 duration=" + duration +
         " batch=" + std::to_string(batch) + "\n";
}

}  // namespace

TEST_CASE("a sample counts where it fell, once, and run time by its share of the slice") {
  const Trace trace = traceOf(  // samples at 10, 20 .. 100 ms
      kTrainer + "0 slice thread=1 duration=100ms run=20ms samples=10 wait=file_read\n" +
      "100ms slice thread=1 duration=10ms run=10ms samples=1 wait=running\n" +
      "110ms slice thread=1 duration=20ms queued=4ms samples=2 wait=sleep\n");
  const ThreadLife& thread = trace.thread(ThreadId{1});
  CHECK(observe(thread, {0ms, 35ms}).extract == 30ms);
  CHECK(observe(thread, {0ms, 35ms}).run == 7ms);
  CHECK(observe(thread, {35ms, 100ms}).extract == 70ms);
  CHECK(observe(thread, {10ms, 20ms}).blockedSamples == 1);  // the one at 20, not the one at 10
  CHECK(observe(thread, {11ms, 19ms}).blockedSamples == 0);
  CHECK(observe(thread, {100ms, 110ms}).blockedSamples == 0);
  CHECK(observe(thread, {100ms, 110ms}).run == 10ms);
  const Observed all = observe(thread, {0ms, 200ms});
  CHECK(all.run == 30ms);
  CHECK(all.queued == 4ms);
  CHECK(all.extract == 100ms);
  CHECK(all.unknown == 20ms);
  CHECK(all.blockedSamples == 12);
  CHECK(observe(thread, {50ms, 50ms}).blockedSamples == 0);
  CHECK(observe(trace.thread(ThreadId{9}), {0ms, 1s}).blockedSamples == 0);
}

TEST_CASE("slices that cannot be weighed are no samples, and divide nothing by nothing") {
  const Trace trace =
      traceOf(kTrainer + "5ms slice thread=1 duration=0 samples=3 wait=file_read\n" +
              "10ms slice thread=1 duration=5ms samples=0 wait=file_read\n" +
              "20ms slice thread=1 duration=5 samples=4294967295 wait=file_read\n");
  const Observed seen = observe(trace.thread(ThreadId{1}), {0ms, 1s});
  CHECK(seen.extract == 5ns);
  CHECK(seen.blockedSamples == 4294967295);
}

TEST_CASE("waiting is blamed on what the owing worker did: idle, making, handing over") {
  const Blamed blamed(kWorkerPass + task("1s", 0, "100ms") + fetch("1s", "150ms", 0));
  const Blame blame = blamed.wait(0, 1s, 1150ms);
  CHECK(blame.transform == 100ms);
  CHECK(blame.load == 10ms + 40ms);  // for lack of an index; after the fetch
  const Blame late = blamed.wait(0, 1120ms, 1150ms);
  CHECK(late.load == 30ms);
  CHECK(blamed.wait(0, 1150ms, 1150ms).total() == 0ms);
}

TEST_CASE("before the owed batch the worker's other batches are to blame, before those start-up") {
  const Blamed blamed(kWorkerPass + task("1s", 0, "100ms") + task("1112ms", 1, "100ms") +
                      fetch("900ms", "350ms", 1));
  const Blame blame = blamed.wait(0, 900ms, 1250ms);
  CHECK(blame.startup == 100ms);
  CHECK(blame.transform == 200ms);
  CHECK(blame.load == 10ms + 12ms + 28ms);
}

TEST_CASE("a batch that waits for the worker's next one to let its feeder go waits for that one") {
  // Made at 1110 ms, there at 1200 ms; the next is made from 1120 on. Sending takes 20 ms of CPU.
  const std::string batches =
      kWorkerPass + task("1s", 0, "100ms") + task("1110ms", 1, "100ms") + fetch("1s", "200ms", 0);
  const std::string feeder =
      "0 thread thread=3 process=2 tid=103\n1010ms slice thread=3 duration=210ms run=40ms"
      " samples=21 wait=futex\n";
  const Blame blame = Blamed(batches + feeder).wait(0, 1110ms, 1200ms);
  CHECK(blame.load == 20ms + 10ms);  // sent; before the next had its index
  CHECK(blame.transform == 60ms);
  CHECK(Blamed(batches).wait(0, 1110ms, 1200ms).load == 90ms);  // its feeder was not seen
  // A thread that pins batches is between, and was not seen.
  const std::string pinned = "0 loader process=1 loader=2 workers=1 pin_memory=1\n";
  CHECK(Blamed(batches + feeder + pinned).wait(0, 1110ms, 1200ms).load == 90ms);
}

TEST_CASE("a batch owed by another worker is that worker's, whoever else was busy") {
  const Blamed blamed(
      kWorkerPass + "0 process process=3 parent=1 pid=103\n0 thread thread=3 process=3 tid=103\n" +
      task("1s", 0, "100ms") +
      "1s task thread=3 key=7 worker=1 batch=1 fetch_begin=120ms fetch_end=140ms put_end=140ms"
      " cpu=20ms\n" +
      fetch("1s", "150ms", 1));
  CHECK(blamed.wait(0, 1s, 1150ms).transform == 20ms);
  CHECK(blamed.wait(0, 1s, 1150ms).load == 130ms);
  CHECK(blamed.work(0).worker == 1);
}

TEST_CASE("out of order the batch that arrived is followed, not the oldest") {
  const Blamed blamed(kWorkerPass + task("1s", 0, "100ms") + task("1112ms", 5, "100ms") +
                      fetch("1112ms", "120ms", 5));
  CHECK(blamed.wait(0, 1112ms, 1232ms).transform == 100ms);
}

TEST_CASE("what the samples found a fetch blocked in splits its blocked time") {
  const Blamed blamed(kWorkerPass + task("1s", 0, "40ms") +
                      "1010ms slice thread=2 duration=50ms run=20ms samples=5 wait=file_read\n"
                      "1060ms slice thread=2 duration=50ms run=20ms samples=5 wait=sleep\n" +
                      fetch("1s", "110ms", 0));
  const Blame blame = blamed.wait(0, 1010ms, 1110ms);
  CHECK(blame.transform == 40ms);
  CHECK(blame.extract == 30ms);
  CHECK(blame.unknown == 30ms);
  const BatchWork work = blamed.work(0);
  CHECK(work.extract == 30ms);
  CHECK(work.blocked == 30ms);
  CHECK(work.threadCpu == 40ms);
  CHECK(work.put == 2ms);
}

TEST_CASE("samples merged over several short fetches count where the last of them fell") {
  // Fetches of 10 ms, 6 ms of sleep after each; a sample every 20 ms, and two in a row saw the
  // same. Taken as evenly spaced, the first of the two sleeps would have fallen into the second
  // fetch.
  const Blamed all(
      "0 loader process=1 loader=1 workers=0\n0 iterator thread=1 loader=1 epoch=1\n"
      "1s fetch thread=1 loader=1 epoch=1 duration=10ms cpu=2ms batch=0\n"
      "1016ms fetch thread=1 loader=1 epoch=1 duration=10ms cpu=2ms batch=1\n"
      "1032ms fetch thread=1 loader=1 epoch=1 duration=10ms cpu=2ms batch=2\n"
      "985ms slice thread=1 duration=40ms run=4ms samples=2 wait=socket\n"
      "1025ms slice thread=1 duration=5ms samples=1 wait=sleep\n"
      "1030ms slice thread=1 duration=16ms run=2ms samples=2 wait=sleep\n");
  const Blame second = all.wait(1, 1016ms, 1026ms);
  CHECK(second.extract == 8ms);
  CHECK(second.transform == 2ms);
  CHECK(second.unknown == 0ms);
  CHECK(all.wait(2, 1032ms, 1042ms).unknown == 0ms);
}

TEST_CASE("what a worker takes to pick up an index that lies ready is its own time") {
  // One worker may hold two batches. The index of batch 3 left as the trainer took batch 1, at
  // 1220 ms, before the worker was done with batch 2; that of batch 4 only as it took batch 2.
  const Blamed blamed(
      "0 loader process=1 loader=1 workers=1 prefetch=2\n"
      "0 iterator thread=1 loader=1 epoch=1 key=7\n" +
      task("1s", 0, "100ms") + task("1112ms", 1, "100ms") + task("1224ms", 2, "100ms") +
      task("1336ms", 3, "100ms") + task("1448ms", 4, "100ms") + fetch("1s", "112ms", 0) +
      fetch("1200ms", "20ms", 1) + fetch("1440ms", "12ms", 2) + fetch("1460ms", "1ms", 3) +
      fetch("1470ms", "1ms", 4));
  CHECK(blamed.work(0).taking == 0ms);  // starting is not picking up
  CHECK(blamed.work(3).taking == 10ms);
  CHECK(blamed.work(4).taking == 0ms);
}

TEST_CASE("a fetch too short for samples is split as its worker's others were") {
  const Blamed blamed(
      kWorkerPass + task("1s", 0, "0") +
      "1010ms slice thread=2 duration=100ms samples=10 wait=file_read\n"
      "2s task thread=2 key=7 batch=1 fetch_begin=0 fetch_end=8ms put_end=8ms cpu=2ms\n" +
      fetch("2s", "8ms", 1));
  CHECK(blamed.wait(0, 2s, 2008ms).extract == 6ms);
}

TEST_CASE("a fetch nobody ever saw blocked is transform, and its queueing is the average") {
  const Blamed blamed(kWorkerPass + task("1s", 0, "60ms") +
                      "1010ms slice thread=2 duration=100ms run=60ms queued=30ms samples=10 "
                      "wait=running\n" +
                      fetch("1s", "110ms", 0));
  CHECK(blamed.wait(0, 1010ms, 1110ms).transform == 100ms);
  CHECK(blamed.work(0).queued == 30ms);
  CHECK(blamed.work(0).blocked == 10ms);
}

TEST_CASE("CPU a pool added beyond the fetch's own wall time is demand all the same") {
  const Blamed blamed(kWorkerPass +
                      "1s task thread=2 key=7 batch=0 fetch_begin=0 fetch_end=10ms put_end=10ms "
                      "cpu=8ms process_cpu=35ms\n" +
                      fetch("1s", "11ms", 0));
  CHECK(blamed.work(0).cpu == 35ms);
  CHECK(blamed.work(0).threadCpu == 8ms);
  CHECK(blamed.wait(0, 1s, 1010ms).transform == 10ms);
}

TEST_CASE("a worker that died in a batch leaves its wait unknown, and no work") {
  const Blamed blamed(kWorkerPass + task("1s", 0, "100ms") + fetch("2s", "50ms", 1));
  CHECK(blamed.wait(0, 2s, 2050ms).unknown == 50ms);
  BatchWork none;
  CHECK(!blamed.producers.work(blamed.timeline.epochs[0], *blamed.timeline.fetches[0], none));
}

TEST_CASE("a wait whose iterator was lost is unknown: whose batch it was cannot be known") {
  const Blamed blamed(task("1s", 0, "100ms") + fetch("1s", "150ms", 0));
  CHECK(blamed.wait(0, 1s, 1150ms).unknown == 150ms);
}

TEST_CASE("persistent workers: the next epoch has a new key, and its first wait is no start-up") {
  const Blamed blamed(
      kWorkerPass + task("1s", 0, "100ms") + fetch("1s", "112ms", 0) +
      "1990ms iterator thread=1 loader=1 epoch=2 key=8 reused=1\n"
      "2s task thread=2 key=8 batch=0 fetch_begin=0 fetch_end=20ms put_end=20ms cpu=20ms\n"
      "1990ms fetch thread=1 loader=1 epoch=2 worker=0 duration=40ms batch=0\n");
  CHECK(blamed.timeline.epochs.size() == 2);
  const Blame blame = blamed.wait(1, 1990ms, 2030ms);
  CHECK(blame.startup == 0ms);
  CHECK(blame.transform == 20ms);
  CHECK(blame.load == 20ms);
}

TEST_CASE("without workers the trainer's own fetch is to blame, split the same way") {
  const Blamed blamed(
      "0 loader process=1 loader=1 workers=0\n"
      "1s slice thread=1 duration=100ms run=40ms samples=10 wait=page_fault\n"
      "1s fetch thread=1 loader=1 epoch=1 duration=100ms cpu=40ms process_cpu=90ms batch=0\n");
  const Blame blame = blamed.wait(0, 1s, 1100ms);
  CHECK(blame.transform == 40ms);
  CHECK(blame.extract == 60ms);
  CHECK(blamed.wait(0, 1s, 1050ms).extract == 30ms);  // a part, in the same proportions
  const BatchWork work = blamed.work(0);
  CHECK(work.worker == -1);
  CHECK(work.cpu == 90ms);
  CHECK(work.extract == 60ms);
}

TEST_CASE("tasks of one worker that overlap are never blamed twice") {
  const Blamed blamed(kWorkerPass + task("1s", 0, "100ms") + task("1050ms", 1, "100ms") +
                      task("1060ms", 2, "100ms") + fetch("900ms", "400ms", 2));
  const Blame blame = blamed.wait(0, 900ms, 1300ms);  // sums, whatever it says
  CHECK(blame.startup >= 100ms);
  CHECK(blame.transform <= 160ms);
}

TEST_CASE("CPU in read calls is system time beyond what page faults cost, and is extract") {
  // 10 fetches of 100 ms, each with 40 ms of CPU and 50 ms in reads; the process in between.
  const auto blamed = [](const std::string& usage) {
    const Blamed b(kWorkerPass +
                   "repeat 10 every 100ms\n"
                   "1s task thread=2 key=7 batch=0+1*i fetch_begin=0 fetch_end=90ms put_end=90ms "
                   "cpu=40ms\n"
                   "990ms slice thread=2 duration=100ms run=40ms samples=10 wait=socket\n"
                   "1s fetch thread=1 loader=1 epoch=1 worker=0 duration=90ms batch=0+1*i\n"
                   "end\n"
                   "0 usage process=2 cpu=0 system=0 minflt=0 syscr=0 rchar=0\n"
                   "1s usage process=2 cpu=60ms system=20ms minflt=10000 syscr=0 rchar=0\n" +
                   usage);
    return b.wait(3, 1300ms, 1390ms);
  };
  // 2 us a fault as the start shows; of 400 ms 100 in the kernel, of that 8 for 4000 faults: 23 %.
  const Blame reading =
      blamed("2s usage process=2 cpu=460ms system=120ms minflt=14000 syscr=40 rchar=4000\n");
  CHECK(std::chrono::abs(reading.extractCpu - 9200us) < 1us);
  CHECK(reading.extract == 50ms + reading.extractCpu);
  CHECK(reading.transform == 40ms - reading.extractCpu);
  // The same system time with faults to explain it is none of reading.
  const Blame faulting =
      blamed("2s usage process=2 cpu=460ms system=120ms minflt=70000 syscr=40 rchar=4000\n");
  CHECK(faulting.extractCpu == 0ms);
  CHECK(faulting.transform == 40ms);
  // System time nobody counted says nothing.
  CHECK(blamed("2s usage process=2 cpu=460ms minflt=15000\n").extractCpu == 0ms);
}

TEST_CASE("without waits in reads, CPU in read calls is bounded by the calls and their bytes") {
  const Trace trace =
      traceOf(kTrainer +
              "0 usage process=1 cpu=0 system=0 minflt=0 syscr=0 rchar=0\n"
              "10s usage process=1 cpu=10s system=4s minflt=0 syscr=1000 rchar=500000000\n");
  const auto share = [&](Nanos blocked) {
    return readCpuShare(trace, {{ProcessId{1}, {0s, 10s}, blocked}});
  };
  CHECK(share(0s) > 0.0519);  // 1000 x 20 us and 0.5 s of copying, of 10 s
  CHECK(share(0s) < 0.0521);
  CHECK(share(9s) > 0.39);  // all of the system time
  // A process that trains, too, reads in its fetches: of their CPU.
  CHECK(readCpuShare(trace, {{ProcessId{1}, {0s, 10s}, 9s, 5s}}) > 0.79);
  CHECK(readCpuShare(trace, {{ProcessId{1}, {0s, 10s}, 9s, 2s}}) == 1);
  CHECK(readCpuShare(trace, {}) == 0);
  CHECK(readCpuShare(trace, {{ProcessId{9}, {0s, 10s}, 0s}}) == 0);
}

TEST_CASE("a producer that waits for a core goes on with what it was doing") {
  const Blamed blamed(kWorkerPass + task("1s", 0, "20ms") +
                      "1010ms slice thread=2 duration=100ms run=20ms queued=20ms samples=10 "
                      "wait=socket\n" +
                      fetch("1s", "110ms", 0));
  // 60 ms blocked, 20 on a core, 20 runnable: three quarters of those in a read.
  const Blame blame = blamed.wait(0, 1010ms, 1110ms);
  CHECK(blame.extract == 60ms + 15ms);
  CHECK(blame.extractCpu == 15ms);
  CHECK(blame.transform == 25ms);
  CHECK(blamed.work(0).queued == 20ms);
}

TEST_CASE("what a producer waits for a core for is what its stacks say of it runnable") {
  // Woken from its reads it gets a core at once; it waits for one in the middle of its work.
  FetchShares stacks;
  stacks.cpuKnown = true;
  stacks.cpuExtract = 0.1;
  const Blamed blamed(kWorkerPass + task("1s", 0, "20ms") +
                          "1010ms slice thread=2 duration=100ms run=20ms queued=20ms samples=10 "
                          "wait=socket\n" +
                          fetch("1s", "110ms", 0),
                      stacks);
  const Blame blame = blamed.wait(0, 1010ms, 1110ms);
  CHECK(blame.extract == 60ms + 4ms);
  CHECK(blame.extractCpu == 4ms);
  CHECK(blame.transform == 36ms);
}
