// SPDX-License-Identifier: MIT
#include <cmath>
#include <random>

#include "tests/unit/analysis/attributed.h"
#include "trace/trace_builder.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

TEST_CASE("with workers: waiting, then the trainer's own CPU in next() as load, then compute") {
  const Trace trace = traceOf(
      kTrainer + kWorker +
      "0 loader process=1 loader=1 workers=1 batch_size=8\n"
      "990ms iterator thread=1 loader=1 epoch=1 key=7 duration=10ms\n"
      "995ms worker thread=2 key=7 worker=0 workers=1\n"
      "repeat 20 every 100ms\n"
      "1010ms fetch thread=1 loader=1 epoch=1 duration=60ms cpu=10ms batch=0+1*i worker=0 ready=0\n"
      "1005ms task thread=2 key=7 batch=0+1*i fetch_begin=0 fetch_end=50ms put_end=51ms cpu=50ms\n"
      "1100ms optimizer thread=1 duration=5ms optimizer=1\n"
      "1010ms slice thread=1 duration=100ms run=45ms queued=5ms samples=10 wait=pipe\n"
      "end\n"
      "3010ms fetch thread=1 loader=1 epoch=1 duration=4ms end=1\n");
  const TrainerFacts facts = factsOf(trace);
  REQUIRE(facts.steps.size() == 20);
  CHECK(facts.source == StepSource::kHook);
  CHECK(facts.loader == 0);
  CHECK(facts.warmup == 6);
  CHECK(facts.window() == 1400ms);
  CHECK(facts.split.wait == 14 * 50ms);
  CHECK(facts.split.load == 14 * 10ms);
  CHECK(facts.split.compute == 14 * 40ms);
  CHECK(facts.blame.transform == 14 * 45ms);
  CHECK(facts.blame.load == 14 * 5ms);
  CHECK(facts.cpu == 14 * 45ms);
  CHECK(facts.starved == 14 * 5ms);
  CHECK(facts.steps[7].cpu == 45ms);
  CHECK(facts.steps[7].batch == 7);
  CHECK(facts.steps[7].ready == 0);
  CHECK(facts.works.size() == 20);
  CHECK(facts.optimizerSteps == 20);
  REQUIRE(facts.epochs.size() == 1);
  CHECK(facts.epochs[0].begin == 990ms);
  CHECK(facts.epochs[0].steps == 20);
  CHECK(facts.epochs[0].wait == 20 * 50ms);
  REQUIRE(facts.workers.size() == 1);
  CHECK(facts.workers[0].process == ProcessId{2});
}

TEST_CASE("what loaders take that are zipped with the trainer's is known of the window") {
  const Trace trace = traceOf(
      kTrainer + kWorker +
      "0 loader process=1 loader=1 workers=0\n"
      "0 loader process=1 loader=2 workers=1\n"
      "0 loader process=1 loader=3 workers=0\n"
      "990ms iterator thread=1 loader=2 epoch=2 key=7 duration=5ms\n"
      "repeat 20 every 100ms\n"
      "1000ms fetch thread=1 loader=1 epoch=1 duration=20ms cpu=20ms batch=0+1*i\n"
      "1020ms fetch thread=1 loader=2 epoch=2 duration=1ms batch=0+1*i worker=0 ready=1\n"
      "1021ms fetch thread=1 loader=3 epoch=3 duration=5ms cpu=5ms batch=0+1*i\n"
      "995ms task thread=2 key=7 batch=0+1*i fetch_begin=0 fetch_end=30ms put_end=32ms cpu=30ms\n"
      "1090ms optimizer thread=1 duration=5ms optimizer=1\n"
      "end\n"
      "3000ms fetch thread=1 loader=1 epoch=1 duration=1ms end=1\n");
  const TrainerFacts facts = factsOf(trace);
  REQUIRE(facts.steps.size() == 20);
  CHECK(facts.loader == 0);
  REQUIRE(facts.zipped.size() == 2);
  CHECK(facts.zipped[0].loader == 1);
  CHECK(facts.zipped[0].workers == 1);
  CHECK(facts.zipped[0].making == 14 * 32ms);
  CHECK(facts.zipped[1].loader == 2);
  CHECK(facts.zipped[1].workers == 0);
  CHECK(facts.zipped[1].making == 14 * 5ms);
  CHECK(factsOf(kTwentyFetches).zipped.empty());
}

