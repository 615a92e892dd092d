// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/stacks.h"

#include "analysis/blame/facts_accumulator.h"
#include "analysis/blame/samples/refine.h"
#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace std::chrono_literals;
using stallprof::test::near;

namespace {

const std::string kFetchFrames =
    "0 stack stack=1 file=\"train.py\" function=\"main\" line=9\n"
    "0 stack stack=2 caller=1 file=\"/u/lib/python3.11/site-packages/torch/utils/data/_utils/"
    "fetch.py\" function=\"fetch\"\n"
    "0 stack stack=3 caller=2 file=\"train.py\" function=\"Photos.__getitem__\" line=31\n"
    "0 stack stack=4 caller=3 file=\"/u/lib/python3.11/site-packages/PIL/Image.py\" "
    "function=\"Image.resize\"\n"
    "0 stack stack=5 caller=3 file=\"/u/lib/python3.11/site-packages/PIL/Image.py\" "
    "function=\"open\"\n"
    "0 stack stack=6 caller=1 file=\"/u/lib/python3.11/logging/__init__.py\" "
    "function=\"Logger.info\"\n"
    "0 stack stack=7 caller=1 file=\"/u/lib/python3.11/site-packages/torch/autograd/__init__.py\" "
    "function=\"backward\"\n";

// No workers: 60 ms of fetch, 40 ms of step, 300 times; `samples` of them saw stacks.
std::string fetching(const std::string& samples, const std::string& wait = "running") {
  return test::kTrainer + kFetchFrames +
         "0 loader process=1 loader=1 kind=\"torch.DataLoader\" workers=0 batch_size=4\n"
         "0 iterator thread=1 loader=1 epoch=1 key=5 duration=1ms\n"
         "repeat 300 every 100ms\n"
         "10ms fetch thread=1 loader=1 epoch=1 duration=60ms cpu=60ms batch=0+1*i\n"
         "10ms slice thread=1 duration=60ms run=60ms samples=6 wait=" +
         wait +
         "\n"
         "70ms slice thread=1 duration=40ms run=40ms samples=4 wait=running\n" +
         samples +
         "100ms optimizer thread=1 duration=5ms optimizer=1\n"
         "end\n";
}

// The same, and the trainer is on a CPU for 2 ms of each fetch and step.
std::string blocked(std::string text) {
  for (const std::string time :
       {"cpu=60ms", "run=60ms samples=6 wait=futex", "run=40ms samples=4 wait=running"})
    text.replace(text.find(time) + 4, 2, "2");
  return text;
}

// In the fetch two samples open and four resize; in the step one of four logs.
const char* const kSamples =
    "15ms stack_slice thread=1 duration=10ms stack=5 samples=2\n"
    "35ms stack_slice thread=1 duration=30ms stack=4 samples=4\n"
    "75ms stack_slice thread=1 stack=6\n"
    "85ms stack_slice thread=1 duration=20ms stack=7 samples=3\n";

TrainerFacts refinedFacts(const Trace& trace) {
  const StackLabels labels(trace, RuleTable::builtIn());
  return attribute(trace, {ProcessId{1}, ThreadId{1}}, &labels);
}

}  // namespace

TEST_CASE("the CPU of fetches is split by what their samples saw, and sums stay exact") {
  const Trace trace = test::traceOf(fetching(kSamples));
  const TrainerFacts facts = refinedFacts(trace);
  CHECK(facts.blame.total() == facts.split.wait);
  CHECK(facts.split.total() == facts.window());
  const double wait = seconds(facts.split.wait);
  CHECK(near(seconds(facts.blame.extract) / wait, 2 / 6.0));
  CHECK(near(seconds(facts.blame.transform) / wait, 4 / 6.0));
  CHECK(facts.blame.extractCpu == facts.blame.extract);
}

TEST_CASE("a sampler of the program's own is counted, and its line is named") {
  const std::string sampler =
      "0 stack stack=8 caller=1 file=\"/u/lib/python3.11/site-packages/torch/utils/data/"
      "dataloader.py\" function=\"_BaseDataLoaderIter._next_index\"\n"
      "0 stack stack=9 caller=8 file=\"train.py\" function=\"ByLength.__iter__\" line=17\n";
  const std::string samples =
      "15ms stack_slice thread=1 duration=40ms stack=9 samples=5\n"
      "65ms stack_slice thread=1 stack=4\n"
      "75ms stack_slice thread=1 duration=30ms stack=7 samples=4\n";
  const Trace trace = test::traceOf(sampler + fetching(samples));
  const TrainerFacts facts = refinedFacts(trace);
  CHECK(near(facts.stacks.drawing / facts.stacks.trainerTime, 5 / 10.0, 0.03));
  CHECK(facts.blame.load == Nanos{});
  const Analysis a = analyze(trace);
  REQUIRE(test::find(a, "transform.in_process"));
  CHECK(a.findings[0].where.line == 17);
  CHECK(a.findings[0].advice[0].id == "cheaper_sampler");
}

