// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/producer_threads.h"

#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace std::chrono_literals;
using stallprof::test::near3;

namespace {

// The trainer at 1 (waiting in a queue's get: 3, at work: 4), a second thread of its own process.
const std::string kThreads =
    test::kTrainer +
    "0 thread thread=2 process=1 tid=101 name=\"python3\"\n"
    "0 stack stack=1 file=\"train.py\" function=\"main\" line=20\n"
    "0 stack stack=2 caller=1 file=\"/usr/lib/python3.11/queue.py\" function=\"Queue.get\" "
    "line=171\n"
    "0 stack stack=3 caller=2 file=\"/usr/lib/python3.11/threading.py\" "
    "function=\"Condition.wait\" "
    "line=320\n"
    "0 stack stack=4 file=\"train.py\" function=\"main\" line=21\n"
    "0 stack stack=5 file=\"train.py\" function=\"prefetch\" line=40\n"
    "0 stack stack=6 caller=5 file=\"/u/site-packages/PIL/Image.py\" function=\"Image.resize\" "
    "line=9\n"
    "0 stack stack=7 caller=5 file=\"/u/site-packages/sklearn/tree/_classes.py\" function=\"fit\" "
    "line=9\n";

// 200 updates, one every 100 ms: 60 ms in the queue's get, 40 ms of work.
std::string trainer(const std::string& wait = "futex") {
  return "repeat 200 every 100ms\n"
         "0ms slice thread=1 duration=60ms samples=6 wait=" +
         wait +
         "\n"
         "10ms stack_slice thread=1 duration=50ms samples=6 stack=3\n"
         "60ms slice thread=1 duration=40ms run=40ms samples=4 wait=running\n"
         "70ms stack_slice thread=1 duration=30ms samples=4 stack=4\n"
         "95ms optimizer thread=1 duration=5ms optimizer=1\n"
         "end\n";
}

// What thread 2 does meanwhile: at work, or blocked, for the first 60 ms of each step.
std::string other(const std::string& run, const std::string& wait, int stack) {
  return "repeat 200 every 100ms\n"
         "0ms slice thread=2 duration=60ms samples=6 run=" +
         run + " wait=" + wait + "\n" +
         "10ms stack_slice thread=2 duration=50ms samples=6 stack=" + std::to_string(stack) + "\n" +
         "60ms slice thread=2 duration=40ms samples=4 wait=futex\n"
         "70ms stack_slice thread=2 duration=30ms samples=4 stack=5\n"
         "end\n";
}

// 20 s in which the job uses `job` of CPU time, and nobody else any.
std::string cpuOfJob(const std::string& job) {
  return "0 host busy=0 job_cpu=0\n20s host busy=" + job + " job_cpu=" + job + "\n";
}

}  // namespace

TEST_CASE("a thread that works while the trainer waits at its queue makes the data") {
  const Trace trace = test::traceOf(kThreads + trainer() + other("60ms", "running", 6));
  const Analyzed answer = analyzeWithFacts(trace);
  CHECK(answer.roles.of(ThreadId{2}) == Role::kProducer);
  REQUIRE(answer.analysis.breakdown.blame.has_value());
  CHECK(near3(answer.analysis.breakdown.blame->transform, 0.6));
  CHECK(near3(answer.analysis.breakdown.ratio->compute, 0.4));
  CHECK(near3(answer.analysis.breakdown.blame->unknown, 0));
  bool named = false;
  for (const FunctionInfo& f : answer.analysis.functions)
    named = named || (f.role == "producer" && f.phase == Phase::kTransform &&
                      f.hot.function.raw() == "Image.resize");
  CHECK(named);
}

TEST_CASE("threads that make the data need more cores where the training thread waits for one") {
  const auto found = [](const std::string& worked) {
    std::string text = trainer();
    const std::string alone = "run=40ms";
    text.replace(text.find(alone), alone.size(), worked);
    return analyze(
        test::traceOf("manifest cores_usable=4\n" + kThreads + text + other("60ms", "running", 6)));
  };
  const Analysis idle = found("run=35ms queued=5ms");
  const Finding* few = test::find(idle, "transform.too_few_workers");
  REQUIRE(few != nullptr);
  CHECK(few->advice.at(0).id == "more_producers");
  CHECK(few->title.starts_with("Too few threads"));
  CHECK(test::find(idle, "transform.cpu_saturated") == nullptr);
  const Analysis full = found("run=20ms queued=20ms");
  CHECK(test::find(full, "transform.too_few_workers") == nullptr);
  const Finding* saturated = test::find(full, "transform.cpu_saturated");
  REQUIRE(saturated != nullptr);
  CHECK(near3(saturated->shareRatio, 0.8));  // waiting for the batch, and for a core
  // Half of the work, at best a tenth; both waits end at best.
  REQUIRE(saturated->advice.at(0).id == "offline_preprocess");
  CHECK(near3(1 / *saturated->advice[0].predicted.speedup, 0.5));
  CHECK(near3(1 / *saturated->advice[0].predicted.high, 0.2));
}

TEST_CASE("what such threads read again is to be read once, beside more of them") {
  const auto advised = [](const std::string& read) {
    const Analysis a = analyze(test::traceOf(
        "manifest cores_usable=4\n0 host busy=0 job_cpu=0 mem_available=1000000000\n"
        "20s host busy=20s job_cpu=20s mem_available=1000000000\n" +
        kThreads + "repeat 20 every 1s\n0 file process=1 path=\"/data/a\" size=2000000\nend\n" +
        "0 usage process=1 rchar=0\n20s usage process=1 rchar=" + read + "\n" + trainer() +
        other("60ms", "running", 6)));
    const Finding* few = test::find(a, "transform.too_few_workers");
    REQUIRE(few != nullptr);
    return *few;
  };
  const Finding again = advised("90000000");
  const Advice* once = test::adviceIn(again, "read_once");
  REQUIRE(once);
  CHECK(test::says(again, "what it holds open: a, 2 MB"));
  // Half of what is no parsing, and they set the pace; at best the wait ends.
  CHECK(near3(1 / *once->predicted.speedup, 0.5));
  CHECK(near3(1 / *once->predicted.high, 0.4));
  CHECK_FALSE(test::adviceIn(advised("2000000"), "read_once"));
}

