// SPDX-License-Identifier: MIT
// Shared memory of batches that is unmapped at the line that gets the next is hand-over.
#include "analysis/blame/samples/batch_releases.h"

#include <cmath>

#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

// 200 batches of `workers`, 10 ms of 100 in next(); of nine samples between, four are at `line` of
// the loop, 13 being the one that gets batches; of nine native samples three are in `call`, with no
// stack known.
Analysis releasing(const std::string& call, int workers = 1, int line = 13) {
  const std::string stack = line == 13 ? "1" : "4";
  return analyze(traceOf(
      kTrainer + kWorker +
      "0 loader process=1 loader=1 kind=\"torch.DataLoader\" batch_size=8 prefetch=2 workers=" +
      std::to_string(workers) +
      "\n0 stack stack=1 file=\"train.py\" function=\"main\" line=13\n"
      "0 stack stack=2 caller=1 file=\"/u/site-packages/torch/utils/data/dataloader.py\" "
      "function=\"_BaseDataLoaderIter.__next__\" line=9\n"
      "0 stack stack=3 caller=1 file=\"/u/site-packages/torch/_tensor.py\" "
      "function=\"Tensor.backward\" line=9\n"
      "0 stack stack=4 file=\"train.py\" function=\"main\" line=15\n"
      "900ms iterator thread=1 loader=1 epoch=1 key=7 duration=1ms\n" +
      (workers > 0 ? "901ms worker thread=2 key=7 worker=0 workers=1\n" : "") +
      "repeat 200 every 100ms\n"
      "1000ms fetch thread=1 loader=1 epoch=1 duration=10ms cpu=10ms batch=0+1*i" +
      (workers > 0 ? " worker=0 ready=1" : "") + "\n" +
      (workers > 0 ? "960ms task thread=2 key=7 batch=0+1*i fetch_begin=0 fetch_end=20ms "
                     "put_end=21ms cpu=20ms\n"
                   : "") +
      "1000ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n"
      "1005ms stack_slice thread=1 stack=2\n"
      "1015ms stack_slice thread=1 duration=30ms stack=" +
      stack +
      " samples=4\n"
      "1055ms stack_slice thread=1 duration=40ms stack=3 samples=5\n"
      "1020ms native thread=1 duration=1ms samples=3 file=\"[kernel]\" function=\"" +
      call +
      "\"\n"
      "1022ms native thread=1 duration=1ms stack=" +
      stack +
      " samples=1 file=\"/usr/bin/python3.11\"\n"
      "1060ms native thread=1 duration=1ms stack=3 samples=5 file=\"/u/lib/libblas.so.3\"\n"
      "1095ms optimizer thread=1 duration=4ms optimizer=1\nend\n"));
}

// Of each step: 0.1 in next() besides.
double loadOf(const Analysis& a) { return a.breakdown.phase->load; }

}  // namespace

TEST_CASE("unmapping at the line that gets a worker's batches is load, in proportion") {
  const Analysis a = releasing("munmap");
  CHECK(std::abs(loadOf(a) - (0.1 + 0.9 * 4 / 9 * 0.83)) < 0.02);
  CHECK(std::abs(a.breakdown.phase->compute - 0.9 * (1 - 4.0 / 9 * 0.83)) < 0.02);
  const Finding* ipc = nullptr;
  for (const Finding& f : a.findings)
    if (f.id == "load.ipc") ipc = &f;
  REQUIRE(ipc);
  CHECK(std::abs(ipc->shareRatio - loadOf(a)) < 0.02);
}

TEST_CASE("other system calls, other lines, and batches of the trainer's own are none of it") {
  CHECK(loadOf(releasing("madvise")) < 0.12);
  CHECK(loadOf(releasing("munmap", 1, 15)) < 0.12);
  CHECK(loadOf(releasing("munmap", 0)) < 0.12);
}
