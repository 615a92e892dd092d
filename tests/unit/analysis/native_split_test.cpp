// SPDX-License-Identifier: MIT
// Decompression inside a call that reads is transform, as far as native samples show it.
#include "tests/unit/analysis/found.h"

using namespace stallprof;
using stallprof::test::near3;

namespace {

// 200 updates of 50 ms: 30 ms under h5py, 20 ms in backward; of the native samples 9 of 20 are in
// `library`.
Breakdown reading(const std::string& library, const std::string& wait) {
  return analyze(test::traceOf(
                     test::kTrainer +
                     "0 stack stack=1 file=\"train.py\" function=\"main\" line=13\n"
                     "0 stack stack=2 caller=1 file=\"/u/site-packages/h5py/_hl/dataset.py\" "
                     "function=\"Dataset.__getitem__\" line=9\n"
                     "0 stack stack=3 caller=1 file=\"/u/site-packages/torch/_tensor.py\" "
                     "function=\"Tensor.backward\" line=9\n"
                     "repeat 200 every 50ms\n"
                     "1000ms slice thread=1 duration=30ms samples=3 " +
                     wait +
                     "\n1005ms stack_slice thread=1 duration=20ms samples=3 stack=2 gil=released\n"
                     "1010ms native thread=1 duration=1ms stack=2 samples=9 file=\"/u/lib/" +
                     library +
                     "\"\n1020ms native thread=1 duration=1ms stack=2 samples=3 "
                     "file=\"/u/lib/libhdf5.so.103\"\n"
                     "1040ms native thread=1 duration=1ms stack=3 samples=8 "
                     "file=\"/u/lib/libblas.so.3\"\n"
                     "1030ms slice thread=1 duration=20ms run=20ms samples=2 wait=running\n"
                     "1035ms stack_slice thread=1 duration=10ms samples=2 stack=3 gil=released\n"
                     "1045ms optimizer thread=1 duration=4ms optimizer=1\nend\n"))
      .breakdown;
}

const std::string kRuns = "run=30ms wait=running";

}  // namespace

TEST_CASE("what a reading call spends in zlib is transform, the rest extract") {
  const Breakdown b = reading("libz.so.1", kRuns);
  REQUIRE(b.phase);
  CHECK(near3(b.phase->transform, 0.45));
  CHECK(near3(b.phase->extract, 0.15));
  CHECK(near3(b.phase->compute, 0.40));
}

TEST_CASE("without decompression a reading call is extract") {
  const Breakdown b = reading("libc.so.6", kRuns);
  REQUIRE(b.phase);
  CHECK(near3(b.phase->extract, 0.60));
}

TEST_CASE("blocked on the file it is extract, whatever its CPU time was for") {
  const Breakdown b = reading("libz.so.1", "wait=file_read");
  REQUIRE(b.phase);
  CHECK(near3(b.phase->extract, 0.60));
}

namespace {

// 200 batches that the trainer makes itself: 40 ms of 60 at a line of sample(), where of 12 native
// samples `inKernel` are in the kernel's function `call`.
Breakdown making(const std::string& call, int inKernel) {
  return analyze(test::traceOf(
                     test::kTrainer +
                     "0 loader process=1 loader=1 workers=0 batch_size=8\n"
                     "0 stack stack=1 file=\"train.py\" function=\"main\" line=13\n"
                     "0 stack stack=2 caller=1 file=\"train.py\" function=\"sample\" line=20\n"
                     "0 stack stack=3 caller=1 file=\"/u/site-packages/torch/_tensor.py\" "
                     "function=\"Tensor.backward\" line=9\n"
                     "repeat 200 every 60ms\n"
                     "1000ms fetch thread=1 loader=1 epoch=1 duration=40ms cpu=40ms batch=0+1*i\n"
                     "1000ms slice thread=1 duration=60ms run=60ms samples=6 wait=running\n"
                     "1005ms stack_slice thread=1 duration=30ms samples=4 stack=2 gil=released\n"
                     "1010ms native thread=1 duration=1ms stack=2 samples=" +
                     std::to_string(12 - inKernel) +
                     " file=\"/usr/bin/python3.11\"\n"
                     "1012ms native thread=1 duration=1ms stack=2 samples=" +
                     std::to_string(inKernel) + " file=\"[kernel]\" function=\"" + call +
                     "\"\n"
                     "1045ms stack_slice thread=1 duration=10ms samples=2 stack=3 gil=released\n"
                     "1046ms native thread=1 duration=1ms stack=3 samples=6 "
                     "file=\"/u/lib/libblas.so.3\"\n"
                     "1050ms optimizer thread=1 duration=4ms optimizer=1\nend\n"))
      .breakdown;
}

}  // namespace

TEST_CASE("what the kernel reads for a line of the user's own is extract, the rest transform") {
  const Breakdown read = making("pread64", 6), opened = making("openat", 3),
                  other = making("page_fault", 6);
  REQUIRE((read.phase && opened.phase && other.phase));
  CHECK(near3(read.phase->extract, 0.33));
  CHECK(near3(read.phase->transform, 0.33));
  CHECK(near3(opened.phase->extract, 0.17));
  CHECK(near3(other.phase->extract, 0));
  CHECK(near3(other.phase->transform, 0.67));
}