TEST_CASE("where Keras asks a PyDataset for batches the advice is its own number of workers") {
  const auto advised = [](const std::string& function) {
    const Analysis a = analyze(
        test::traceOf("manifest cores_usable=4\n" + kThreads +
                      "0 stack stack=8 file=\"/u/site-packages/keras/src/trainers/data_adapters/"
                      "py_dataset_adapter.py\" line=9 function=\"" +
                      function + "\"\n" + trainer() + other("60ms", "running", 6)));
    const Finding* few = test::find(a, "transform.too_few_workers");
    REQUIRE(few != nullptr);
    return few->advice.at(0).id;
  };
  CHECK(advised("PyDatasetAdapter._get_iterator") == "sequence_workers");
  CHECK(advised("<module>") == "more_producers");  // Keras is imported
  CHECK(advised("PyDataset") == "more_producers");
}

TEST_CASE("threads that make the data in time may take the cores that the step needs") {
  // Of ten steps the first waits for 40 ms.
  const auto found = [](const std::string& worked, const std::string& making) {
    return analyze(test::traceOf(
        "manifest cores_usable=2\n" + kThreads +
        "repeat 20 every 1s\n0ms slice thread=1 duration=40ms samples=4 wait=futex\n"
        "10ms stack_slice thread=1 duration=30ms samples=4 stack=3\n"
        "40ms slice thread=1 duration=960ms samples=90 wait=running " +
        worked +
        "\n50ms stack_slice thread=1 duration=940ms samples=90 stack=4\nend\n"
        "repeat 200 every 100ms\n95ms optimizer thread=1 duration=5ms optimizer=1\nend\n" +
        other(making, "running", 6)));
  };
  const Analysis pressed = found("run=800ms queued=160ms", "60ms");
  const Finding* contention = test::find(pressed, "compute.contention");
  REQUIRE(contention != nullptr);
  CHECK(contention->title.starts_with("Threads that make data"));
  CHECK(near3(contention->shareRatio, 0.16));
  CHECK_FALSE(contention->advice.at(0).predicted.speedup.has_value());
  CHECK(test::find(found("run=950ms queued=10ms", "60ms"), "compute.contention") == nullptr);
}

TEST_CASE(
    "own threads that wait for a network while the trainer waits for them need more requests") {
  const std::string link =
      "0 network interface=\"eth0\"\n10s network interface=\"eth0\" rx=20000000 tx=400\n"
      "20s network interface=\"eth0\" rx=40000000 tx=800\n";
  const Analysis a = analyze(test::traceOf("manifest cores_usable=4\n" + cpuOfJob("8s") + kThreads +
                                           link + trainer() + other("0", "socket", 6)));
  const Finding* found = test::find(a, "extract.remote_latency");
  REQUIRE(found != nullptr);
  REQUIRE(!found->advice.empty());
  CHECK(found->advice[0].id == "more_requests");
  // Four times as many answers in the same time, but for the step's own 40 %.
  REQUIRE(found->advice[0].predicted.speedup.has_value());
  CHECK(near3(1 / *found->advice[0].predicted.speedup, 0.4));
}

TEST_CASE("more threads gain what the step's own time and the same work on all cores let them") {
  const auto gain = [](const std::string& job) {
    const Analysis a = analyze(test::traceOf("manifest cores_usable=4\n" + cpuOfJob(job) +
                                             kThreads + trainer() + other("60ms", "running", 6)));
    const Finding* few = test::find(a, "transform.too_few_workers");
    REQUIRE(few != nullptr);
    return few->advice.at(0).predicted;
  };
  // 60 % of waiting: half as long for a batch, and at best no wait at all.
  const Prediction idle = gain("20s");
  REQUIRE(idle.speedup.has_value());
  CHECK(idle.basis == Basis::kAssumed);
  CHECK(near3(1 / *idle.speedup, 0.5));
  CHECK(near3(1 / *idle.high, 0.4));
  CHECK(idle.assumes.starts_with("twice as many threads make twice as many batches"));
  const Prediction busy = gain("56s");  // of 80
  CHECK(near3(1 / *busy.speedup, 0.7));
  CHECK(near3(1 / *busy.high, 0.7));
}

TEST_CASE("where others fill the cores it is not the job's batches that need more CPU") {
  const auto found = [](const std::string& job) {
    std::string text = trainer();
    const std::string alone = "run=40ms";
    text.replace(text.find(alone), alone.size(), "run=20ms queued=20ms");
    return analyze(
        test::traceOf("manifest cores_usable=4\n0 host busy=0 job_cpu=0\n20s host busy=80s "
                      "job_cpu=" +
                      job + "\n" + kThreads + text + other("60ms", "running", 6)));
  };
  CHECK(test::find(found("70s"), "transform.cpu_saturated"));
  const Analysis others = found("40s");
  CHECK_FALSE(test::find(others, "transform.cpu_saturated"));
  const Finding* few = test::find(others, "transform.too_few_workers");
  REQUIRE(few);
  CHECK(few->title.ends_with("while the job can have more cores"));
}

TEST_CASE("what threads on busy cores take from a step that hardly waits is not known") {
  const auto predicted = [](const std::string& job) {
    const Analysis a = analyze(test::traceOf(
        "manifest cores_usable=4\n" + cpuOfJob(job) + kThreads +
        "repeat 200 every 100ms\n0ms slice thread=1 duration=10ms samples=1 wait=futex\n"
        "5ms stack_slice thread=1 samples=1 stack=3\n"
        "10ms slice thread=1 duration=90ms run=90ms samples=9 wait=running\n"
        "15ms stack_slice thread=1 duration=80ms samples=9 stack=4\n"
        "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n" +
        other("60ms", "running", 6)));
    const Finding* few = test::find(a, "transform.too_few_workers");
    REQUIRE(few != nullptr);
    return few->advice.at(0).predicted.speedup.has_value();
  };
  CHECK(predicted("40s"));
  CHECK_FALSE(predicted("64s"));
}

TEST_CASE("a native pool's thread that spins after the model's work makes no data") {
  const auto role = [](const char* library, const char* function) {
    const Trace trace =
        test::traceOf(kThreads + trainer() +
                      "repeat 200 every 100ms\n0ms slice thread=2 duration=60ms run=12ms samples=6 "
                      "wait=futex\n1ms native thread=2 duration=9ms samples=4 file=\"" +
                      std::string(library) + "\" function=\"" + function + "\"\nend\n");
    return analyzeWithFacts(trace).roles.of(ThreadId{2});
  };
  CHECK(role("/u/lib/libgomp.so.1", "") != Role::kProducer);
  CHECK(role("/u/lib/libjpeg.so.8", "jpeg_idct_islow") == Role::kProducer);
}

