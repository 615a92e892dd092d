// SPDX-License-Identifier: MIT
#include "sampler/thread_sampler.h"

#include <sys/syscall.h>

#include <array>
#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/machine.h"
#include "tests/unit/sampler/no_descriptors.h"

using namespace stallprof;

namespace {

// One process with one thread on a machine of text.
struct ThreadBench {
  ThreadBench()
      : task{100, 1, "python3"}, tree(machine.root(), 100), sampler(machine.root(), tree) {
    machine.process(task);
    machine.file("proc/100/task/100/wchan", "0");
  }
  void sample(long later = 10) {
    clock += ms(later);
    tree.sample(clock, list);
    sampler.sample(clock, list);
  }
  void end() { sampler.finish(clock, list); }
  // So many threads beside the first, all asleep.
  void addSleepers(int count) {
    for (int tid = 1001; tid <= 1000 + count; ++tid) {
      machine.thread(task, tid);
      machine.syscall(100, tid, call(SYS_futex));
    }
  }
  // Of all slices so far: their samples, and their time together.
  [[nodiscard]] std::pair<std::size_t, Nanos> samplesAndTime() const {
    std::pair<std::size_t, Nanos> sums{};
    for (const ThreadSlice& slice : list.all<ThreadSlice>()) {
      sums.first += slice.samples;
      sums.second += slice.duration;
    }
    return sums;
  }
  // Samples of a thread blocked in `line` and gives the class and its name.
  std::pair<Wait, std::string> classOf(const std::string& line) {
    machine.syscall(100, 100, line);
    sample();
    sample();
    end();
    const auto slices = list.all<ThreadSlice>();
    return {slices.back().wait, list.text(slices.back().what)};
  }
  Machine machine;
  Machine::Task task;
  EventList list;
  ProcessTree tree;
  ThreadSampler sampler;
  Nanos clock = ms(1000);
};

using Class = std::pair<Wait, std::string>;

// Counts samples by tid; only the first thread has a stack.
struct StackOfOne : SampleSink {
  bool sample(const ThreadSample& sample) override {
    ++samples[sample.tid];
    if (sample.preferred) preferred.insert(sample.tid);
    return sample.tid == 100;
  }
  void endRound(Nanos, const Pace&, EventOut&) override {}
  void resume(Nanos) override {}
  void finish(Nanos, EventOut&) override {}
  std::map<std::uint32_t, int> samples;
  std::set<std::uint32_t> preferred;
};

// Takes 5 ms of CPU in each round for what does not depend on the pace.
struct BusySink : StackOfOne {
  void endRound(Nanos, const Pace&, EventOut&) override {
    const Nanos begin = processCpu();
    while (processCpu() - begin < ms(5)) {
    }
    unpaced += processCpu() - begin;
  }
  [[nodiscard]] Nanos unpacedCpu() const override { return unpaced; }
  Nanos unpaced{};
};

// So many samples, at that pace, of three threads that run without a break.
void samplesOfPool(ThreadBench& bench, StackOfOne& sink, const Pace& pace, int count) {
  for (int tid : {101, 102}) bench.machine.thread(bench.task, tid);
  bench.sampler.deliverSamples(sink);
  bench.sampler.setPace(pace);
  for (int i = 1; i <= count; ++i) {
    for (int tid : {100, 101, 102})
      bench.machine.schedstat(100, tid, i * pace.period.count(), 0, i);
    bench.sample(pace.period / ms(1));
  }
}

}  // namespace

