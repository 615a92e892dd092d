// SPDX-License-Identifier: MIT
#include "analysis/describe/describe.h"
#include "analysis/describe/resources.h"
#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace std::chrono_literals;
using stallprof::test::near;
using stallprof::test::traceOf;

namespace {

// A program without Python: 70 samples of its own, 20 of libc, 10 spinning in OpenMP.
const std::string kSolver =
    test::nativeProgram("solve") +
    "0s native thread=1 duration=2s file=\"/opt/solve\" offset=4096 samples=60 "
    "function=\"_ZN5solve4stepEd\"\n"
    "0s native thread=1 duration=2s file=\"/opt/solve\" offset=8192 samples=10 function=\"setup\"\n"
    "2s native thread=1 duration=1s file=\"/lib/libc.so.6\" offset=64 samples=20\n"
    "2s native thread=1 duration=1s file=\"/lib/libgomp.so.1\" offset=64 samples=10\n"
    "4s command_end exit_code=0\n";

// Ten seconds of a thread in a Python stack of `stacks`, and each second's native samples.
Analysis underPython(const std::string& stacks, int stack, const std::string& natives) {
  return analyze(traceOf(stallprof::test::kTrainer + stacks +
                         "repeat 10 every 1s\n"
                         "0 slice thread=1 duration=1s run=1s samples=100 wait=running\n"
                         "10ms stack_slice thread=1 duration=990ms stack=" +
                         std::to_string(stack) + " samples=100 gil=holds\n" + natives +
                         "end\n10s command_end exit_code=0\n"));
}

}  // namespace

TEST_CASE("a program without Python is listed by library and function, most first") {
  const Analysis a = analyze(traceOf(kSolver));
  REQUIRE(a.native);
  CHECK(a.native->samples == 100);
  REQUIRE(a.native->functions.size() == 4);
  const auto& first = a.native->functions[0];
  CHECK(nameOf(first.leaf) == "solve:solve::step");
  CHECK(near(first.leaf.ratio, 0.60));
  CHECK(first.low < first.leaf.ratio);
  CHECK(first.high > first.leaf.ratio);
  CHECK(first.className == "program");
  CHECK(nameOf(a.native->functions[1].leaf) == "libc.so.6");
  CHECK_FALSE(first.below.known());
}

TEST_CASE(
    "spinning and the kernel's part are distinguished; unseen, the kernel's is not measured") {
  const Analysis a = analyze(traceOf(kSolver));
  CHECK(near(a.native->spinRatio, 0.10));
  REQUIRE(a.native->kernelRatio);
  CHECK(*a.native->kernelRatio < 0.001);
  std::string partly = kSolver;
  partly.replace(partly.find("state=full"), 10, "state=partial");
  CHECK_FALSE(analyze(traceOf(partly)).native->kernelRatio);
}

TEST_CASE(
    "a pool is the training thread and those that spin beside it, in the window of its process") {
  const Trace trace = traceOf(
      "0 process process=1 pid=100 comm=\"solve\"\n0 process process=2 pid=101 comm=\"other\"\n"
      "0 thread thread=1 process=1 tid=100\n0 thread thread=2 process=1 tid=102\n"
      "0 thread thread=3 process=1 tid=103\n0 thread thread=4 process=2 tid=101\n"
      "1s native thread=1 duration=2s file=\"/lib/libblas.so\" samples=60\n"
      "1s native thread=1 duration=2s file=\"/lib/libgomp.so.1\" offset=64 samples=20\n"
      "1s native thread=2 duration=2s file=\"/lib/libgomp.so.1\" offset=64 samples=19\n"
      "1s native thread=3 duration=2s file=\"/lib/libgomp.so.1\" offset=64 samples=1\n"
      "1s native thread=4 duration=2s file=\"/lib/libgomp.so.1\" offset=64 samples=50\n"
      "8s native thread=3 duration=1s file=\"/lib/libgomp.so.1\" offset=64 samples=70\n");
  TrainerFacts facts;
  facts.process = ProcessId{1};
  facts.thread = ThreadId{1};
  facts.windowEnd = 5s;
  const Maybe<PoolUse> use = poolUse(trace, facts);
  REQUIRE(use);
  CHECK(near(use->samples, 100));
  CHECK(near(use->spins, 40));
  CHECK(near(use->leaderSpins, 0.25));
  CHECK(near(use->besideWorks, 0));
  CHECK(use->threads == 2);  // also where the training thread itself never waits
  facts.process = ProcessId{3};
  CHECK_FALSE(poolUse(trace, facts));
}