TEST_CASE(
    "a zipped loader that is made again for each epoch is one, and its iterators are counted") {
  const auto zippedOf = [](const std::string& second) {
    return factsOf(
               traceOf(kTrainer + kWorker +
                       "0 loader process=1 loader=1 workers=0\n"
                       "0 loader process=1 loader=2 workers=1 file=\"t.py\" line=9\n"
                       "1s loader process=1 loader=4 workers=1 file=\"t.py\" line=9\n"
                       "990ms iterator thread=1 loader=2 epoch=2 key=7 duration=5ms\n"
                       "990ms iterator thread=1 loader=4 epoch=4 key=8 duration=5ms\n"
                       "repeat 20 every 100ms\n"
                       "1000ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=0+1*i\n"
                       "1090ms optimizer thread=1 duration=5ms optimizer=1\n"
                       "end\n"
                       "repeat 10 every 100ms\n"
                       "1020ms fetch thread=1 loader=2 epoch=2 duration=1ms batch=0+1*i worker=0\n"
                       "995ms task thread=2 key=7 batch=0+1*i fetch_end=30ms put_end=32ms\n" +
                       second +
                       " fetch thread=1 loader=4 epoch=4 duration=1ms batch=0+1*i worker=0\n"
                       "1030ms task thread=2 key=8 batch=0+1*i fetch_end=30ms put_end=32ms\n"
                       "end\n"
                       "3000ms fetch thread=1 loader=1 epoch=1 duration=1ms end=1\n"))
        .zipped;
  };
  const auto after = zippedOf("2020ms");
  REQUIRE(after.size() == 1);
  CHECK(after[0].iterators == 1);
  CHECK(after[0].making == 14 * 32ms);
  const auto beside = zippedOf("1025ms");
  REQUIRE(beside.size() == 1);
  CHECK(beside[0].iterators == 2);
}

TEST_CASE("without workers next() is all wait, blamed on itself") {
  const TrainerFacts facts = factsOf(kTwentyFetches);
  CHECK(facts.split.wait == 14 * 20ms);
  CHECK(facts.blame.transform == 14 * 20ms);
  CHECK(facts.split.compute == 14 * 80ms);
}

TEST_CASE("time in which nothing could be written is no long step of compute") {
  const std::string steps = "ms fetch thread=1 loader=1 epoch=1 duration=60ms cpu=60ms batch=";
  const std::string before = "repeat 100 every 100ms\n1000" + steps + "0+1*i\nend\n",
                    after = "repeat 100 every 100ms\n111000" + steps + "1000+1*i\nend\n",
                    gap = "10500ms gap duration=100s why=\"no space left\"\n",
                    loss = "110500ms loss kind=disk_full count=";
  const TrainerFacts facts = factsOf(before + gap + loss + "4000\n" + after);
  CHECK(facts.split.compute < 12s);
  CHECK(facts.split.other > 99s);
  CHECK(facts.split.wait == 149 * 60ms);  // what was written of its begin counts
  CHECK(facts.steps[99].boundary);
  // The recorder alone stood still: what the hook reported meanwhile is there.
  CHECK(factsOf(before + gap + after).split.other < 1s);
}