TEST_CASE("a trainer that sleeps until a thread has made its data waits for it") {
  const auto ratios = [](const std::string& run, const std::string& wait) {
    std::string loop = trainer("sleep");  // at a line of its own
    loop.replace(loop.find("stack=3"), 7, "stack=4");
    const Analysis a = analyze(test::traceOf(kThreads + loop + other(run, wait, 6)));
    REQUIRE(a.breakdown.ratio.has_value());
    return std::pair(a.breakdown.ratio->compute, a.breakdown.blame->transform);
  };
  const auto made = ratios("60ms", "running");
  CHECK(near3(made.first, 0.4));
  CHECK(near3(made.second, 0.6));
  // Who is ahead of it works for a part of that time.
  CHECK(near3(ratios("36ms", "futex").first, 1));
  // Nobody works meanwhile: what it sleeps for is the program's own matter.
  const auto slept = ratios("0ms", "futex");
  CHECK(near3(slept.first, 1));
  CHECK(near3(slept.second, 0));
}

TEST_CASE(
    "a trainer that waits at a condition, or in an event loop, waits for who works meanwhile") {
  const auto blamed = [](const std::string& file, const std::string& function,
                         const std::string& run, const std::string& wait) {
    const std::string frame = "0 stack stack=9 caller=4 file=\"/usr/lib/python3.11/" + file +
                              "\" function=\"" + function + "\" line=320\n";
    std::string loop = trainer();
    loop.replace(loop.find("stack=3"), 7, "stack=9");
    const Analysis a = analyze(test::traceOf(kThreads + frame + loop + other(run, wait, 6)));
    REQUIRE(a.breakdown.blame.has_value());
    CHECK(near3(a.breakdown.ratio->compute, 0.4));
    return *a.breakdown.blame;
  };
  CHECK(near3(blamed("threading.py", "Condition.wait", "60ms", "running").transform, 0.6));
  CHECK(near3(blamed("threading.py", "wait", "60ms", "running").transform, 0.6));  // before 3.11
  CHECK(near3(blamed("selectors.py", "EpollSelector.select", "0ms", "futex").unknown, 0.6));
  CHECK(near3(blamed("subprocess.py", "Popen.wait", "0ms", "futex").unknown, 0.6));
}

TEST_CASE("an event loop of the trainer's waits for the network, unless a thread works meanwhile") {
  const std::string select =
      "0 stack stack=9 caller=4 file=\"/usr/lib/python3.11/selectors.py\" "
      "function=\"EpollSelector.select\" line=468\n";
  const auto blamed = [&](const std::string& run, const std::string& wait) {
    std::string loop = trainer("event_loop");
    loop.replace(loop.find("stack=3"), 7, "stack=9");
    return analyze(test::traceOf(kThreads + select + loop + other(run, wait, 6)));
  };
  const Analysis alone = blamed("0ms", "futex");
  CHECK(near3(alone.breakdown.phase->extract, 0.6));
  CHECK(near3(alone.breakdown.ratio->compute, 0.4));
  CHECK(near3(blamed("60ms", "running").breakdown.blame->transform, 0.6));
  const Finding* found = test::find(alone, "transform.in_process");
  REQUIRE(found);
  REQUIRE(found->advice.size() == 2);
  CHECK(found->advice[0].id == "more_requests");  // its tasks may prepare batches ahead already
  CHECK(found->evidence[0].text == "the training thread waits in its event loop for responses");
}

TEST_CASE("a fetch in an event loop is reading, unless a thread of its executor works meanwhile") {
  const auto blamed = [](const std::string& run, const std::string& wait) {
    const Analysis a = analyze(
        test::traceOf(kThreads +
                      "0 stack stack=9 caller=4 file=\"/usr/lib/python3.11/selectors.py\" "
                      "function=\"EpollSelector.select\" line=468\n"
                      "0 loader process=1 loader=1 kind=\"torch.DataLoader\" workers=0\n"
                      "0 iterator thread=1 loader=1 epoch=1\n"
                      "repeat 200 every 100ms\n"
                      "0ms fetch thread=1 loader=1 epoch=1 duration=60ms cpu=0 batch=0+1*i\n"
                      "0ms slice thread=1 duration=60ms samples=6 wait=event_loop\n"
                      "10ms stack_slice thread=1 duration=50ms samples=6 stack=9\n"
                      "60ms slice thread=1 duration=40ms run=40ms samples=4 wait=running\n"
                      "70ms stack_slice thread=1 duration=30ms samples=4 stack=4\n"
                      "95ms optimizer thread=1 duration=5ms optimizer=1\n"
                      "end\n" +
                      other(run, wait, 6)));
    REQUIRE(a.breakdown.blame.has_value());
    return *a.breakdown.blame;
  };
  CHECK(near3(blamed("0ms", "futex").extract, 0.6));
  CHECK(near3(blamed("60ms", "running").transform, 0.6));
}

TEST_CASE(
    "a thread whose event loop gets what the trainer waits for from the network makes the data") {
  const std::string select =
      "0 stack stack=8 caller=5 file=\"/usr/lib/python3.11/asyncio/base_events.py\" "
      "function=\"BaseEventLoop.run_forever\" line=607\n"
      "0 stack stack=9 caller=8 file=\"/usr/lib/python3.11/selectors.py\" "
      "function=\"EpollSelector.select\" line=468\n";
  const auto blamed = [&](const std::string& run, int stack) {
    const Analysis a =
        analyze(test::traceOf(kThreads + select + trainer() + other(run, "event_loop", stack)));
    REQUIRE(a.breakdown.blame.has_value());
    return a;
  };
  const Analysis fetched = blamed("2ms", 9);
  CHECK(near3(fetched.breakdown.blame->extract + fetched.breakdown.blame->transform, 0.6));
  CHECK(fetched.breakdown.blame->extract > 0.5);
  CHECK(near3(fetched.breakdown.ratio->compute, 0.4));
  CHECK(near3(blamed("0ms", 9).breakdown.blame->unknown, 0.6));  // who does nothing hands over none
}