TEST_CASE("a sampler that works before an epoch's first batch is counted by itself") {
  std::string text =
      test::kTrainer + kFetchFrames +
      "0 loader process=1 loader=1 kind=\"torch.DataLoader\" workers=1 prefetch=2 batch_size=4\n"
      "0 stack stack=8 caller=1 file=\"/u/lib/python3.11/site-packages/torch/utils/data/"
      "dataloader.py\" function=\"_BaseDataLoaderIter._next_index\"\n"
      "0 stack stack=9 caller=8 file=\"train.py\" function=\"ByLength.__iter__\" line=17\n";
  for (int epoch = 1; epoch <= 20; ++epoch) {
    const int at = 1000 * epoch;
    text += std::to_string(at) + "ms iterator thread=1 loader=1 epoch=" + std::to_string(epoch) +
            " key=" + std::to_string(epoch) + " duration=400ms reused=1\n" +
            std::to_string(at + 5) + "ms stack_slice thread=1 duration=380ms stack=9 samples=38\n" +
            std::to_string(at + 500) +
            "ms stack_slice thread=1 duration=400ms stack=7 samples=40\n";
    for (int step = 0; step < 5; ++step)
      text += std::to_string(at + 400 + 100 * step) +
              "ms fetch thread=1 loader=1 epoch=" + std::to_string(epoch) +
              " duration=1ms worker=0 batch=" + std::to_string(step) + "\n" +
              std::to_string(at + 490 + 100 * step) +
              "ms optimizer thread=1 duration=5ms optimizer=1\n";
  }
  const TrainerFacts facts = refinedFacts(test::traceOf(text));
  CHECK(facts.stacks.drawing == 0);
  CHECK(near(facts.stacks.drawingAhead / facts.stacks.trainerTime, 38 / 78.0, 0.05));
}