TEST_CASE("time in which the trainer was stopped is no part of the window") {
  const auto steps = [](const std::string& begin, int batch) {
    return "repeat 100 every 100ms\n" + begin +
           "ms fetch thread=1 loader=1 epoch=1 duration=60ms cpu=60ms batch=" +
           std::to_string(batch) + "+1*i\n" + begin +
           "ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\nend\n";
  };
  const std::string before = steps("1000", 0), after = steps("111000", 100);
  const auto check = [](const TrainerFacts& facts) {
    CHECK(facts.stopped == 100s);
    CHECK(facts.window() == 149 * 100ms);
    CHECK(facts.split.compute == 149 * 40ms);
    CHECK(facts.split.wait == 149 * 60ms);
    CHECK(facts.split.other == 0ms);
    CHECK(facts.cpu - facts.window() <= 1ms);
    CHECK(facts.epochs.at(0).stopped == 100s);
  };
  const std::string during = "11000ms slice thread=1 duration=100s run=0 samples=1000 wait=";
  SECTION("by its state, between two steps") {
    const TrainerFacts facts = factsOf(before + during + "stopped\n" + after);
    check(facts);
    CHECK(facts.steps[99].boundary);
  }
  SECTION("and the recorder with it, by a gap in which it reports nothing") {
    const std::string stop =
        "11000ms gap duration=100s why=\"recorder stopped\"\n"
        "11000ms slice thread=1 duration=100s run=1ms samples=1 wait=running\n";
    check(factsOf(before + stop + after));
    // The trainer went on: a gap in what the recorder knows.
    const std::string fetch = "50s fetch thread=1 loader=1 epoch=1 duration=1s batch=1000\n";
    CHECK(factsOf(before + stop + fetch + after).stopped == 0s);
  }
  SECTION("a thread that is blocked for as long is not") {
    CHECK(factsOf(before + during + "futex\n" + after).stopped == 0s);
  }
}

TEST_CASE("a batch in whose making the job was stopped is none of the loader's") {
  const TrainerFacts facts = factsOf(
      "repeat 100 every 100ms\n1s fetch thread=1 loader=1 epoch=1 duration=60ms batch=0+1*i\nend\n"
      "11s fetch thread=1 loader=1 epoch=1 duration=20s batch=100\n"
      "11s slice thread=1 duration=19950ms run=0 samples=200 wait=stopped\n"
      "11s slow_samples thread=1 duration=19s index=5 samples=1 slow=1 median=1ms excess=19s\n");
  CHECK(facts.split.wait < 100 * 60ms);
  CHECK(facts.works.size() == 100);
  CHECK(facts.slowSamples.slowest.empty());
}

TEST_CASE("a checkpoint is periodic, and its step is set apart") {
  const TrainerFacts facts =
      factsOf(kTwentyFetches + "2530ms span thread=1 duration=30ms phase=periodic name=\"save\"\n" +
              "2535ms span thread=1 duration=10ms phase=periodic name=\"save within\"\n" +
              "2540ms span thread=2 duration=50ms phase=periodic name=\"another thread's\"\n");
  CHECK(facts.split.periodic == 30ms);
  CHECK(facts.steps[15].split.periodic == 30ms);
  CHECK(facts.steps[15].boundary);
  CHECK(!facts.steps[14].boundary);
}

TEST_CASE("marks win over NVTX ranges, those over the hook, those over fetches") {
  const TrainerFacts facts = factsOf(
      kTwentyFetches +
      "2500ms span thread=1 duration=50ms phase=periodic source=hook\n"  // over the fetch too
      "2530ms span thread=1 duration=40ms phase=sync source=nvtx\n"
      "2560ms span thread=1 duration=10ms phase=comm source=mark\n"
      "2562ms span thread=1 duration=1ms phase=sync source=nvtx\n");
  const Split& split = facts.steps[15].split;
  CHECK(split.periodic == 30ms);
  CHECK(split.sync == 30ms);
  CHECK(split.comm == 10ms);
  CHECK(split.wait == 0ms);
  CHECK(split.compute == 30ms);
}

TEST_CASE("a user's mark for his own loading is waiting, blamed as he says") {
  const TrainerFacts facts =
      factsOf(kTwentyFetches + "2530ms span thread=1 duration=30ms phase=extract source=mark\n" +
              "2560ms span thread=1 duration=10ms phase=transform source=mark\n");
  CHECK(facts.steps[15].blame.extract == 30ms);
  CHECK(facts.steps[15].blame.transform == 20ms + 10ms);
  CHECK(facts.steps[15].split.wait == 60ms);
}