TEST_CASE("a thread that idles in an event loop of a library makes no data") {
  const std::string select =
      "0 stack stack=8 file=\"/usr/lib/python3.11/asyncio/base_events.py\" "
      "function=\"BaseEventLoop.run_forever\" line=607\n"
      "0 stack stack=9 caller=8 file=\"/usr/lib/python3.11/selectors.py\" "
      "function=\"EpollSelector.select\" line=468\n";
  const Analyzed answer = analyzeWithFacts(
      test::traceOf(kThreads + select + trainer() + other("0ms", "event_loop", 9)));
  CHECK(answer.roles.of(ThreadId{2}) != Role::kProducer);
  REQUIRE(answer.analysis.breakdown.blame.has_value());
  CHECK(near3(answer.analysis.breakdown.blame->unknown, 0.6));
}

TEST_CASE("a wait for a batch while XLA computes what was called before costs nothing") {
  const auto blamed = [](const std::string& name, const std::string& run) {
    const std::string pool = "0 thread thread=3 process=1 tid=102 name=\"" + name +
                             "\"\n"
                             "repeat 200 every 100ms\n"
                             "0ms slice thread=3 duration=60ms samples=6 run=" +
                             run + " wait=running\nend\n";
    return *analyze(test::traceOf(kThreads + pool + trainer() + other("60ms", "running", 6)))
                .breakdown.phase;
  };
  CHECK(near3(blamed("tf_XLAEigen", "60ms").compute, 1));
  CHECK(near3(blamed("tf_XLAEigen", "60ms").transform, 0));
  CHECK(near3(blamed("tf_XLAEigen", "12ms").transform, 0.6));
  CHECK(near3(blamed("worker", "60ms").transform, 0.6));
}

namespace {

// 20 s in which `waits` is at stack 3 in 6 of 10 samples and at stack 4 in the others, in no even
// order, and thread `works` is at `stack` in all.
std::string uneven(int waits, int works, int stack) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    const bool waiting = (i * 7 + i * i / 3 + i / 13) % 10 < 6;
    const std::string at = std::to_string(i * 10) + "ms ",
                      until = std::to_string(i * 10 + 10) + "ms ";
    for (const bool second : {false, true}) {
      const bool blocked = !second && waiting;
      const std::string thread = std::to_string(second ? works : waits);
      text += at + "slice thread=" + thread + " duration=10ms samples=1 " +
              (blocked ? "wait=futex\n" : "run=10ms wait=running\n");
      text += until + "stack_slice thread=" + thread + " samples=1 stack=" +
              std::to_string(second    ? stack
                             : waiting ? 3
                                       : 4) +
              "\n";
    }
  }
  return text;
}

auto unevenPhases(const std::string& text) {
  const Analysis a = analyze(test::traceOf(kThreads + text));
  CHECK_FALSE(a.steps.source);
  REQUIRE(a.breakdown.phase);
  return *a.breakdown.phase;
}

}  // namespace

TEST_CASE("without known steps, too, waiting at a queue is for what the others did meanwhile") {
  CHECK(near3(unevenPhases(uneven(1, 2, 6)).transform, 0.6));
  const auto pool = unevenPhases(uneven(1, 2, 7));  // it fits a tree
  CHECK(near3(pool.compute, 0.6));
  CHECK(near3(pool.other, 0.4));  // its own lines, which no rule knows
}

TEST_CASE("without known steps what a pool was asked for is not known to be data") {
  std::string text = kThreads;
  const std::string queue = "/usr/lib/python3.11/queue.py\" function=\"Queue.get\"";
  text.replace(text.find(queue), queue.size(),
               "/usr/lib/python3.11/multiprocessing/pool.py\" function=\"Pool.map\"");
  const Analysis a = analyze(test::traceOf(text + uneven(1, 2, 5)));
  REQUIRE(a.breakdown.phase);
  CHECK(near3(a.breakdown.phase->transform, 0));
  CHECK(near3(a.breakdown.phase->compute, 0));
}

TEST_CASE("without known steps a loader's wait is for data, also while its workers are asleep") {
  const std::string get =
      " file=\"/usr/lib/python3.11/multiprocessing/queues.py\" "
      "function=\"Queue.get\" first_line=98 line=";
  std::string text = test::kTrainer +
                     "0 stack stack=1 file=\"train.py\" function=\"<module>\" line=12\n"
                     "0 stack stack=2 caller=1 file=\"/u/site-packages/torch/utils/data/"
                     "dataloader.py\" function=\"_MultiProcessingDataLoaderIter._try_get_data\" "
                     "line=1120\n0 stack stack=3 caller=2" +
                     get + "113\n0 stack stack=4 caller=2" + get + "122\n";
  for (int i = 0; i < 100; ++i) {  // 90 % of the time asleep in poll(), then it reads the batch
    const auto at = [&](int ms) { return std::to_string(i * 100 + ms) + "ms "; };
    text += at(0) + "slice thread=1 duration=90ms samples=9 wait=poll\n" + at(10) +
            "stack_slice thread=1 duration=80ms samples=9 stack=3\n" + at(90) +
            "slice thread=1 duration=10ms run=10ms samples=1 wait=running\n" + at(100) +
            "stack_slice thread=1 samples=1 stack=4\n";
  }
  const Analyzed answer = analyzeWithFacts(test::traceOf(text));
  CHECK_FALSE(answer.analysis.steps.source);
  CHECK(answer.trainer.loopAt.none());  // of Queue.get(), or of anything else in the loader
  REQUIRE(answer.analysis.breakdown.blame);
  CHECK(near3(answer.analysis.breakdown.blame->unknown, 1));
  CHECK(near3(answer.analysis.breakdown.ratio->dataWait, 1));
  CHECK(near3(answer.analysis.breakdown.ratio->other, 0));
}

TEST_CASE("without known steps the thread that updates a model is the one that the report is of") {
  const std::string more =
      "0 thread thread=3 process=1 tid=102 name=\"python3\"\n"
      "0 stack stack=8 caller=1 file=\"/u/site-packages/sklearn/naive_bayes.py\" "
      "function=\"_BaseNB.partial_fit\" line=9\n"
      "0 stack stack=9 file=\"/usr/lib/python3.11/threading.py\" function=\"Thread.join\" line=9\n"
      "repeat 20 every 1s\n"
      "0ms slice thread=1 duration=1s samples=100 wait=futex\n"
      "10ms stack_slice thread=1 duration=990ms samples=100 stack=9\n"
      "end\n";
  std::string text = uneven(3, 2, 6);
  const Analysis joined = analyze(test::traceOf(kThreads + more + text));
  REQUIRE(joined.breakdown.phase);
  CHECK(near3(joined.breakdown.phase->transform, 1));  // of the busiest, as the main one only joins
  for (std::size_t at = 0; (at = text.find("stack=4", at)) != std::string::npos;)
    text[at + 6] = '8';
  const Analysis updated = analyze(test::traceOf(kThreads + more + text));
  REQUIRE(updated.breakdown.phase);
  CHECK(near3(updated.breakdown.phase->transform, 0.6));
  CHECK(near3(updated.breakdown.phase->compute, 0.4));
}

