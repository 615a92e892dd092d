// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/ranks.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

// Two ranks of 100 steps of 100 ms, sampled each 10 ms: stack 1 is the program at work, stack 2
// its collective, stack 3 its backward. `steps` says what each does in two steps of 100 ms.
std::string ranks(const std::string& steps) {
  return "0 process process=1 pid=101\n0 thread thread=1 process=1 tid=101\n"
         "0 process process=2 pid=102\n0 thread thread=2 process=2 tid=102\n"
         "manifest cores_online=4\nmanifest cores_usable=4\n"
         "0 framework process=1 name=\"torch\"\n"
         "0 stack stack=1 function=\"train\" file=\"/home/me/train.py\" line=3\n"
         "0 stack stack=2 caller=1 function=\"all_reduce\" "
         "file=\"/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py\" line=9\n"
         "0 stack stack=3 caller=1 function=\"backward\" "
         "file=\"/usr/lib/python3/dist-packages/torch/autograd/__init__.py\" line=9\n"
         "repeat 50 every 200ms\n"
         "1090ms optimizer thread=1 optimizer=1\n1190ms optimizer thread=1 optimizer=1\n"
         "1090ms optimizer thread=2 optimizer=1\n1190ms optimizer thread=2 optimizer=1\n" +
         steps + "end\n";
}

// The thread's samples from `at`: `work` of them at work, then `wait` in `stack`, 10 ms apart.
std::string samples(int thread, int at, int work, int wait, int stack = 2) {
  const auto line = [&](int from, int count, int in, const char* wait_) {
    if (count == 0) return std::string();
    const std::string t = " thread=" + std::to_string(thread);
    const std::string n = std::to_string(count);
    return std::to_string(from) + "ms slice" + t + " duration=" + n +
           "0ms run=" + (wait_ == std::string("running") ? n + "0ms" : std::string("0")) +
           " samples=" + n + " wait=" + wait_ + "\n" + std::to_string(from + 10) +
           "ms stack_slice" + t + " duration=" + std::to_string(10 * (count - 1)) +
           "ms stack=" + std::to_string(in) + " samples=" + n + "\n";
  };
  return line(at, work, 1, "running") + line(at + 10 * work, wait, stack, "futex");
}

}  // namespace

TEST_CASE("one rank late in each step is the one that the other waits for") {
  // Rank 1 works 30 of 100 ms and waits 60, rank 2 works 90 of them.
  const Analysis a = analyze(traceOf(ranks(samples(1, 1090, 3, 7) + samples(1, 1190, 3, 7) +
                                           samples(2, 1090, 10, 0) + samples(2, 1190, 10, 0))));
  REQUIRE(a.trainers.size() == 2);
  REQUIRE(a.trainers[0].breakdown.phase);
  CHECK(near2(a.trainers[0].breakdown.phase->comm, 0.7));
  CHECK(near2(a.trainers[1].breakdown.phase->comm, 0));
  const Finding* f = find(a, "comm.straggler_rank");
  REQUIRE(f);
  CHECK(near2(f->shareRatio, 0.7));
  bool named = false;
  for (const auto& e : f->evidence)
    named = named || e.text.find("process 102 ") != std::string::npos;
  CHECK(named);
  CHECK(find(a, "comm.rank_imbalance") == nullptr);
}

TEST_CASE("what trained before the ranks is none of them, though it came first") {
  std::string text = ranks(samples(1, 1090, 3, 7) + samples(1, 1190, 3, 7) +
                           samples(2, 1090, 10, 0) + samples(2, 1190, 10, 0));
  for (const char* word : {"process=1", "thread=1 ", "pid=101", "tid=101"}) {
    std::string later = word;
    std::replace(later.begin(), later.end(), '1', '3');
    if (word[1] == 'i') later = std::string(word, 4) + "103";
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += later.size())
      text.replace(at, later.size(), later);
  }
  const Analysis a =
      analyze(traceOf("0 process process=1 pid=101\n0 thread thread=1 process=1 tid=101\n"
                      "repeat 50 every 10ms\n100ms optimizer thread=1 optimizer=1\nend\n" +
                      text));
  REQUIRE(a.trainers.size() == 3);
  CHECK(find(a, "comm.straggler_rank"));
}