TEST_CASE("an overhead is the weight of its samples, however fast they come") {
  // Logging for 18 ms, seen five times; the backward pass for 82 ms, seen once.
  const Analysis a =
      analyze(test::traceOf(test::kTrainer + kFetchFrames + "repeat 300 every 100ms\n" +
                            "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n"
                            "0ms stack_slice thread=1 duration=8ms stack=6 samples=5\n"
                            "90ms stack_slice thread=1 stack=7\n"
                            "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  REQUIRE(test::find(a, "periodic.logging"));
  for (const Finding& f : a.findings)
    if (f.id == "periodic.logging") CHECK(near(f.shareRatio, 0.18, 0.02));
}

TEST_CASE("samples spread evenly over a slice never carry a fetch's stack into the step after it") {
  // Three samples of the same stack, 48 ms apart on average: the second one is said to be in the
  // step.
  const Trace trace =
      test::traceOf(fetching("30ms stack_slice thread=1 duration=96ms stack=4 samples=3\n"));
  const TrainerFacts facts = refinedFacts(trace);
  Split split = facts.split;
  Blame blame = facts.blame;
  refine(facts.stacks, split, blame);
  CHECK(split.compute == facts.split.compute);
  CHECK(blame.transform == facts.blame.transform);
}

TEST_CASE("samples of the wait for a worker's batch are not of the step after it either") {
  const std::string select =
      "0 stack stack=8 caller=1 file=\"/u/lib/python3.11/multiprocessing/connection.py\" "
      "function=\"wait\"\n";
  const auto computeIn = [&](const std::string& samples) {
    std::string text = select + fetching(samples);
    for (const auto& [from, to] : {std::pair{"workers=0", "workers=1 prefetch=2"},
                                   std::pair{"batch=0+1*i", "worker=0 batch=0+1*i"}})
      text.replace(text.find(from), std::string(from).size(), to);
    const TrainerFacts facts = refinedFacts(test::traceOf(text));
    Split split = facts.split;
    Blame blame = facts.blame;
    refine(facts.stacks, split, blame);
    return std::pair{facts.split.compute, split.compute};
  };
  const auto within = computeIn("75ms stack_slice thread=1 stack=8\n");  // seen in the step
  CHECK(within.second < within.first);
  const auto merged = computeIn("30ms stack_slice thread=1 duration=96ms stack=8 samples=3\n");
  CHECK(merged.second == merged.first);
}

TEST_CASE("without stacks nothing changes") {
  const Trace trace = test::traceOf(fetching(""));
  const TrainerFacts with = refinedFacts(trace),
                     without = attribute(trace, {ProcessId{1}, ThreadId{1}});
  CHECK(with.blame.transform == without.blame.transform);
  CHECK(with.blame.extract == Nanos{});
  CHECK(!with.stacks.seen());
}

TEST_CASE("logging inside steps is periodic in the breakdown, which still sums to one") {
  const Analysis a = analyze(test::traceOf(fetching(kSamples)));
  REQUIRE(a.breakdown.phase.has_value());
  const auto& p = *a.breakdown.phase;
  CHECK(near(p.periodic, 0.1));
  CHECK(near(p.compute, 0.3));
  CHECK(near(p.extract, 0.2));
  CHECK(near(p.transform, 0.4));
  CHECK(near(p.extract + p.transform + p.load + p.compute + p.sync + p.comm + p.periodic + p.other +
                 p.unknown,
             1, 1e-9));
}

TEST_CASE("the function table names the function, the user's line and the rule") {
  const Analysis a = analyze(test::traceOf(fetching(kSamples)));
  const FunctionInfo* resize = nullptr;
  for (const FunctionInfo& f : a.functions)
    if (f.phase == Phase::kTransform) resize = &f;
  REQUIRE(resize != nullptr);
  CHECK(resize->role == "producer");
  CHECK(resize->hot.file.raw() == "PIL/Image.py");
  CHECK(resize->hot.function.raw() == "Image.resize");
  CHECK(resize->where.file.raw() == "train.py");
  CHECK(resize->where.line == 31);
  CHECK(resize->rule == "pillow");
  CHECK(near(resize->phaseRatio, 1));
}

TEST_CASE("one function that holds the producers is named, few samples are not enough") {
  CHECK(test::find(analyze(test::traceOf(fetching(kSamples))), "transform.slow_op"));
  // The same, but only twenty samples of the whole run saw a stack.
  std::string few =
      fetching("") + "repeat 20 every 100ms\n15ms stack_slice thread=1 stack=4\nend\n";
  CHECK(!test::find(analyze(test::traceOf(few)), "transform.slow_op"));
}

TEST_CASE("what a loader runs in its own next() is no function to be made cheaper") {
  std::string text = fetching(kSamples);
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"PIL/Image.py",
                                            "tensorflow/python/data/ops/iterator_ops.py"},
        std::pair<std::string, std::string>{"Image.resize", "OwnedIterator.__next__"}})
    text.replace(text.find(from), from.size(), to);
  CHECK(!test::find(analyze(test::traceOf(text)), "transform.slow_op"));
}

TEST_CASE("an archive that is opened for each sample is to be opened once") {
  const auto adviceOf = [](const std::string& file, const std::string& function) {
    std::string text = fetching(kSamples);
    for (const auto& [from, to] : {std::pair{std::string("PIL/Image.py"), file},
                                   std::pair{std::string("Image.resize"), function}})
      text.replace(text.find(from), from.size(), to);
    const Analysis a = analyze(test::traceOf(text));
    const Finding* slow = test::find(a, "transform.slow_op");
    REQUIRE(slow);
    CHECK(slow->phase == (file == "zipfile.py" ? Phase::kExtract : Phase::kTransform));
    return std::pair{slow->advice.at(0).id, *slow->advice.at(0).predicted.speedup};
  };
  const auto opened = adviceOf("zipfile.py", "ZipFile._RealGetContents");
  const auto resized = adviceOf("PIL/Image.py", "Image.resize");
  CHECK(opened.first == "open_once");
  CHECK(resized.first == "cheaper_op");
  CHECK(opened.second > resized.second);
  CHECK(adviceOf("zipfile.py", "ZipFile.read").first == "cheaper_op");
}