TEST_CASE("a blocked thread's wait is named") {
  SECTION("futex") {
    CHECK(ThreadBench().classOf(call(SYS_futex)) == Class{Wait::kFutex, "futex"});
  }
  SECTION("sleep") {
    CHECK(ThreadBench().classOf(call(SYS_clock_nanosleep)) ==
          Class{Wait::kSleep, "clock_nanosleep"});
  }
  SECTION("a poll of nothing is a sleep") {
    CHECK(ThreadBench().classOf(call(SYS_pselect6)) == Class{Wait::kSleep, "pselect6"});
    CHECK(ThreadBench().classOf(call(SYS_pselect6, "0x4")) == Class{Wait::kPoll, "pselect6"});
    CHECK(ThreadBench().classOf(call(SYS_ppoll, "0x7ffe", "0x2")) == Class{Wait::kPoll, "ppoll"});
  }
  SECTION("a file that is opened, to be read or to be written") {
    CHECK(ThreadBench().classOf(call(SYS_openat, "0xffffff9c", "0x7f00")) ==
          Class{Wait::kFileMeta, "openat"});
    const std::string created =
        std::to_string(SYS_openat) + " 0xffffff9c 0x7f00 0x80241 0x1b6 0x0 0x0 0x7ffe 0x7f11\n";
    CHECK(ThreadBench().classOf(created) == Class{Wait::kFileWrite, "openat"});
    CHECK(ThreadBench().classOf(call(SYS_renameat2)) == Class{Wait::kFileWrite, "renameat2"});
    CHECK(ThreadBench().classOf(call(SYS_unlinkat)) == Class{Wait::kFileWrite, "unlinkat"});
  }
  SECTION("a child") {
    CHECK(ThreadBench().classOf(call(SYS_wait4)) == Class{Wait::kChild, "wait4"});
  }
  SECTION("a pipe") {
    ThreadBench bench;
    bench.machine.link("proc/100/fd/5", "pipe:[11]");
    CHECK(bench.classOf(call(SYS_read, "0x5")) == Class{Wait::kPipe, "pipe"});
  }
  SECTION("an accelerator") {
    ThreadBench bench;
    bench.machine.link("proc/100/fd/5", "/dev/nvidia0");
    CHECK(bench.classOf(call(SYS_ioctl, "0x5")) == Class{Wait::kDevice, "/dev/nvidia0"});
  }
  SECTION("a call of tomorrow") {
    CHECK(ThreadBench().classOf(call(499)) == Class{Wait::kOther, "call 499"});
  }
}

TEST_CASE("a read of a file names the file and reports it") {
  ThreadBench bench;
  bench.machine.file("proc/self/mountinfo", "1 0 0:1 / / rw - ext4 /dev/vda rw\n");
  bench.machine.file("train.bin", std::string(3000, 'x'));
  const std::string path = bench.machine.root() + "/train.bin";
  bench.machine.link("proc/100/fd/3", path);
  bench.machine.file("proc/100/fdinfo/3", "pos:\t1024\n");
  CHECK(bench.classOf(call(SYS_read, "0x3")) == Class{Wait::kFileRead, path});
  const auto files = bench.list.all<FileSeen>();
  REQUIRE(files.size() == 1);
  CHECK(bench.list.text(files[0].path) == path);
  CHECK(bench.list.text(files[0].fsType) == "ext4");
  CHECK(files[0].size == 3000);
  CHECK(files[0].offset == 1024);
}

TEST_CASE("outside any call: a fault when uninterruptible, stopped when stopped") {
  ThreadBench fault;
  fault.task.state = 'D';
  fault.machine.process(fault.task);
  CHECK(fault.classOf("-1 0x7ffe 0x7f11\n").first == Wait::kPageFault);
  ThreadBench stopped;
  stopped.task.state = 'T';
  stopped.machine.process(stopped.task);
  CHECK(stopped.classOf("-1 0x7ffe 0x7f11\n").first == Wait::kStopped);
}

TEST_CASE("a thread that has not run since it was seen blocked is not asked again") {
  ThreadBench bench;
  bench.machine.syscall(100, 100, call(SYS_futex));
  bench.sample();
  bench.machine.syscall(100, 100, call(SYS_wait4));  // cannot be: the count stands still
  bench.sample();
  bench.machine.schedstat(100, 100, 5'000'000, 0, 2);
  bench.sample();
  bench.end();
  const auto slices = bench.list.all<ThreadSlice>();
  REQUIRE(slices.size() == 2);
  CHECK(slices[0].wait == Wait::kFutex);
  CHECK(slices[1].wait == Wait::kChild);
  CHECK(slices[1].run == ms(5));
}

TEST_CASE("a resting thread is sampled less often, and its time stays whole") {
  ThreadBench bench;
  bench.machine.syscall(100, 100, call(SYS_futex));
  const Nanos begin = bench.clock + ms(10);
  for (int i = 0; i < 1500; ++i) bench.sample();
  CHECK(bench.sampler.period() == ms(50));
  bench.machine.schedstat(100, 100, 0, 0, 2);
  bench.machine.syscall(100, 100, "running\n");
  for (int i = 0; i < 30; ++i) bench.sample();
  CHECK(bench.sampler.period() == ms(10));
  bench.end();
  const auto [samples, total] = bench.samplesAndTime();
  CHECK(total == bench.clock - begin);
  CHECK(samples < 450);
  CHECK(samples > 250);
}