TEST_CASE("evaluation is periodic from the making of its iterator to its last fetch") {
  const TrainerFacts facts =
      factsOf(kTwentyFetches + "2925ms iterator thread=1 loader=2 epoch=2 duration=1ms\n" +
              "2926ms fetch thread=1 loader=2 epoch=2 duration=10ms batch=0\n" +
              "2950ms fetch thread=1 loader=2 epoch=2 duration=5ms end=1\n");
  CHECK(facts.steps.size() == 20);
  CHECK(facts.split.periodic == 30ms);
  REQUIRE(facts.epochs.size() == 2);
  CHECK(facts.epochs[1].evaluation);
  CHECK(facts.epochs[1].steps == 0);
}

TEST_CASE("an iterator made at the start does not make all until its first batch evaluation") {
  const TrainerFacts facts = factsOf(
      "500ms iterator thread=1 loader=2 epoch=1 duration=1ms\n"
      "500ms iterator thread=1 loader=1 epoch=2 duration=1ms\n" +
      kTwentyFetches + "2950ms fetch thread=1 loader=2 epoch=1 duration=5ms batch=0\n" +
      "2960ms fetch thread=1 loader=2 epoch=1 duration=5ms end=1\n");
  CHECK(facts.split.periodic == 15ms);
  REQUIRE(facts.epochs.size() == 2);
  CHECK(facts.epochs[1].begin == 2950ms);
}

TEST_CASE("the end of an epoch and the start of the next are load, what is between is other") {
  const Trace trace =
      traceOf(kTrainer + "0 loader process=1 loader=1 workers=1\n" +
              "repeat 2 every 1s\n"
              "1000ms iterator thread=1 loader=1 epoch=1+1*i key=7+1*i duration=50ms\n"
              "1050ms fetch thread=1 loader=1 epoch=1+1*i duration=10ms batch=0 worker=0\n"
              "1150ms fetch thread=1 loader=1 epoch=1+1*i duration=10ms batch=1 worker=0\n"
              "1250ms fetch thread=1 loader=1 epoch=1+1*i duration=30ms end=1\n"
              "end\n");
  const TrainerFacts facts = factsOf(trace);
  REQUIRE(facts.steps.size() == 4);
  CHECK(facts.warmup == 1);
  CHECK(facts.windowBegin == 1150ms);
  CHECK(facts.windowEnd == 2250ms);
  CHECK(facts.split.load == 30ms + 50ms);
  CHECK(facts.split.other == 720ms);
  CHECK(facts.split.wait == 3 * 10ms);
  CHECK(facts.blame.unknown == 3 * 10ms);  // no worker was heard of
  CHECK(facts.split.compute == 3 * 90ms);
}

TEST_CASE("persistent workers: no start-up in the second epoch, their work in both") {
  const Trace trace =
      traceOf(kTrainer + kWorker + "0 loader process=1 loader=1 workers=1 persistent=1\n" +
              "1000ms iterator thread=1 loader=1 epoch=1 key=7 duration=5ms\n"
              "1200ms worker thread=2 key=7 worker=0 workers=1\n"  // spawned: its imports took long
              "1200ms task thread=2 key=7 batch=0 fetch_end=50ms put_end=50ms cpu=50ms\n"
              "1005ms fetch thread=1 loader=1 epoch=1 duration=250ms batch=0 worker=0\n"
              "1300ms fetch thread=1 loader=1 epoch=1 duration=1ms end=1\n"
              "1400ms iterator thread=1 loader=1 epoch=2 key=8 duration=1ms reused=1\n"
              "1401ms worker thread=2 key=8 worker=0 workers=1\n"
              "1402ms task thread=2 key=8 batch=0 fetch_end=50ms put_end=50ms cpu=50ms\n"
              "1401ms fetch thread=1 loader=1 epoch=2 duration=60ms batch=0 worker=0\n"
              "1500ms fetch thread=1 loader=1 epoch=2 duration=1ms end=1\n");
  const TrainerFacts facts = factsOf(trace);
  REQUIRE(facts.steps.size() == 2);
  CHECK(facts.steps[0].blame.startup == 195ms);
  CHECK(facts.steps[0].blame.transform == 50ms);
  CHECK(facts.steps[1].blame.startup == 0ms);
  CHECK(facts.steps[1].blame.transform == 50ms);
  CHECK(facts.works.size() == 2);
  CHECK(facts.workers.size() == 1);
  REQUIRE(facts.epochs.size() == 2);
}