TEST_CASE("a directory that is listed for each sample is to be listed once") {
  std::string text = fetching(kSamples);
  const std::string library = "/u/lib/python3.11/site-packages/PIL/Image.py";
  for (const char* file : {"/usr/lib/python3.11/glob.py", "/usr/lib/python3.11/fnmatch.py"})
    text.replace(text.find(library), library.size(), file);
  text.replace(text.find("Image.resize"), 12, "_iterdir");
  text.replace(text.find("function=\"open\""), 15, "function=\"filter\"");
  const Analysis a = analyze(test::traceOf(text));
  const Finding* listed = test::find(a, "transform.slow_op");
  REQUIRE(listed);
  CHECK(listed->phase == Phase::kExtract);
  CHECK(listed->title.starts_with("Directories are listed"));
  REQUIRE(listed->advice.size() == 1);
  CHECK(listed->advice[0].id == "list_once");
  CHECK(near(listed->shareRatio, 0.6, 0.02));  // all of the fetch
  CHECK(near(1 / *listed->advice[0].predicted.speedup, 0.41, 0.02));
}

TEST_CASE("a profiler that the program starts is to be turned off, not to log less") {
  const auto found = [](const std::string& file) {
    const std::string library = "/u/lib/python3.11/logging/__init__.py";
    std::string text = kFetchFrames;
    text.replace(text.find(library), library.size(), file);
    const Analysis a = analyze(
        test::traceOf(test::kTrainer + text + "repeat 300 every 100ms\n" +
                      "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n"
                      "0ms stack_slice thread=1 duration=40ms stack=6 samples=5\n"
                      "50ms stack_slice thread=1 duration=40ms stack=7 samples=5\n"
                      "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    const Finding* logs = test::find(a, "periodic.logging");
    REQUIRE(logs);
    return std::pair(logs->title, logs->advice.at(0).id);
  };
  CHECK(found("/u/lib/python3.11/logging/__init__.py").second == "rarer_logging");
  const auto profiled = found("/u/lib/python3.11/site-packages/torch/profiler/profiler.py");
  CHECK(profiled.first == "A profiler in the program delays the steps");
  CHECK(profiled.second == "no_profiler");
}

TEST_CASE("data that the loop makes beside its loader are the loop's, or samples it gets itself") {
  const auto found = [](const std::string& function) {
    const Analysis a = analyze(test::traceOf(
        test::kTrainer + test::kWorker + "manifest cores_usable=4\n" +
        "0 stack stack=1 file=\"train.py\" function=\"main\" line=9\n"
        "0 stack stack=2 caller=1 file=\"train.py\" line=31 function=\"" +
        function +
        "\"\n0 stack stack=3 caller=2 file=\"/u/lib/python3.11/site-packages/PIL/Image.py\" "
        "function=\"Image.resize\"\n"
        "0 stack stack=4 caller=1 file=\"/u/lib/python3.11/site-packages/torch/autograd/"
        "__init__.py\" function=\"backward\"\n"
        "0 loader process=1 loader=1 kind=\"torch.DataLoader\" workers=1 batch_size=4\n"
        "0 iterator thread=1 loader=1 epoch=1 key=5 duration=1ms\n"
        "0 worker thread=2 key=5 worker=0 workers=1\n"
        "repeat 300 every 100ms\n"
        "4ms task thread=2 key=5 worker=0 batch=0+1*i fetch_begin=0 fetch_end=5ms put_end=6ms "
        "cpu=5ms\n"
        "10ms fetch thread=1 loader=1 epoch=1 duration=1ms cpu=1ms batch=0+1*i worker=0 ready=1\n"
        "10ms slice thread=1 duration=90ms run=90ms samples=9 wait=running\n"
        "15ms stack_slice thread=1 duration=30ms stack=3 samples=4\n"
        "55ms stack_slice thread=1 duration=40ms stack=4 samples=5\n"
        "100ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
    const Finding* f = test::find(a, "transform.in_process");
    REQUIRE(f);
    return std::pair(f->shareRatio, f->advice.at(0).id);
  };
  CHECK(near(found("mix").first, 0.45, 0.06));  // four of nine samples
  CHECK(found("mix").second == "into_loader");
  CHECK(found("Photos.__getitem__").second == "keep_of_samples");
}

TEST_CASE("samples that saw the same in a row are one witness") {
  // One sample of a second and 99 short ones: an interval as of a few samples, not of two hundred.
  SampleSum apart, together;
  int witness[100];
  for (int i = 0; i < 100; ++i) apart.add(&witness[i]);
  for (int i = 0; i < 100; ++i) together.add(&witness[0]);
  CHECK(near(apart.effective(), 100, 1e-9));
  CHECK(near(together.effective(), 1, 1e-9));
}

TEST_CASE("a share has Wilson's interval") {
  SampleSum all;
  int witness[100];
  for (int& w : witness) all.add(&w);
  const auto half = shareOf(50, all);
  CHECK(near(half.value, 0.5, 1e-9));
  CHECK(near(half.low, 0.4189, 1e-3));  // statsmodels proportion_confint(50, 100, 0.1, "wilson")
  CHECK(near(half.high, 0.5811, 1e-3));
  const auto none = shareOf(0, all);
  CHECK(none.low == 0);
  CHECK(near(none.high, 0.0263, 1e-3));
  const auto nothing = shareOf(0, SampleSum{});
  CHECK(nothing.low == 0);
  CHECK(nothing.high == 1);
}

TEST_CASE("own Python counts only with the lock held and no library's Python below") {
  const auto withGil = [](const std::string& gil) {
    return analyze(test::traceOf(
        fetching("75ms stack_slice thread=1 duration=30ms stack=1 samples=4 gil=" + gil + "\n")));
  };
  CHECK(test::find(withGil("holds"), "compute.python_overhead"));
  CHECK(!test::find(withGil("released"), "compute.python_overhead"));
  CHECK(!test::find(withGil("unknown"), "compute.python_overhead"));
}

TEST_CASE("own Python under a library that asks for data is not the step's") {
  const auto under = [](const std::string& file) {
    return analyze(test::traceOf(
        test::kTrainer + "0 stack stack=1 file=\"/u/site-packages/" + file +
        "\" function=\"get\"\n"
        "0 stack stack=2 caller=1 file=\"train.py\" function=\"Rows.__getitem__\" line=17\n"
        "repeat 300 every 100ms\n"
        "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n"
        "5ms stack_slice thread=1 duration=90ms stack=2 samples=10 gil=holds\n"
        "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  };
  const Analysis data = under("keras/src/trainers/data_adapters/py_dataset_adapter.py");
  CHECK(data.verdict.boundBy == "transform");
  CHECK(!test::find(data, "compute.python_overhead"));
  CHECK(test::find(under("keras/src/callbacks/lambda_callback.py"), "compute.python_overhead"));
}

TEST_CASE("samples that miss the thread's work in a loop without a loader leave low confidence") {
  // Of 100 ms two samples in ten find it running; it ran for `ran` ms.
  const auto of = [](int ran) {
    return analyze(test::traceOf(
        test::kTrainer + "0 stack stack=1 file=\"train.py\" function=\"main\" line=20\n" +
        "repeat 200 every 100ms\n"
        "0ms slice thread=1 duration=80ms run=" +
        std::to_string(ran - 20) +
        "ms samples=8 wait=socket\n"
        "10ms stack_slice thread=1 duration=70ms samples=8 stack=1 gil=released\n"
        "80ms slice thread=1 duration=20ms run=20ms samples=2 wait=running\n"
        "90ms stack_slice thread=1 duration=10ms samples=2 stack=1 gil=holds\n"
        "95ms optimizer thread=1 duration=5ms optimizer=1\nend\n"));
  };
  const auto said = [](const Analysis& a) {
    return std::any_of(a.caveats.begin(), a.caveats.end(), [](const std::string& c) {
      return c.find("by its samples 20 %") != std::string::npos;
    });
  };
  const Analysis missed = of(50), found = of(25);
  CHECK(said(missed));
  // It reads for half of the time, not for the 80 % of the samples that find it so.
  REQUIRE(missed.breakdown.phase.has_value());
  CHECK(near(missed.breakdown.phase->extract, 0.5, 0.01));
  CHECK(near(found.breakdown.phase->extract, 0.8, 0.01));
  CHECK_FALSE(said(found));
  REQUIRE_FALSE(missed.findings.empty());
  for (const Finding& f : missed.findings) CHECK(f.confidence == Confidence::kLow);
  REQUIRE_FALSE(found.findings.empty());
}

TEST_CASE("threads that take turns at the lock are found, one thread that waits a little is not") {
  const std::string second = "0 thread thread=2 process=1 tid=101\n";
  const auto waits = [&](int waiting) {
    return second + fetching(
                        "15ms stack_slice thread=1 duration=50ms stack=4 samples=6 gil=holds\n"
                        "15ms stack_slice thread=2 stack=4 gil=holds\n"
                        "25ms stack_slice thread=2 stack=4 samples=" +
                        std::to_string(waiting) + " duration=30ms gil=waits\n");
  };
  CHECK(test::find(analyze(test::traceOf(waits(4))), "transform.gil_bound"));
  CHECK(!test::find(analyze(test::traceOf(waits(1))), "transform.gil_bound"));
}

TEST_CASE(
    "a thread that works whether or not a batch is made holds the lock, and makes no batches") {
  // Thread 2 holds the lock in the fetch for 40 of 60 ms and, or not, in the step, where 1 waits.
  const auto of = [&](const std::string& inStep) {
    return analyze(test::traceOf(
        blocked("0 thread thread=2 process=1 tid=101\n"
                "0 stack stack=8 file=\"board.py\" function=\"render\" line=7\n" +
                fetching("15ms stack_slice thread=1 duration=50ms stack=4 samples=6 gil=waits\n"
                         "20ms slice thread=2 duration=60ms run=60ms samples=6 wait=running\n"
                         "15ms stack_slice thread=2 duration=50ms stack=8 samples=6 gil=holds\n"
                         "75ms stack_slice thread=1 duration=30ms stack=7 samples=4 gil=waits\n" +
                             inStep,
                         "futex"))));
  };
  const Analysis board =
      of("80ms slice thread=2 duration=20ms run=20ms samples=2 wait=running\n"
         "75ms stack_slice thread=2 duration=20ms stack=8 samples=3 gil=holds\n");
  const Finding* held = test::find(board, "compute.gil_bound");
  REQUIRE(held);
  CHECK(held->hot.function.raw() == "render");
  for (const Ceiling& ceiling : board.ceilings)  // it would hold the wait for the lock
    CHECK((ceiling.stage != "compute" || ceiling.basis != "inferred"));
  CHECK(!test::find(board, "transform.gil_bound"));
  for (const FunctionInfo& f : board.functions) CHECK(f.hot.function.raw() != "render");
  const Analysis pool = of("");
  CHECK(!test::find(pool, "compute.gil_bound"));
}

TEST_CASE(
    "a thread that a fetch waits for at a queue makes batches, though it works all the time") {
  const Analysis a = analyze(test::traceOf(
      blocked("0 thread thread=2 process=1 tid=101\n"
              "0 stack stack=8 file=\"data.py\" function=\"read\" line=7\n"
              "0 stack stack=9 caller=3 file=\"/usr/lib/python3.11/queue.py\" "
              "function=\"Queue.get\" line=1\n" +
              fetching("15ms stack_slice thread=1 duration=50ms stack=9 samples=6 gil=released\n"
                       "20ms slice thread=2 duration=80ms run=80ms samples=8 wait=running\n"
                       "15ms stack_slice thread=2 duration=80ms stack=8 samples=9 gil=holds\n"
                       "75ms stack_slice thread=1 duration=30ms stack=7 samples=4 gil=waits\n",
                       "futex"))));
  CHECK(!test::find(a, "compute.gil_bound"));
  bool named = false;
  for (const FunctionInfo& f : a.functions) named = named || f.hot.function.raw() == "read";
  CHECK(named);
}

TEST_CASE("a run nobody steps in gets its phases from its main thread's stacks") {
  const Analysis a =
      analyze(test::traceOf(test::kTrainer + kFetchFrames +
                            "repeat 10 every 1s\n"
                            "0 slice thread=1 duration=1s run=1s samples=100 wait=running\n"
                            "10ms stack_slice thread=1 duration=490ms stack=4 samples=50\n"
                            "510ms stack_slice thread=1 duration=490ms stack=7 samples=50\n"
                            "end\n"));
  CHECK(a.steps.count == 0);
  CHECK(a.breakdown.scope == "run");
  REQUIRE(a.breakdown.phase.has_value());
  CHECK(near(a.breakdown.phase->transform, 0.5, 0.02));
  CHECK(near(a.breakdown.phase->compute, 0.5, 0.02));
}

TEST_CASE("the first sample of a thread stands for no time before the thread") {
  // Of each thread one sample opens a file, and five resize; none lives longer than 60 ms.
  std::string threads;
  for (int i = 0; i < 40; ++i) {
    const std::string begin = std::to_string(5000 + 100 * i);
    const auto at = [&](int more) { return std::to_string(5000 + 100 * i + more) + "ms "; };
    const std::string id = std::to_string(i + 2), thread = "thread=" + id;
    threads += at(0) + "thread " + thread + " process=1 tid=" + std::to_string(200 + i) +
               " name=\"pool\"\n" + at(10) + "stack_slice " + thread + " stack=5\n" + at(20) +
               "stack_slice " + thread + " duration=40ms stack=4 samples=5\n" + at(60) +
               "thread_gone " + thread + "\n";
  }
  const Trace trace = test::traceOf(test::kTrainer + kFetchFrames + threads);
  Nanos first{}, all{};
  for (const ThreadLife& thread : trace.threads)
    if (thread.id.value > 1)
      eachSample(trace, thread, Nanos{}, 10s, [&](const Sample& sample) {
        all += sample.weight;
        if (sample.stack->stack.value == 5) first += sample.weight;
      });
  CHECK(near(seconds(first) / seconds(all), 1 / 6.0, 0.01));
}

TEST_CASE("a sample of a long run, of which not all are held, stands for the time to the last") {
  Trace trace = test::traceOf(test::kTrainer + kFetchFrames +
                              "1s stack_slice thread=1 stack=4\n7s stack_slice thread=1 stack=5\n"
                              "60s stack_slice thread=1 stack=4\n");
  const auto weights = [&] {
    std::vector<Nanos> all;
    eachSample(trace, trace.threads[0], Nanos{}, 100s,
               [&](const Sample& sample) { all.push_back(sample.weight); });
    return all;
  };
  CHECK(weights() == std::vector<Nanos>{1s, 1s, 1s});
  trace.sampledEvery = 3s;
  CHECK(weights() == std::vector<Nanos>{1s, 6s, 12s});
}

TEST_CASE("the first sample after a pause stands for the time since the pause, not for the pause") {
  // Logging seen once right after each pause of 40 ms, the backward pass nine times.
  const std::string job = test::kTrainer + kFetchFrames + "repeat 300 every 100ms\n" +
                          "0ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n"
                          "45ms stack_slice thread=1 stack=6\n"
                          "50ms stack_slice thread=1 duration=50ms stack=7 samples=11\n"
                          "95ms optimizer thread=1 duration=5ms optimizer=1\n";
  const auto logging = [&](const std::string& pause) {
    const Trace trace = test::traceOf(job + pause + "end\n");
    const TrainerFacts facts = refinedFacts(trace);
    return facts.stacks.overheads[static_cast<std::size_t>(OverheadKind::kLogging)] /
           facts.stacks.trainerTime;
  };
  CHECK(near(logging(""), 0.45));
  CHECK(near(logging("0ms pause duration=40ms\n"), 5 / 60.0));
}

namespace {

// The main threads of two processes, each with so many samples a second: of who trains, and `rows`.
double computeBeside(const std::string& frames, const std::string& rows) {
  const Analysis a =
      analyze(test::traceOf(test::kTrainer + kFetchFrames +
                            "0 process process=2 parent=1 pid=102 comm=\"python3\"\n"
                            "0 thread thread=2 process=2 tid=102 name=\"python3\"\n" +
                            frames + "repeat 10 every 1s\n" +
                            "0 slice thread=1 duration=1s run=1s samples=100 wait=running\n"
                            "10ms stack_slice thread=1 duration=890ms stack=7 samples=90\n"
                            "0 slice thread=2 duration=1s run=1s samples=100 wait=running\n" +
                            rows + "end\n"));
  return a.breakdown.phase ? a.breakdown.phase->compute : -1;
}

}  // namespace

TEST_CASE(
    "neither a worker nor a launcher that was attached to trains, however many samples it has") {
  CHECK(near(computeBeside("0 stack stack=20 file=\"/u/site-packages/torch/utils/data/_utils/"
                           "worker.py\" function=\"_worker_loop\" line=9\n"
                           "0 stack stack=21 caller=20 file=\"train.py\" "
                           "function=\"Data.__getitem__\" line=9\n",
                           "10ms stack_slice thread=2 duration=490ms stack=21 samples=50\n"
                           "510ms stack_slice thread=2 duration=490ms stack=20 samples=50\n"),
             1, 0.02));
  CHECK(near(computeBeside("0 stack stack=20 file=\"launch.py\" function=\"main\" line=16\n",
                           "10ms stack_slice thread=2 duration=980ms stack=20 samples=99\n"),
             1, 0.02));
}