namespace {

std::size_t openFiles() {
  std::size_t count = 0;
  forEachNumber("/proc/self/fd", [&](std::uint32_t) { ++count; });
  return count;
}

}  // namespace

TEST_CASE("sleepers share a thousand samples a second, and their time stays whole") {
  ThreadBench bench;
  bench.machine.syscall(100, 100, call(SYS_futex));
  bench.addSleepers(299);
  const Nanos begin = bench.clock + ms(10);
  for (int i = 0; i < 500; ++i) bench.sample();
  bench.end();
  const auto [samples, total] = bench.samplesAndTime();
  CHECK(total == 300 * (bench.clock - begin));
  CHECK(samples > 300 * 3);
  CHECK(samples < 5 * 1000 + 300 * 12);  // in 5 s; a few of each until it is known to sleep
}

TEST_CASE(
    "many threads that wake for moments share samples with sleepers, and their time is whole") {
  ThreadBench bench;
  bench.addSleepers(299);
  const Nanos begin = bench.clock + ms(10);
  for (int i = 1; i <= 500; ++i) {
    bench.machine.schedstat(100, 100, 20'000 * i, 0, 2 + i);  // the process's first thread
    for (int tid = 1001; tid < 1299; ++tid) bench.machine.schedstat(100, tid, 20'000 * i, 0, 2 + i);
    bench.machine.schedstat(100, 1299, 1'000'000 * i, 0, 2 + i);  // works a tenth of its time
    bench.sample();
  }
  bench.end();
  const auto [samples, total] = bench.samplesAndTime();
  CHECK(total == 300 * (bench.clock - begin));
  CHECK(samples < 2 * 500 + 5 * 1000 + 300 * 12);
  std::map<std::uint32_t, std::uint32_t> of;
  Nanos run{};
  for (const ThreadSlice& slice : bench.list.all<ThreadSlice>()) {
    of[slice.thread.value] += slice.samples;
    run += slice.run;
  }
  CHECK(std::count_if(of.begin(), of.end(), [](auto& one) { return one.second > 450; }) == 2);
  CHECK(run == 500 * Nanos(299 * 20'000 + 1'000'000));
}

TEST_CASE("hundreds of sleepers make fifty slices a second, and their time stays whole") {
  ThreadBench bench;
  bench.machine.syscall(100, 100, call(SYS_futex));
  bench.addSleepers(399);
  const Nanos begin = bench.clock + ms(10);
  for (int i = 0; i < 600; ++i) bench.sample(i < 200 ? 10 : 50);
  const std::size_t before = bench.list.all<ThreadSlice>().size();
  const Nanos settled = bench.clock;
  for (int i = 0; i < 400; ++i) bench.sample(50);
  const auto reported = static_cast<double>(bench.list.all<ThreadSlice>().size() - before);
  CHECK(reported / seconds(bench.clock - settled) <= 60);
  bench.end();
  Nanos total{};
  for (const ThreadSlice& slice : bench.list.all<ThreadSlice>()) total += slice.duration;
  CHECK(total == 400 * (bench.clock - begin));
}

TEST_CASE("hundreds of threads that run on make a bounded number of slices") {
  ThreadBench bench;
  for (int tid = 1001; tid <= 1799; ++tid) bench.machine.thread(bench.task, tid);
  for (int i = 0; i < 100; ++i) bench.sample(100);
  const std::size_t before = bench.list.all<ThreadSlice>().size();
  const Nanos settled = bench.clock;
  for (int i = 0; i < 100; ++i) bench.sample(100);
  const auto reported = static_cast<double>(bench.list.all<ThreadSlice>().size() - before);
  CHECK(reported / seconds(bench.clock - settled) <= 400);
}

TEST_CASE("while all of many threads rest, the pace is that of one that rests") {
  ThreadBench bench;
  bench.machine.syscall(100, 100, call(SYS_futex));
  bench.addSleepers(100);
  for (int i = 0; i < 4; ++i) bench.sample();
  CHECK(bench.sampler.period() == ms(10));  // they may be up and about again
  for (int i = 0; i < 300; ++i) {
    bench.sample();
    if (i > 200) CHECK(bench.sampler.period() == ms(50));
  }
  bench.machine.schedstat(100, 1007, 1'000'000, 0, 2);
  bench.machine.syscall(100, 1007, "running\n");
  for (int i = 0; i < 100; ++i) bench.sample();
  CHECK(bench.sampler.period() == ms(10));
  bench.machine.remove("proc/100/task/1007");
  for (int i = 0; i < 100; ++i) bench.sample();
  CHECK(bench.sampler.period() == ms(50));
}

TEST_CASE("a thread that wakes among sleepers is sampled with every turn again") {
  ThreadBench bench;
  bench.addSleepers(50);
  for (int i = 0; i < 100; ++i) bench.sample();
  for (int i = 0; i < 50; ++i) {
    bench.machine.schedstat(100, 1007, 1'000'000 * (i + 1), 0, 2 + i);
    bench.machine.syscall(100, 1007, i % 2 == 0 ? "running\n" : call(SYS_wait4));
    bench.sample();
  }
  bench.end();
  std::size_t woken = 0;
  for (const ThreadSlice& slice : bench.list.all<ThreadSlice>())
    if (slice.wait == Wait::kChild) woken += slice.samples;
  CHECK(woken >= 20);
}

TEST_CASE("a thread that only sleeps keeps one descriptor, and none when it is gone") {
  ThreadBench bench;
  bench.sample();
  const std::size_t before = openFiles();
  bench.addSleepers(40);
  for (int i = 0; i < 300; ++i) bench.sample();
  CHECK(bench.sampler.threads() == 41);
  CHECK(openFiles() <= before + 41);
  for (int tid = 1001; tid <= 1040; ++tid)
    bench.machine.remove("proc/100/task/" + std::to_string(tid));
  for (int i = 0; i < 200; ++i) bench.sample();
  CHECK(bench.sampler.threads() == 1);
  CHECK(openFiles() <= before + 1);
}

TEST_CASE("a thread that is born while there is no descriptor is sampled once there is one") {
  ThreadBench bench;
  bench.sample();
  bench.machine.thread(bench.task, 1001);
  {
    const NoDescriptors none;
    bench.tree.take({TaskEvent::Kind::kFork, 100, 1001, 100, bench.clock, {}});
    bench.sample();
  }
  CHECK(bench.sampler.threads() == 2);
  for (int i = 0; i < 5; ++i) bench.sample();
  bench.end();
  const ThreadSeen born = bench.list.all<ThreadSeen>().back();
  CHECK(born.tid == 1001);
  std::size_t samples = 0;
  for (const ThreadSlice& slice : bench.list.all<ThreadSlice>())
    if (slice.thread == born.thread) samples += slice.samples;
  CHECK(samples >= 4);
}

TEST_CASE("run, queue and blocked time sum to the wall, whatever the thread did") {
  ThreadBench bench;
  const Nanos begin = bench.clock + ms(10);
  long run = 0, queued = 0, count = 1;
  bench.sample();
  for (int i = 0; i < 500; ++i) {
    if (i % 3 != 0) {
      run += 4'000'000;
      queued += 1'000'000;
      ++count;
    }
    bench.machine.schedstat(100, 100, run, queued, count);
    bench.machine.syscall(100, 100, i % 2 == 0 ? "running\n" : call(SYS_futex));
    bench.sample();
  }
  bench.end();
  Nanos duration{}, ran{}, waited{};
  for (const ThreadSlice& slice : bench.list.all<ThreadSlice>()) {
    duration += slice.duration;
    ran += slice.run;
    waited += slice.queued;
  }
  CHECK(duration == bench.clock - begin);
  CHECK(ran == Nanos(run));
  CHECK(waited == Nanos(queued));
}

TEST_CASE("without schedstat a thread has its stat's ticks and samples of its stack") {
  ThreadBench bench;
  bench.task.userTicks = 0;  // 50 of the system, before the first sample
  bench.machine.thread(bench.task, 100);
  bench.machine.remove("proc/100/task/100/schedstat");
  StackOfOne sink;
  bench.sampler.deliverSamples(sink);
  bench.sample();
  for (int i = 0; i < 100; ++i) {  // 2 ticks of 10 ms in each 100 ms
    bench.task.userTicks += i % 10 < 2 ? 1 : 0;
    bench.task.state = i % 10 < 2 ? 'R' : 'S';
    bench.machine.thread(bench.task, 100);
    bench.machine.remove("proc/100/task/100/schedstat");
    bench.machine.syscall(100, 100, i % 10 < 2 ? "running\n" : call(SYS_futex));
    bench.sample();
  }
  bench.end();
  CHECK(bench.list.source("thread_state").first == Coverage::kPartial);
  CHECK(sink.samples[100] > 100);
  Nanos duration{}, ran{}, waited{};
  bool slept = false;
  for (const ThreadSlice& slice : bench.list.all<ThreadSlice>()) {
    duration += slice.duration;
    ran += slice.run;
    waited += slice.queued;
    slept = slept || slice.wait == Wait::kFutex;
  }
  CHECK(duration == ms(1000));
  CHECK(ran == 70 * tickLength());
  CHECK(waited == Nanos{});
  CHECK(slept);
}

TEST_CASE("without the syscall file the wait channel is used, without both the state") {
  ThreadBench bench;
  bench.machine.remove("proc/100/task/100/syscall");
  bench.machine.file("proc/100/task/100/wchan", "anon_pipe_read");
  bench.sample();
  bench.sample();
  bench.end();
  CHECK(bench.list.source("thread_syscall").first == Coverage::kAbsent);
  CHECK(bench.list.source("thread_wchan").first == Coverage::kFull);
  CHECK(bench.list.all<ThreadSlice>().back().wait == Wait::kPipe);

  ThreadBench blind;
  blind.machine.remove("proc/100/task/100/syscall");
  blind.machine.remove("proc/100/task/100/wchan");
  blind.sample();
  blind.sample();
  blind.end();
  CHECK(blind.list.source("thread_wchan").first == Coverage::kAbsent);
  CHECK(blind.list.all<ThreadSlice>().back().wait == Wait::kUnknown);
}

TEST_CASE("taking turns, every thread is sampled and what was left out is reported") {
  ThreadBench bench;
  for (int tid = 101; tid < 140; ++tid) bench.machine.thread(bench.task, tid);
  bench.sample();
  bench.sampler.setPace({ms(10), 8});
  for (int i = 0; i < 300; ++i) bench.sample();
  bench.end();
  std::vector<bool> seen(64, false);
  for (const ThreadSlice& slice : bench.list.all<ThreadSlice>()) seen[slice.thread.value] = true;
  CHECK(std::count(seen.begin(), seen.end(), true) == 40);
  const auto losses = bench.list.all<Loss>();
  REQUIRE_FALSE(losses.empty());
  CHECK(losses[0].kind == LossKind::kThreadsSkipped);
}

TEST_CASE("at a slower pace than asked for, threads without a stack beside one give way to it") {
  ThreadBench bench;
  StackOfOne sink;
  samplesOfPool(bench, sink, {ms(40), 1}, 400);
  CHECK(sink.samples[100] == 401);  // at its birth, too
  CHECK(sink.samples[101] > 400 / 6);
  CHECK(sink.samples[101] < 400 / 3);
  bench.end();
  // All of their time is in slices nevertheless.
  Nanos pool{};
  for (const ThreadSlice& slice : bench.list.all<ThreadSlice>())
    if (slice.thread.value == 2) pool += slice.duration;
  CHECK(pool >= ms(40 * 399));
}

TEST_CASE("at the slowest pace, and at the one that was asked for, threads are sampled alike") {
  for (const int period : {1000, 10}) {
    ThreadBench bench;
    StackOfOne sink;
    samplesOfPool(bench, sink, {ms(period), 1}, 100);
    CHECK(sink.samples[100] == 101);
    CHECK(sink.samples[101] == 101);
  }
}

TEST_CASE(
    "what began to work while a slow pace let it sleep is sampled when the pace is fast again") {
  ThreadBench bench;
  StackOfOne sink;
  bench.machine.syscall(100, 100, call(SYS_futex));
  bench.addSleepers(499);
  bench.sample();
  bench.sampler.setPace({ms(1000), 8});
  for (int i = 0; i < 200; ++i) bench.sample(1000);
  bench.sampler.deliverSamples(sink);
  bench.sampler.setPace({ms(10), 1});
  for (int i = 1; i <= 300; ++i) {
    for (const int tid : {100, 1007}) {
      bench.machine.schedstat(100, tid, 10'000'000L * i, 0, 2 + i);
      bench.machine.syscall(100, tid, "running\n");
    }
    bench.sample();
  }
  CHECK(sink.samples[100] > 150);  // asleep for 200 s, and not left alone for as long again
  CHECK(sink.samples[1007] > 150);
}

TEST_CASE("a first thread among hundreds of sleepers is sampled once a second at least") {
  ThreadBench bench;
  StackOfOne sink;
  bench.machine.syscall(100, 100, call(SYS_futex));
  bench.addSleepers(499);
  bench.sampler.deliverSamples(sink);
  bench.sampler.setPace({ms(1000), 1});
  for (int i = 0; i < 200; ++i) bench.sample(1000);
  CHECK(sink.samples[100] > 150);
  CHECK(sink.samples[1007] < 20);
}

TEST_CASE("a thread that trains is sampled with every round, whoever takes turns") {
  ThreadBench bench;
  StackOfOne sink;
  for (int tid = 101; tid < 140; ++tid) bench.machine.thread(bench.task, tid);
  bench.sampler.deliverSamples(sink);
  bench.sample();
  ThreadId trainer;
  for (const ThreadSeen& seen : bench.list.all<ThreadSeen>())
    if (seen.tid == 139) trainer = seen.thread;
  bench.sampler.setPace({ms(100), 8});
  for (int i = 0; i < 160; ++i) {
    bench.sampler.prefer(std::array{trainer});
    for (int tid = 100; tid < 140; ++tid)
      bench.machine.schedstat(100, tid, (i + 1) * 100'000'000L, 0, i + 2);
    bench.sample(100);
  }
  CHECK(sink.samples[139] >= 155);
  CHECK(sink.preferred == std::set<std::uint32_t>{139});
  CHECK(sink.samples[100] <= 30);
  bench.machine.remove("proc/100/task/139");
  for (int i = 0; i < 10; ++i) bench.sample(100);
  CHECK(sink.samples[139] <= 165);  // and nothing is left of it
}

TEST_CASE("what the sink needs at any pace is no cost of the samples") {
  ThreadBench bench;
  BusySink sink;
  bench.sampler.deliverSamples(sink);
  for (int i = 0; i < 5; ++i) bench.sample();
  REQUIRE(sink.unpaced >= ms(25));
  CHECK(bench.sampler.pacedCpu() < ms(20));
  CHECK(bench.sampler.pacedCpu() > Nanos::zero());
}

TEST_CASE("a thread that is older than the recording begins with what it has used by then") {
  for (const bool attached : {false, true}) {
    ThreadBench bench;
    if (attached) bench.tree.noneBefore(ms(1010));
    bench.machine.schedstat(100, 100, 5'000'000'000, 2'000'000'000, 7);
    bench.sample();
    bench.machine.schedstat(100, 100, 5'003'000'000, 2'001'000'000, 8);
    bench.sample();
    bench.end();
    Nanos run{}, queued{};
    for (const ThreadSlice& slice : bench.list.all<ThreadSlice>()) {
      run += slice.run;
      queued += slice.queued;
    }
    if (attached) {
      CHECK(run == ms(3));
      CHECK(queued == ms(1));
    } else {
      CHECK(run == ms(10));  // at most the time between samples
    }
  }
}

TEST_CASE("of a thread that ran in a pause no sample stands for it, of one that slept it does") {
  ThreadBench bench;
  bench.machine.syscall(100, 100, call(SYS_futex));
  bench.addSleepers(1);
  bench.sample();
  bench.sample();
  bench.clock += ms(500);
  bench.sampler.resume(bench.clock, ms(500));
  bench.machine.schedstat(100, 100, 300'000'000, 0, 2);
  bench.machine.syscall(100, 100, call(SYS_wait4));
  for (int i = 0; i < 3; ++i) bench.sample();
  bench.end();
  Nanos unseen{}, waiting{}, asleep{};
  for (const ThreadSlice& slice : bench.list.all<ThreadSlice>()) {
    if (slice.samples == 0) {
      unseen += slice.duration;
      CHECK(slice.wait == Wait::kUnknown);
      CHECK(slice.run == ms(300));
    } else if (slice.wait == Wait::kChild) {
      waiting += slice.duration;
    } else if (slice.duration > ms(500)) {
      asleep += slice.duration;  // its count proves that it did nothing else
      CHECK(slice.wait == Wait::kFutex);
    }
  }
  CHECK(unseen >= ms(500));
  CHECK(unseen < ms(520));
  CHECK(waiting > ms(0));
  CHECK(waiting < ms(60));
  CHECK(asleep > ms(500));
}