TEST_CASE("workers are known by their batches where their beginning was lost") {
  const Trace trace =
      traceOf(kTrainer + kWorker +
              "1000ms iterator thread=1 loader=1 epoch=1 key=7 duration=5ms\n"
              "1000ms task thread=2 key=7 worker=3 batch=0 fetch_end=50ms put_end=50ms\n"
              "1000ms task thread=99 key=7 worker=4 batch=1 fetch_end=50ms put_end=50ms\n"
              "1s usage process=2 cpu=0 rss=500 shared=100 threads=3\n"
              "2s usage process=2 cpu=1s rss=900 shared=150 threads=2\n"
              "1005ms fetch thread=1 loader=1 epoch=1 duration=60ms batch=0 worker=3\n"
              "1100ms fetch thread=1 loader=1 epoch=1 duration=1ms end=1\n");
  const TrainerFacts facts = factsOf(trace);
  REQUIRE(facts.workers.size() == 1);
  CHECK(facts.workers[0].worker == 3);
  CHECK(facts.workers[0].lastResident == 900);
  CHECK(facts.workers[0].peakPrivate == 750);
  CHECK(facts.workers[0].threads == 2);  // three less the queue's feeder
}

TEST_CASE("two trainers are distinguished by their threads, each with its own workers' batches") {
  const std::string ranks =
      "0 process process=1 pid=100\n0 thread thread=1 process=1 tid=100\n"
      "0 process process=2 pid=200\n0 thread thread=2 process=2 tid=200\n"
      "repeat 20 every 100ms\n"
      "1000ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=0+1*i\n"
      "1090ms optimizer thread=1 optimizer=1\n"
      "1000ms fetch thread=2 loader=1 epoch=1 duration=80ms batch=0+1*i\n"
      "1090ms optimizer thread=2 optimizer=1\n"
      "end\n"
      "3000ms fetch thread=1 loader=1 epoch=1 end=1\n"
      "3000ms fetch thread=2 loader=1 epoch=1 end=1\n";
  const Trace trace = traceOf(ranks);
  CHECK(factsOf(trace, 1, 1).split.wait == 14 * 20ms);
  CHECK(factsOf(trace, 2, 2).split.wait == 14 * 80ms);
}

TEST_CASE("accumulated gradients: which steps hold an update is known") {
  const TrainerFacts facts = factsOf(
      "repeat 10 every 200ms\n"
      "1000ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=0+2*i\n"
      "1100ms fetch thread=1 loader=1 epoch=1 duration=20ms batch=1+2*i\n"
      "1190ms optimizer thread=1 duration=5ms optimizer=1\n"
      "end\n"
      "3000ms fetch thread=1 loader=1 epoch=1 end=1\n");
  REQUIRE(facts.steps.size() == 20);
  CHECK(!facts.steps[0].updates);
  CHECK(facts.steps[1].updates);
  CHECK(facts.optimizerSteps == 10);
}

TEST_CASE("a loop without a loader: all between updates is compute") {
  const TrainerFacts facts = factsOf(
      "repeat 40 every 50ms\n1s optimizer thread=1 duration=5ms optimizer=1\nend\n"
      "2s span thread=1 duration=10ms phase=periodic\n");
  CHECK(facts.source == StepSource::kOptimizer);
  CHECK(facts.loader == -1);
  CHECK(facts.works.empty());
  CHECK(facts.split.wait == 0ms);
  CHECK(facts.split.periodic == 10ms);
  CHECK(facts.split.compute == facts.window() - 10ms);
}