// A library's thread that trains takes jobs of a queue, which thread 2 fills.
TEST_CASE("a thread blocked for most of the time beside one that makes its data may wait for it") {
  const auto healthy = [](const std::string& blocked) {
    const std::string frames =
        "0 stack stack=8 file=\"/u/site-packages/gensim/models/word2vec.py\" "
        "function=\"Word2Vec._do_train_job\" line=9\n"
        "repeat 50 every 400ms\n"
        "0ms slice thread=1 duration=10ms samples=1 wait=futex\n"
        "10ms stack_slice thread=1 samples=1 stack=3\n"
        "10ms slice thread=1 duration=60ms samples=6 " +
        blocked +
        "\n20ms stack_slice thread=1 duration=260ms samples=27 stack=8\n"
        "280ms slice thread=1 duration=120ms run=120ms samples=12 wait=running\n"
        "290ms stack_slice thread=1 duration=110ms samples=12 stack=8\n"
        "0ms slice thread=2 duration=400ms samples=40 run=400ms wait=running\n"
        "10ms stack_slice thread=2 duration=390ms samples=40 stack=6\n"
        "end\n";
    const Analysis a = analyze(test::traceOf(kThreads + frames));
    REQUIRE(a.breakdown.phase);
    CHECK(a.breakdown.phase->compute > 0.9);
    return test::find(a, "compute.cpu_bound") != nullptr;
  };
  CHECK(healthy("run=270ms wait=running"));
  CHECK_FALSE(healthy("wait=futex"));
}

// The trainer receives from process 2, which its parent is said to have started, and which sends.
TEST_CASE("what a process of the program's own takes to hand batches over is found") {
  const auto found = [](const std::string& parent, const std::string& file) {
    const std::string text =
        test::kTrainer + "0 process process=2 pid=200" + parent +
        "\n0 thread thread=2 process=2 tid=200\n"
        "0 stack stack=2 file=\"train.py\" function=\"main\" line=20\n"
        "0 stack stack=3 caller=2 file=\"/usr/lib/python3.11/multiprocessing/queues.py\" "
        "function=\"Queue.get\" line=103\n"
        "0 stack stack=4 file=\"train.py\" function=\"main\" line=21\n"
        "0 stack stack=5 file=\"train.py\" function=\"make\" line=7\n"
        "0 stack stack=6 caller=5 file=\"/usr/lib/python3.11/" +
        file + "\" function=\"dump\" line=9\n";
    const Analysis a = analyze(test::traceOf(text + trainer("pipe") + other("60ms", "running", 6)));
    const Finding* ipc = test::find(a, "load.ipc");
    return ipc ? Maybe<Finding>(*ipc) : Maybe<Finding>();
  };
  const Maybe<Finding> ipc = found(" parent=1", "multiprocessing/reduction.py");
  REQUIRE(ipc);
  CHECK(near3(ipc->shareRatio, 0.6));
  CHECK(ipc->confidence <= Confidence::kMedium);
  REQUIRE(ipc->advice.size() == 1);
  CHECK(ipc->advice[0].id == "share_arrays");
  CHECK(ipc->advice[0].predicted.basis == Basis::kAssumed);
  CHECK(*ipc->advice[0].predicted.high == Approx(1 / (1 - 0.9 * ipc->shareRatio)));
  CHECK_FALSE(found(" parent=1", "json/decoder.py"));      // it makes them
  CHECK_FALSE(found("", "multiprocessing/reduction.py"));  // somebody else's
}

// The trainer receives from a process that it started (3 is its Queue.get), which works (6).
TEST_CASE("a process that the program starts itself makes the data that the trainer receives") {
  const auto phases = [](const std::string& parent, const std::string& more = "") {
    const std::string text =
        "manifest cores_usable=4\n" + test::kTrainer + "0 process process=2 pid=200" + parent +
        "\n0 thread thread=2 process=2 tid=200\n" + more +
        "0 stack stack=1 file=\"train.py\" function=\"main\" line=20\n"
        "0 stack stack=2 caller=1 file=\"/usr/lib/python3.11/multiprocessing/queues.py\" "
        "function=\"Queue.get\" line=103\n"
        "0 stack stack=3 caller=2 file=\"/usr/lib/python3.11/multiprocessing/connection.py\" "
        "function=\"Connection._recv\" line=378\n"
        "0 stack stack=4 file=\"train.py\" function=\"main\" line=21\n"
        "0 stack stack=5 file=\"/usr/lib/python3.11/multiprocessing/process.py\" "
        "function=\"BaseProcess._bootstrap\" line=314\n"
        "0 stack stack=6 caller=5 file=\"train.py\" function=\"make\" line=7\n";
    const Analysis a = analyze(test::traceOf(text + trainer("pipe") + other("60ms", "running", 6)));
    REQUIRE(a.breakdown.phase);
    if (const Finding* few = test::find(a, "transform.too_few_workers"))
      CHECK(few->title.starts_with("Too few processes"));
    else
      CHECK((parent.empty() || !more.empty()));
    return *a.breakdown.phase;
  };
  CHECK(near3(phases(" parent=1").transform, 0.6));
  CHECK(near3(phases("").load, 0.6));  // a process of somebody else's
  // The worker of a loader: another thread reads it and hands its batches over, or the trainer
  // itself (here an evaluation, at the end), and the hook follows them.
  const std::string worker = "500ms worker thread=2 key=9 worker=0 workers=1\n";
  CHECK(near3(phases(" parent=1", worker).transform, 0.6));
  const auto own = [](const std::string& key) {
    return "20500ms iterator thread=1 loader=1 epoch=1 duration=1ms key=" + key +
           "\n20510ms fetch thread=1 loader=1 epoch=1 duration=1ms batch=0 worker=0\n";
  };
  CHECK(near3(phases(" parent=1", worker + own("9")).load, 0.6));
  CHECK(near3(phases(" parent=1", worker + own("8")).transform, 0.6));
}