TEST_CASE(
    "a trainer's rank is what it reported, else what the run's environment gave the only one") {
  const std::string trained = ranks(samples(1, 1090, 3, 7) + samples(1, 1190, 3, 7) +
                                    samples(2, 1090, 10, 0) + samples(2, 1190, 10, 0));
  const Analysis annotated =
      analyze(traceOf("0 framework process=1 name=\"torch\" rank=4\n"
                      "0 framework process=2 name=\"torch\" rank=5\n" +
                      trained));
  REQUIRE(annotated.trainers.size() == 2);
  CHECK(annotated.trainers[0].rank == 4);
  CHECK(annotated.trainers[1].rank == 5);
  REQUIRE(find(annotated, "comm.straggler_rank"));
  CHECK(find(annotated, "comm.straggler_rank")
            ->evidence[0]
            .text.starts_with("rank 5 (process 102) "));
  Trace trace = traceOf(trained);
  trace.manifest.environment = {{"RANK", Untrusted("3")}};
  CHECK(rankOf(trace, ProcessId{1}, true) == 3);
  CHECK_FALSE(rankOf(trace, ProcessId{1}, false).has_value());  // there are two: it is not theirs
}

TEST_CASE("where samples are too few, a rank's blocked time says that it waits for the other") {
  const auto slices = [](int thread, int run) {  // of each step of 100 ms; no stack was seen
    const std::string rest = "ms samples=1 wait=futex\n", t = " thread=" + std::to_string(thread);
    return "1090ms slice" + t + " duration=100ms run=" + std::to_string(run) + rest +
           "1190ms slice" + t + " duration=100ms run=" + std::to_string(run) + rest;
  };
  const std::string both = ranks(slices(1, 30) + slices(2, 90));
  const std::string annotated =
      "0 framework process=1 name=\"torch\" rank=0\n0 framework process=2 name=\"torch\" rank=1\n";
  const Analysis a = analyze(traceOf(annotated + both));
  REQUIRE(a.trainers.size() == 2);
  CHECK(near2(a.trainers[0].breakdown.phase->comm, 0.6));
  CHECK(near2(a.trainers[1].breakdown.phase->comm, 0));
  REQUIRE(find(a, "comm.straggler_rank"));
  CHECK(a.verdict.boundBy == "comm");
  // Two programs side by side that are no ranks do not wait for each other.
  const Analysis strangers = analyze(traceOf(both));
  CHECK(near2(strangers.trainers[0].breakdown.phase->comm, 0));
  CHECK(find(strangers, "comm.straggler_rank") == nullptr);
}

TEST_CASE("a rank that sleeps in its steps is late, though it is blocked as long as the other") {
  // 40 steps of 250 ms, of which each thread runs 25; a sample every half second.
  const auto run = [](const std::string& first, const std::string& second) {
    const auto slices = [](int thread, const std::string& wait) {
      return "1s slice thread=" + std::to_string(thread) +
             " duration=500ms run=50ms samples=1 wait=" + wait + "\n";
    };
    std::string text = ranks("").substr(0, ranks("").find("repeat"));
    for (const int rank : {0, 1})
      text += "0 framework process=" + std::to_string(rank + 1) +
              " name=\"torch\" rank=" + std::to_string(rank) + "\n";
    text +=
        "repeat 40 every 250ms\n1s optimizer thread=1 optimizer=1\n"
        "1s optimizer thread=2 optimizer=1\nend\nrepeat 20 every 500ms\n";
    return analyze(traceOf(text + slices(1, first) + slices(2, second) + "end\n"));
  };
  const Analysis a = run("futex", "sleep");
  REQUIRE(a.trainers.size() == 2);
  CHECK(near2(a.trainers[0].breakdown.phase->comm, 0.9));
  CHECK(near2(a.trainers[1].breakdown.phase->comm, 0));
  const Finding* f = find(a, "comm.straggler_rank");
  REQUIRE(f);
  CHECK(f->evidence[0].text.starts_with("rank 1 (process 102) "));
  for (const std::string alike : {"sleep", "futex"})
    CHECK(find(run(alike, alike), "comm.straggler_rank") == nullptr);
}