TEST_CASE("a trainer that is nobody, in a trace of nothing, has no steps and no time") {
  const Trace empty;
  const TrainerFacts facts = factsOf(empty, 0, 0);
  CHECK(facts.steps.empty());
  CHECK(facts.window() == 0ns);
  CHECK(facts.source == StepSource::kNone);
}

namespace {

// Events that fit no story: all kinds of the hook and of samples, on a few threads and ids, some of
// them damaged, at any time of a second. The same for the same seed.
Trace disorder(unsigned seed) {
  std::minstd_rand random(seed);
  const auto any = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const auto time = [&](std::uint32_t maximum) { return Nanos{any(maximum) * 1000}; };
  TraceBuilder builder;
  for (std::uint32_t p = 1; p <= 3; ++p) {
    builder.take(
        {time(1000), ProcessSeen{ProcessId{p}, ProcessId{any(3)}, 100 + p, 0, {}, {}, {}}});
    builder.take({time(1000), ThreadSeen{ThreadId{p}, ProcessId{p}, 100 + p, {}}});
    LoaderSeen loader;
    loader.process = ProcessId{p};
    loader.loader = any(3);
    loader.workers = static_cast<std::int32_t>(any(3));
    builder.take({0ns, loader});
  }
  const auto thread = [&] {
    return any(40) == 0 ? ThreadId{any(2) * 4000000000u} : ThreadId{1 + any(3)};
  };
  for (int i = 0; i < 300; ++i) {
    const Nanos at = time(1'000'000);
    const std::uint64_t key = any(3);
    switch (any(8)) {
      case 0:
      case 1:
        builder.take(
            {at, Fetch{thread(), any(3), any(4), time(20'000), time(30'000), any(20),
                       static_cast<std::int32_t>(any(3)) - 1, -1, any(6) == 0, time(9000)}});
        break;
      case 2:
        builder.take(
            {at, WorkerTask{thread(), key, static_cast<std::int32_t>(any(3)), any(20), time(10'000),
                            time(20'000), time(30'000), time(20'000), time(40'000)}});
        break;
      case 3:
        builder.take({at, IteratorBegin{thread(), any(3), any(4), key, time(30'000), time(9000),
                                        any(2) == 0}});
        break;
      case 4:
        builder.take({at, OptimizerStep{thread(), time(5000), any(3)}});
        break;
      case 5:
        builder.take({at, PhaseSpan{thread(),
                                    time(30'000),
                                    static_cast<Phase>(any(12)),
                                    static_cast<SpanSource>(any(5)),
                                    {},
                                    {},
                                    0}});
        break;
      case 6:
        builder.take({at, ThreadSlice{thread(),
                                      static_cast<Wait>(any(20)),
                                      time(30'000),
                                      time(20'000),
                                      time(20'000),
                                      {},
                                      any(9)}});
        break;
      default:
        builder.take({at, WorkerBegin{thread(), key, static_cast<std::int32_t>(any(3)), 2}});
    }
  }
  return builder.seal();
}

}  // namespace

TEST_CASE("whatever order events come in, every step, wait and window sums to the nanosecond") {
  std::size_t steps = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    const Trace trace = disorder(seed);
    for (std::uint32_t who = 1; who <= 3; ++who) steps += factsOf(trace, who, who).steps.size();
    const Analysis analysis = analyze(trace);
    if (!analysis.breakdown.ratio) continue;
    const Breakdown::Ratio& r = *analysis.breakdown.ratio;
    const double sum = r.compute + r.dataWait + r.load + r.sync + r.comm + r.periodic + r.other;
    CHECK(std::abs(sum - 1) < 1e-9);
  }
  CHECK(steps > 1000);  // else the disorder tests nothing
}