TEST_CASE("under a Python function the native one is named that most of its samples are of") {
  const Analysis a = underPython(
      "0 stack stack=1 file=\"train.py\" line=20 function=\"main\"\n"
      "0 stack stack=2 caller=1 file=\"/usr/lib/python3/dist-packages/PIL/Image.py\" line=9 "
      "function=\"Image.resize\"\n",
      2,
      "10ms native thread=1 duration=1s stack=2 file=\"/lib/_imaging.so\" offset=64 samples=80 "
      "function=\"ImagingResample\"\n"
      "10ms native thread=1 duration=1s stack=2 file=\"/usr/bin/python3.11\" offset=64 samples=20 "
      "function=\"_PyEval_EvalFrameDefault\"\n");
  CHECK(nameOf(stallprof::test::only(a.functions).native) == "_imaging.so:ImagingResample");
  CHECK(near(a.functions[0].native.ratio, 0.80));
  REQUIRE(a.native);
  CHECK(a.native->functions[0].below.function.raw() == "Image.resize");
}

TEST_CASE("a native function of which a few samples alone are under a Python function names none") {
  const auto below = [](const char* under, const char* elsewhere) {
    const std::string gemm = "file=\"/lib/libblas.so\" offset=64 function=\"gemm\" samples=";
    const Analysis a =
        underPython("0 stack stack=1 file=\"train.py\" line=20 function=\"get_batch\"\n", 1,
                    "10ms native thread=1 duration=1s stack=1 " + gemm + under +
                        "\n10ms native thread=1 duration=1s " + gemm + elsewhere + "\n");
    return a.native.value().functions.at(0).below.function.raw();
  };
  CHECK(below("10", "90").empty());
  CHECK(below("60", "40") == "get_batch");
}

TEST_CASE("a pool's samples are its submitter's, but not those that spin") {
  const Analysis a = underPython(
      "0 thread thread=9 process=1 tid=900 name=\"pool\"\n"
      "0 stack stack=1 file=\"train.py\" line=20 function=\"forward\"\n",
      1,
      "10ms native thread=1 duration=1s stack=1 file=\"/lib/libgomp.so.1\" offset=64 samples=30\n"
      "10ms native thread=9 duration=1s stack=1 file=\"/lib/libdnnl.so.3\" offset=64 samples=40 "
      "function=\"conv\"\n"
      "10ms native thread=9 duration=1s stack=1 file=\"/lib/libgomp.so.1\" offset=64 samples=30\n");
  CHECK(nameOf(stallprof::test::only(a.functions).native) == "libdnnl.so.3:conv");
  CHECK(near(a.functions[0].native.ratio, 0.57));  // 40 of 70
  REQUIRE(a.native);
  CHECK(near(a.native->poolRatio, 0.40));  // 40 of 100
}

TEST_CASE("a Python function that is busy with itself has no native one, nor has one hardly seen") {
  const auto with = [](const std::string& natives) {
    return analyze(
        traceOf(stallprof::test::kTrainer +
                "0 stack stack=1 file=\"train.py\" line=20 function=\"main\"\n"
                "repeat 10 every 1s\n"
                "0 slice thread=1 duration=1s run=1s samples=100 wait=running\n"
                "10ms stack_slice thread=1 duration=990ms stack=1 samples=100 gil=holds\n"
                "end\n" +
                natives + "10s command_end exit_code=0\n"));
  };
  const Analysis own = with(
      "1s native thread=1 duration=1s stack=1 file=\"/usr/bin/python3.11\" offset=64 samples=90\n");
  REQUIRE(own.functions.size() == 1);
  CHECK_FALSE(own.functions[0].native.known());
  const Analysis few =
      with("1s native thread=1 duration=1s stack=1 file=\"/lib/a.so\" offset=64 samples=3\n");
  CHECK_FALSE(few.functions.at(0).native.known());
}

TEST_CASE("without samples there is no native part") {
  CHECK_FALSE(analyze(traceOf(stallprof::test::kTrainer)).native);
}