TEST_CASE("two samples that found a rank asleep say nothing of it") {
  const auto slices = [](int thread, const std::string& wait) {  // of which one tenth runs
    const std::string rest = " thread=" + std::to_string(thread) +
                             " duration=5s run=500ms samples=1 wait=" + wait + "\n";
    return "1s slice" + rest + "6s slice" + rest;
  };
  const std::string annotated =
      "0 framework process=1 name=\"torch\" rank=0\n"
      "0 framework process=2 name=\"torch\" rank=1\n";
  const Analysis a =
      analyze(traceOf(annotated + ranks("") + slices(1, "futex") + slices(2, "sleep")));
  REQUIRE(a.trainers.size() == 2);
  CHECK(near2(a.trainers[0].breakdown.phase->comm, 0));
  CHECK(find(a, "comm.straggler_rank") == nullptr);
}

TEST_CASE("a rank is late, too, where much of each collective is the sending itself") {
  const Analysis a = analyze(traceOf(ranks(samples(1, 1090, 4, 6) + samples(1, 1190, 4, 6) +
                                           samples(2, 1090, 6, 4) + samples(2, 1190, 6, 4))));
  const Finding* f = find(a, "comm.straggler_rank");
  REQUIRE(f);
  CHECK(f->rank == 1);
  CHECK(near2(f->shareRatio, 0.2));
  REQUIRE(f->evidence.size() == 2);
  CHECK(f->evidence[1].text == "it computes 60 % of its time, the others 40 %");
}

TEST_CASE("ranks that are late by turns, one more often, are no straggler") {
  // In one step rank 1 waits 60 ms for rank 2, in the next rank 2 30 ms for rank 1.
  const Analysis a = analyze(traceOf(ranks(samples(1, 1090, 4, 6) + samples(1, 1190, 10, 0) +
                                           samples(2, 1090, 10, 0) + samples(2, 1190, 7, 3))));
  CHECK(find(a, "comm.straggler_rank") == nullptr);
  CHECK(find(a, "comm.rank_imbalance") != nullptr);
}

TEST_CASE("ranks late by turns: half of what they wait could be saved") {
  // In one step rank 1 waits 60 ms for rank 2, in the next rank 2 as long for rank 1.
  const Analysis a = analyze(traceOf(ranks(samples(1, 1090, 4, 6) + samples(1, 1190, 10, 0) +
                                           samples(2, 1090, 10, 0) + samples(2, 1190, 4, 6))));
  const Finding* f = find(a, "comm.rank_imbalance");
  REQUIRE(f);
  CHECK(near2(f->shareRatio, 0.3));
  CHECK(find(a, "comm.collective_bound") == nullptr);
  CHECK(find(a, "comm.straggler_rank") == nullptr);
  REQUIRE_FALSE(f->advice.empty());
  CHECK(f->advice[0].id == "balance_batches");
}

TEST_CASE("ranks with devices share their host though no collective of theirs is seen") {
  const Trace trace = traceOf(ranks(""));
  std::vector<TrainerFacts> facts;
  for (std::uint32_t i = 1; i <= 2; ++i) {
    facts.push_back(attribute(trace, {ProcessId{i}, ThreadId{i}}));
    facts.back().device.devices.emplace_back();
  }
  const RankBalance balance = balanceRanks(trace, {&facts[0], &facts[1]});
  CHECK(balance.ranks.empty());
  CHECK(balance.together == 2);
}