TEST_CASE("threads and workers that live for one of many epochs make its data") {
  // As the first case, by twenty threads one after another, for ten steps each.
  std::string text = kThreads + trainer();
  for (int i = 0; i < 20; ++i) {
    const std::string thread = std::to_string(i + 3), at = std::to_string(1000 * i);
    text +=
        at + "ms thread thread=" + thread + " process=1 tid=" + thread + "00 name=\"python3\"\n";
    text += "repeat 10 every 100ms\n" + at + "ms slice thread=" + thread +
            " duration=60ms samples=6 run=60ms wait=running\n" + std::to_string(1000 * i + 10) +
            "ms stack_slice thread=" + thread + " duration=50ms samples=6 stack=6\nend\n" +
            std::to_string(1000 * i + 990) + "ms thread_gone thread=" + thread + "\n";
  }
  const Analysis a = analyze(test::traceOf(text));
  REQUIRE(a.breakdown.blame.has_value());
  CHECK(near3(a.breakdown.blame->transform, 0.6));
}

TEST_CASE("threads that resolve names for a moment make no data of the requests that follow") {
  // 60 ms of each 100 in an event loop; in each a thread lives for 5 ms and works for `worked` ms.
  const auto found = [](int worked, int life) {
    std::string text = kThreads +
                       "0 stack stack=9 caller=4 file=\"/usr/lib/python3.11/selectors.py\" "
                       "function=\"EpollSelector.select\" line=468\n" +
                       trainer("event_loop");
    text.replace(text.find("samples=6 stack=3"), 17, "samples=6 stack=9");
    for (int i = 0; i < 200; ++i) {
      const std::string thread = std::to_string(i + 3);
      const auto at = [&](int ms) { return std::to_string(100 * i + ms) + "ms "; };
      text += at(0) + "thread thread=" + thread + " process=1 tid=" + thread + "00\n" + at(0) +
              "slice thread=" + thread + " duration=" + std::to_string(life) +
              "ms samples=1 wait=running run=" + std::to_string(worked) + "ms\n" + at(life) +
              "thread_gone thread=" + thread + "\n";
    }
    return test::find(analyze(test::traceOf(text)), "transform.in_process") != nullptr;
  };
  CHECK(found(4, 5));          // 4 of the 60 ms: the loop itself reads, and may read ahead
  CHECK_FALSE(found(50, 55));  // such threads make the batch
}

TEST_CASE("in a queue's get a thread that runs, or waits to, is still waiting for its batch") {
  const Analysis a =
      analyze(test::traceOf(kThreads + trainer("running") + other("60ms", "running", 6)));
  REQUIRE(a.breakdown.blame.has_value());
  CHECK(near3(a.breakdown.blame->transform, 0.6));
  CHECK(near3(a.breakdown.ratio->compute, 0.4));
}

TEST_CASE("while that thread is blocked on a file, the trainer waits for extraction") {
  const Analysis a = analyze(test::traceOf(kThreads + trainer() + other("0ms", "file_read", 6)));
  REQUIRE(a.breakdown.blame.has_value());
  CHECK(near3(a.breakdown.blame->extract, 0.6));
}

TEST_CASE("half at work, half asleep: what nobody did anything for is not named") {
  // Asleep with a stack of its own: a sleep is nobody's work.
  const std::string both =
      "repeat 200 every 100ms\n"
      "0ms slice thread=2 duration=30ms samples=3 run=30ms wait=running\n"
      "10ms stack_slice thread=2 duration=20ms samples=3 stack=6\n"
      "30ms slice thread=2 duration=70ms samples=7 wait=sleep\n"
      "40ms stack_slice thread=2 duration=60ms samples=7 stack=5\n"
      "end\n";
  const Analysis a = analyze(test::traceOf(kThreads + trainer() + both));
  REQUIRE(a.breakdown.blame.has_value());
  CHECK(near3(a.breakdown.blame->transform, 0.3));
  CHECK(near3(a.breakdown.blame->unknown, 0.3));
}

namespace {

// A trainer whose steps are calls of a compiled function, in which it sleeps; a thread of its
// process gets the batch for the first 60 ms of each, and does nothing else.
std::string compiled(const std::string& step, const std::string& thread) {
  return kThreads +
         "0 stack stack=8 caller=4 "
         "file=\"/u/site-packages/keras/src/backend/tensorflow/trainer.py\" "
         "function=\"TensorFlowTrainer." +
         step +
         "\" line=9\n"
         "0 thread thread=3 process=1 tid=102 name=\"tf_Compute\"\n"
         "0 thread thread=4 process=1 tid=103 name=\"tf_Compute\"\n"
         "repeat 200 every 100ms\n"
         "0ms slice thread=1 duration=100ms samples=10 wait=futex\n"
         "10ms stack_slice thread=1 duration=90ms samples=10 stack=8\n"
         "0ms slice thread=3 duration=60ms samples=6 wait=futex what=\"tf.data get-next\"\n"
         "60ms slice thread=3 duration=40ms samples=4 wait=futex what=\"futex\"\n"
         "95ms optimizer thread=1 duration=5ms optimizer=1\n" +
         thread + "end\n";
}
const std::string kWorks =
    "0ms slice thread=2 duration=60ms samples=6 run=60ms wait=running\n"
    "60ms slice thread=2 duration=40ms samples=4 wait=futex\n";

}  // namespace

TEST_CASE("a compiled step that waits for its next batch does not compute") {
  const Analysis a = analyze(test::traceOf(compiled("fit", kWorks)));
  REQUIRE(a.breakdown.blame.has_value());
  CHECK(near3(a.breakdown.blame->transform, 0.6));
  CHECK(near3(a.breakdown.ratio->compute, 0.4));
}

