// SPDX-License-Identifier: MIT
// compute.lock_wait: a step that is blocked in the program's own code while nobody works.
#include "tests/unit/analysis/found.h"

using namespace stallprof;

namespace {

// main(): a replay buffer (1) and the model (2); a thread of the program's beside it.
const std::string kFrames =
    "0 thread thread=2 process=1 tid=101 name=\"python3\"\n"
    "0 stack stack=1 file=\"train.py\" function=\"Buffer.sample\" line=13\n"
    "0 stack stack=2 file=\"/u/site-packages/torch/nn/modules/module.py\" "
    "function=\"Module._call_impl\" line=9\n";

// 200 updates of 50 ms: 40 ms at stack 1, in `wait`, 10 ms of the model. `beside`: what the process
// uses of a CPU, the training thread included.
Analysis training(const std::string& wait, const std::string& gil, const std::string& beside,
                  const std::string& more = "") {
  return analyze(test::traceOf(
      "0 host busy=0 job_cpu=0\n10s host busy=2s job_cpu=2s\n" + test::kTrainer + kFrames + more +
      "0 usage process=1 cpu=0\n10s usage process=1 cpu=" + beside + "\nrepeat 200 every 50ms\n" +
      "0ms slice thread=1 duration=40ms samples=4 wait=" + wait +
      "\n5ms stack_slice thread=1 duration=30ms stack=1 samples=4 gil=" + gil +
      "\n40ms slice thread=1 duration=10ms run=10ms samples=2 wait=running\n"
      "43ms stack_slice thread=1 duration=5ms stack=2 samples=2 gil=released\n"
      "49ms optimizer thread=1 duration=1ms optimizer=1\nend\n"));
}

}  // namespace

TEST_CASE("a step that is blocked in its own code while nobody works waits for a lock") {
  const Analysis a = training("futex", "released", "2s");
  const Finding* found = test::find(a, "compute.lock_wait");
  REQUIRE(found);
  CHECK(found->shareRatio > 0.7);  // of 0.8, by when its samples are
  CHECK(found->shareRatio <= 0.8);
  CHECK(found->where.line == 13);
  CHECK(a.findings[0].id == "compute.lock_wait");
  CHECK(*found->advice.at(0).predicted.high > 1 / (1 - found->shareRatio) + 0.1);  // 0.8 blocked
  for (const Ceiling& ceiling : a.ceilings) CHECK(ceiling.stage != "compute");
}

TEST_CASE(
    "what other threads may compute meanwhile, the interpreter's lock and sleep are no lock") {
  CHECK_FALSE(test::find(training("futex", "released", "9s"), "compute.lock_wait"));
  CHECK_FALSE(test::find(training("futex", "waits", "2s"), "compute.lock_wait"));
  CHECK_FALSE(test::find(training("futex", "unknown", "2s"), "compute.lock_wait"));
  CHECK_FALSE(test::find(training("sleep", "released", "2s"), "compute.lock_wait"));
}

TEST_CASE("a function that is blocked is not where operators take the CPU's time") {
  const Analysis a =
      training("futex", "released", "2s",
               "repeat 200 every 50ms\n42ms native thread=1 duration=1ms stack=2 samples=3 "
               "file=\"/u/lib/libtorch_python.so\" function=\"THPVariable_add\"\nend\n");
  const Finding* ops = test::find(a, "compute.small_ops");
  REQUIRE(ops);
  CHECK(ops->hot.function.raw() != "Buffer.sample");
}