TEST_CASE("ranks that wait alike wait for the link, not for each other") {
  const Analysis a = analyze(traceOf(ranks(samples(1, 1090, 7, 3) + samples(1, 1190, 7, 3) +
                                           samples(2, 1090, 6, 4) + samples(2, 1190, 7, 3))));
  CHECK(find(a, "comm.rank_imbalance") == nullptr);
  CHECK(find(a, "comm.straggler_rank") == nullptr);
  const Finding* f = find(a, "comm.collective_bound");
  REQUIRE(f);
  CHECK(near2(f->shareRatio, 0.3));
  REQUIRE(f->advice.size() == 1);
  CHECK(near2(1 / *f->advice[0].predicted.speedup, 0.85));
  CHECK(near2(1 / *f->advice[0].predicted.high, 0.715));
}

TEST_CASE("blocked in backward while nothing of the process works is a wait for the other ranks") {
  const std::string uneven = samples(1, 1090, 3, 7, 3) + samples(1, 1190, 3, 7, 3) +
                             samples(2, 1090, 10, 0) + samples(2, 1190, 10, 0);
  const Analysis a = analyze(traceOf(ranks(uneven)));
  REQUIRE(a.trainers.size() == 2);
  CHECK(near2(a.trainers[0].breakdown.phase->comm, 0.7));
  REQUIRE(find(a, "comm.straggler_rank"));
  // A team's thread at work beside it: the wait is for that.
  const std::string team =
      "0 thread thread=3 process=1 tid=111\n1s slice thread=3 duration=12s run=11s samples=1200 "
      "wait=running\n";
  const Analysis busy = analyze(traceOf(ranks(uneven) + team));
  CHECK(near2(busy.trainers[0].breakdown.phase->comm, 0));
  // One process that trains alone waits for nobody.
  const Analysis alone = analyze(traceOf(
      "0 process process=1 pid=101\n0 thread thread=1 process=1 tid=101\n"
      "0 stack stack=3 function=\"backward\" file=\"/x/torch/autograd/__init__.py\" line=9\n"
      "repeat 100 every 100ms\n1090ms optimizer thread=1 optimizer=1\n" +
      samples(1, 1090, 0, 10, 3) + "end\n"));
  CHECK(near2(alone.trainers[0].breakdown.phase->comm, 0));
}

TEST_CASE("a wait for other ranks that is annotated twice, one inside the other, counts once") {
  // Two ranks of 40 steps of 100 ms, of which both wait 30 ms in each.
  const Trace trace = traceOf(
      "0 process process=1 pid=101\n0 thread thread=1 process=1 tid=101\n"
      "0 process process=2 pid=102\n0 thread thread=2 process=2 tid=102\n"
      "repeat 40 every 100ms\n"
      "1s span thread=1 duration=30ms phase=comm source=mark name=\"reduce all\"\n"
      "1s span thread=1 duration=30ms phase=comm source=mark name=\"reduce one\"\n"
      "1s span thread=2 duration=30ms phase=comm source=mark name=\"reduce all\"\nend\n");
  std::vector<TrainerFacts> trainers(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    TrainerFacts& t = trainers[rank];
    t.process = ProcessId{rank + 1};
    t.thread = ThreadId{rank + 1};
    t.windowBegin = 1s;
    t.windowEnd = 5s;
    t.split.comm = 1200ms;
    t.split.compute = 2800ms;
    for (int i = 0; i < 40; ++i) {
      Step step;
      step.begin = 1s + i * 100ms;
      step.end = step.begin + 100ms;
      t.steps.push_back(step);
    }
  }
  const RankBalance balance = balanceRanks(trace, {&trainers[0], &trainers[1]});
  CHECK(balance.compared == 40);
  CHECK(balance.uneven == 0);
  CHECK(balance.saved == 0);
}