TEST_CASE("Python code under tf.data makes batches one at a time: more threads would not help") {
  const std::string python = "10ms stack_slice thread=2 duration=50ms samples=6 stack=6\n";
  const std::string tensorflow = "0 framework process=1 name=\"tensorflow\" version=\"2.21\"\n";
  const auto first = [](const std::string& text) {
    const Analysis a = analyze(test::traceOf("manifest cores_usable=4\n" + text));
    REQUIRE_FALSE(a.findings.empty());
    return a.findings[0];
  };
  const Finding inPython = first(tensorflow + compiled("fit", kWorks + python));
  CHECK(inPython.id == "transform.in_process");
  REQUIRE_FALSE(inPython.advice.empty());
  CHECK(inPython.advice[0].id == "out_of_python");
  // Compiled code of those threads, and threads that the program starts itself.
  CHECK(first(tensorflow + compiled("fit", kWorks)).id == "transform.too_few_workers");
  CHECK(first(compiled("fit", kWorks + python)).id == "transform.too_few_workers");
  // Two threads at once: the code releases the lock.
  const auto busy = [](const std::string& thread) {
    return "0ms slice thread=" + thread + " duration=100ms samples=10 run=100ms wait=running\n" +
           "10ms stack_slice thread=" + thread + " duration=80ms samples=9 stack=6\n";
  };
  const std::string five = "0 thread thread=5 process=1 tid=105 name=\"python3\"\n";
  CHECK(first(tensorflow + compiled("fit", busy("2"))).id == "transform.in_process");
  CHECK(first(tensorflow + five + compiled("fit", busy("2") + busy("5"))).id ==
        "transform.too_few_workers");
}

TEST_CASE("where nobody is seen to make that batch, the wait is unknown, and not compute") {
  const Analysis a = analyze(test::traceOf(compiled("fit", "")));
  REQUIRE(a.breakdown.blame.has_value());
  CHECK(near3(a.breakdown.blame->unknown, 0.6));
  CHECK(near3(a.breakdown.ratio->compute, 0.4));
}

TEST_CASE("a compiled evaluation that waits for its next batch is an evaluation") {
  const Analysis a = analyze(test::traceOf(compiled("evaluate", kWorks)));
  REQUIRE(a.breakdown.ratio.has_value());
  CHECK(near3(a.breakdown.ratio->periodic, 1));
}

TEST_CASE("a TensorFlow that cannot be sampled is not said to compute while it waits") {
  const std::string blind =
      kThreads +
      "0 framework process=1 name=\"tensorflow\" version=\"2.21\"\n"
      "0 source source=\"thread_syscall\" state=absent why=\"syscall: EPERM\"\n" +
      "repeat 200 every 100ms\n"
      "0ms slice thread=1 duration=70ms samples=7 wait=futex\n"
      "70ms slice thread=1 duration=30ms run=30ms samples=3 wait=running\n"
      "10ms stack_slice thread=1 duration=90ms samples=10 stack=4\n"
      "95ms optimizer thread=1 duration=5ms optimizer=1\n"
      "end\n";
  const Analysis a = analyze(test::traceOf(blind));
  REQUIRE(a.breakdown.ratio.has_value());
  CHECK(near3(a.breakdown.ratio->other, 0.7));
  CHECK(near3(a.breakdown.ratio->compute, 0.3));
  CHECK(a.verdict.boundBy == "unknown");
}

TEST_CASE("samples that fell beside the fetch they are of make no step load") {
  // Each fetch is 40 ms; the samples' stacks were read 10 ms after the instants they are kept with.
  const bool torch = GENERATE(false, true);
  const std::string next =
      torch ? "torch/utils/data/dataloader.py\" function=\"_BaseDataLoaderIter.__next__\" line=9\n"
            : "tensorflow/python/data/ops/iterator_ops.py\" "
              "function=\"OwnedIterator._next_internal\" line=9\n";
  const std::string loader =
      torch ? "kind=\"torch.DataLoader\" workers=2\n" : "kind=\"tf.data\" workers=0\n";
  const Analysis a =
      analyze(test::traceOf(kThreads + "0 stack stack=9 caller=4 file=\"/u/site-packages/" + next +
                            "0 stack stack=8 caller=9 file=\"/usr/lib/python3.11/selectors.py\" "
                            "function=\"_PollLikeSelector.select\" line=415\n"
                            "0 loader process=1 loader=1 " +
                            loader +
                            "0 iterator thread=1 loader=1 epoch=1\n"
                            "repeat 200 every 100ms\n"
                            "10ms fetch thread=1 loader=1 epoch=1 duration=40ms cpu=0 batch=0+1*i\n"
                            "0ms slice thread=1 duration=50ms samples=5 wait=futex\n"
                            "5ms stack_slice thread=1 duration=30ms samples=4 stack=8\n"
                            "50ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\n"
                            "55ms stack_slice thread=1 duration=40ms samples=5 stack=4\n"
                            "end\n"));
  REQUIRE(a.breakdown.ratio.has_value());
  CHECK(near3(a.breakdown.ratio->load, 0));
  CHECK(near3(a.breakdown.ratio->compute, 0.6));
}

TEST_CASE("a get-next that reads is one, too; a lock it holds nothing of is not") {
  const std::string reads =
      "60ms slice thread=4 duration=20ms samples=2 wait=file_read what=\"/data/x\"\n"
      "80ms slice thread=4 duration=10ms samples=1 wait=futex what=\"tf.data get-next\"\n"
      "90ms slice thread=4 duration=10ms samples=1 wait=futex what=\"futex\"\n";
  const Analysis a = analyze(test::traceOf(compiled("fit", reads)));
  REQUIRE(a.breakdown.ratio.has_value());
  CHECK(near3(a.breakdown.ratio->compute, 0.1));
}

TEST_CASE("threads that compute by known rules make no data: who waits for them computes") {
  const Trace trace = test::traceOf(kThreads + trainer() + other("60ms", "running", 7));
  const Analyzed answer = analyzeWithFacts(trace);
  CHECK(answer.roles.of(ThreadId{2}) == Role::kHelper);
  REQUIRE(answer.analysis.breakdown.ratio.has_value());
  CHECK(near3(answer.analysis.breakdown.ratio->compute, 1));
}

TEST_CASE("a wait at a queue that nobody is seen to fill is no compute, and nobody's") {
  const Trace trace = test::traceOf(kThreads + trainer() + other("0ms", "futex", 5));
  const Analyzed answer = analyzeWithFacts(trace);
  CHECK(answer.roles.of(ThreadId{2}) == Role::kHelper);
  REQUIRE(answer.analysis.breakdown.blame.has_value());
  CHECK(near3(answer.analysis.breakdown.ratio->compute, 0.4));
  CHECK(near3(answer.analysis.breakdown.blame->unknown, 0.6));
  CHECK(answer.analysis.verdict.boundBy == "unknown");
  CHECK_FALSE(test::find(answer.analysis, "transform.in_process"));  // who makes them is not known
}

TEST_CASE("a wait for tf.data is blamed on what the runtime's threads did") {
  const auto training = [](const std::string& thread) {
    return test::traceOf(kThreads +
                         "0 loader process=1 loader=1 kind=\"tf.data\" workers=0\n"
                         "0 iterator thread=1 loader=1 epoch=1\n"
                         "repeat 100 every 100ms\n"
                         "0ms fetch thread=1 loader=1 epoch=1 duration=80ms cpu=0 batch=0+1*i\n"
                         "0ms slice thread=1 duration=80ms samples=8 wait=futex\n"
                         "10ms stack_slice thread=1 duration=70ms samples=8 stack=3\n"
                         "80ms slice thread=1 duration=20ms run=20ms samples=2 wait=running\n"
                         "90ms stack_slice thread=1 duration=10ms samples=2 stack=4\n" +
                         thread + "end\n");
  };
  const Analysis a =
      analyze(training("0ms slice thread=2 duration=40ms run=40ms wait=running\n"
                       "40ms slice thread=2 duration=40ms wait=file_read\n"
                       "80ms slice thread=2 duration=20ms wait=futex\n"));
  REQUIRE(a.breakdown.blame.has_value());
  CHECK(near3(a.breakdown.blame->transform, 0.4));
  CHECK(near3(a.breakdown.blame->extract, 0.4));
  CHECK(near3(a.breakdown.blame->unknown, 0));
  const Analysis idle = analyze(training("0ms slice thread=2 duration=100ms wait=futex\n"));
  REQUIRE(idle.breakdown.blame.has_value());
  CHECK(near3(idle.breakdown.blame->unknown, 0.8));
}

namespace {

// 200 updates whose batches were ready: of each 100 ms the trainer is blocked for 30 ms in its own
// call, waiting for the lock or not, while thread 2 holds it, which is then blocked in `ends`.
std::string beside(const std::string& gil, const std::string& ends) {
  return test::kTrainer +
         "0 thread thread=2 process=1 tid=101 name=\"python3\"\n"
         "0 stack stack=1 file=\"train.py\" function=\"main\" line=20\n"
         "0 stack stack=2 file=\"train.py\" function=\"work\" line=40\n"
         "0 stack stack=3 caller=2 file=\"train.py\" function=\"parse\" line=50\n"
         "0 stack stack=4 caller=2 file=\"/usr/lib/python3.11/queue.py\" function=\"" +
         ends +
         "\" line=140\n"
         "repeat 200 every 100ms\n"
         "0ms slice thread=1 duration=30ms samples=3 wait=futex\n"
         "10ms stack_slice thread=1 duration=20ms samples=3 stack=1 gil=" +
         gil +
         "\n"
         "30ms slice thread=1 duration=70ms run=70ms samples=7 wait=running\n"
         "40ms stack_slice thread=1 duration=60ms samples=7 stack=1 gil=released\n"
         "95ms optimizer thread=1 duration=5ms optimizer=1\n"
         "0ms slice thread=2 duration=30ms run=30ms samples=3 wait=running\n"
         "10ms stack_slice thread=2 duration=20ms samples=3 stack=3 gil=holds\n"
         "30ms slice thread=2 duration=70ms samples=7 wait=futex\n"
         "40ms stack_slice thread=2 duration=60ms samples=7 stack=4 gil=released\n"
         "end\n";
}

}  // namespace

TEST_CASE("a step that waits for the lock which threads ahead of it hold is bound by the lock") {
  const Analysis a = analyze(test::traceOf(beside("waits", "Queue.put")));
  const Finding* lock = test::find(a, "transform.gil_bound");
  REQUIRE(lock != nullptr);
  CHECK(lock->rank == 1);
  CHECK(near3(lock->shareRatio, 0.3));
  CHECK(lock->hot.function.raw() == "parse");
  CHECK(a.verdict.boundBy == "transform");
}

TEST_CASE("operators that threads which make batches slow are found with less confidence") {
  const auto confidence = [](const std::string& ends) {
    std::string text = beside("waits", ends);
    text.insert(
        text.rfind("end\n"),
        "45ms native thread=1 duration=1ms stack=1 file=\"/u/lib/libtorch_cpu.so\" samples=4 "
        "function=\"torch::autograd::Engine::evaluate_function\"\n");
    const Analysis a = analyze(test::traceOf(text));
    const Finding* operators = test::find(a, "compute.small_ops");
    REQUIRE(operators != nullptr);
    return operators->confidence;
  };
  CHECK(confidence("Queue.put") == Confidence::kMedium);
  CHECK(confidence("Queue.get") == Confidence::kHigh);
}

TEST_CASE(
    "a step that waits for the lock which a thread holds that makes nothing names its function") {
  const Analysis a = analyze(test::traceOf(beside("waits", "Queue.get")));
  const Finding* lock = test::find(a, "compute.gil_bound");
  REQUIRE(lock != nullptr);
  CHECK(lock->rank == 1);
  CHECK(near3(lock->shareRatio, 0.3));
  CHECK(lock->hot.function.raw() == "parse");
  REQUIRE(lock->advice.front().predicted.speedup);
  CHECK(near3(*lock->advice.front().predicted.speedup, 1 / 0.7));
  CHECK(lock->advice.front().predicted.basis == Basis::kAssumed);
  CHECK(a.verdict.boundBy == "compute");
}

TEST_CASE(
    "threads that hand batches or indices over are not those that hold the lock for nothing") {
  const auto held = [](const std::string& file, const std::string& function) {
    std::string text = beside("waits", "Queue.get");
    const std::string parse = "file=\"train.py\" function=\"parse\"";
    text.replace(text.find(parse), parse.size(),
                 "file=\"" + file + "\" function=\"" + function + "\"");
    return test::find(analyze(test::traceOf(text)), "compute.gil_bound") != nullptr;
  };
  CHECK(held("/u/site-packages/torch/nn/init.py", "normal_"));
  CHECK_FALSE(held("/u/site-packages/torch/utils/data/_utils/pin_memory.py", "_pin_memory_loop"));
  CHECK_FALSE(held("/usr/lib/python3.11/multiprocessing/queues.py", "Queue._feed"));
}

TEST_CASE(
    "a step that is blocked in anything else is not, nor by a thread that takes from a queue") {
  const auto bound = [](const std::string& lock, const std::string& call) {
    return test::find(analyze(test::traceOf(beside(lock, call))), "transform.gil_bound") != nullptr;
  };
  CHECK_FALSE(bound("released", "Queue.put"));
  CHECK_FALSE(bound("waits", "Queue.get"));
}
