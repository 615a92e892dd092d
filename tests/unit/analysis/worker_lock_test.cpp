// SPDX-License-Identifier: MIT
// Workers that wait for each other's lock, and those that wait for something of their own.
#include "analysis/blame/samples/worker_lock.h"

#include "tests/unit/analysis/found.h"
#include "tests/unit/analysis/near.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

std::string slice(int thread, int begin, int length, const std::string& wait) {
  return std::to_string(begin) + "ms slice thread=" + std::to_string(thread) +
         " duration=" + std::to_string(length) + "ms samples=" + std::to_string(length / 10) +
         " wait=" + wait + "\n";
}

// In each 100 ms two workers make a batch, and wait in a lock for `waits` ms: one at the begin, the
// other `apart` ms later. What they do else is to sleep. `more`: rows of each 100 ms.
std::string locking(int waits, int apart, const std::string& more = "") {
  std::string rows;
  for (const int thread : {2, 3}) {
    const int from = 1000 + (thread - 2) * apart, to = from + waits;
    if (from > 1000) rows += slice(thread, 1000, from - 1000, "sleep");
    rows += slice(thread, from, waits, "futex");
    if (to < 1100) rows += slice(thread, to, 1100 - to, "sleep");
  }
  return kTrainer + kWorker +
         "0 process process=3 parent=1 pid=103 comm=\"pt_data_worker\"\n"
         "0 thread thread=3 process=3 tid=103 name=\"pt_data_worker\"\n"
         "0 thread thread=4 process=2 tid=104\n"
         "0 thread thread=5 process=3 tid=105\n"
         "0 loader process=1 loader=1 kind=\"torch.DataLoader\" batch_size=8 prefetch=2 workers=2\n"
         "900ms iterator thread=1 loader=1 epoch=1 key=7 duration=1ms\n"
         "901ms worker thread=2 key=7 worker=0 workers=2\n"
         "901ms worker thread=3 key=7 worker=1 workers=2\n"
         "repeat 200 every 100ms\n"
         "1000ms task thread=2 key=7 batch=0+2*i fetch_begin=0 fetch_end=99ms put_end=100ms "
         "cpu=1ms\n"
         "1000ms task thread=3 key=7 batch=1+2*i fetch_begin=0 fetch_end=99ms put_end=100ms "
         "cpu=1ms\n"
         "1010ms fetch thread=1 loader=1 epoch=1 worker=0 batch=0+2*i duration=90ms\n"
         "1102ms optimizer thread=1 optimizer=1 duration=2ms\n"
         "1105ms fetch thread=1 loader=1 epoch=1 worker=1 batch=1+2*i duration=1ms\n"
         "1107ms optimizer thread=1 optimizer=1 duration=2ms\n" +
         rows + more + "end\n";
}

const Advice* offered(const Analysis& a, std::string_view id) {
  for (const Finding& f : a.findings)
    for (const Advice& advice : f.advice)
      if (advice.id == id) return &advice;
  return nullptr;
}

}  // namespace

TEST_CASE("workers that take turns at a lock are no faster for being more") {
  const Analysis a = analyze(traceOf(locking(50, 50)));
  const Finding* lock = test::find(a, "transform.worker_lock");
  REQUIRE(lock);
  CHECK(lock->rank == 1);
  CHECK(near(lock->shareRatio, 0.91, 0.02));  // of 50 ms a step 45.5 are waited
  CHECK(lock->confidence == Confidence::kHigh);
  const Advice* without = offered(a, "share_no_lock");
  REQUIRE(without);
  CHECK(near(*without->predicted.high, 2, 0.15));  // what each waited, the other worked
  CHECK_FALSE(offered(a, "more_workers"));
  CHECK(a.verdict.boundBy == "transform");  // though nothing says what they sleep for
  CHECK_FALSE(a.verdict.withheld);
}

TEST_CASE("workers that wait at the same time do not wait for each other") {
  const Analysis a = analyze(traceOf(locking(50, 0)));
  CHECK_FALSE(test::find(a, "transform.worker_lock"));
  CHECK(offered(a, "more_workers"));
}

// With samples further apart than the lock is held, all seem to wait at once.
TEST_CASE("a lock of multiprocessing is shared, however short the times are for which it is held") {
  const auto found = [](const std::string& file) {
    return analyze(
        traceOf("0 stack stack=1 file=\"train.py\" function=\"D.__getitem__\" line=10\n"
                "0 stack stack=2 caller=1 file=\"/usr/lib/python3.11/" +
                file + "\" function=\"SemLock.__enter__\" line=95\n" +
                locking(90, 0,
                        "1010ms stack_slice thread=2 duration=80ms stack=2 samples=9\n"
                        "1010ms stack_slice thread=3 duration=80ms stack=2 samples=9\n")));
  };
  const Analysis a = found("multiprocessing/synchronize.py");
  const Finding* lock = test::find(a, "transform.worker_lock");
  REQUIRE(lock);
  CHECK(lock->rank == 1);
  CHECK(offered(a, "share_no_lock"));
  CHECK_FALSE(offered(a, "more_workers"));
  CHECK_FALSE(test::find(found("mine/synchronize.py"), "transform.worker_lock"));
}

TEST_CASE("a worker that waits while a thread of its own works waits for that") {
  const Analysis a = analyze(
      traceOf(locking(50, 50, slice(4, 1000, 100, "running") + slice(5, 1000, 100, "running"))));
  CHECK_FALSE(test::find(a, "transform.worker_lock"));
  CHECK(offered(a, "more_workers"));
  // One that waits, too, has no lock that it could release.
  const std::string idle = slice(4, 1000, 100, "futex") + slice(5, 1000, 100, "pipe");
  CHECK(test::find(analyze(traceOf(locking(50, 50, idle))), "transform.worker_lock"));
}

TEST_CASE("how long a lock is held follows from how long workers wait for it") {
  // Of two that wait a fifth of the time each, by the model of machines and one repairer: as long
  // under the lock as between, 1 : 2 : 2 for nobody, one and both at the lock.
  const Analysis a = analyze(traceOf(locking(20, 50)));
  const Finding* lock = test::find(a, "transform.worker_lock");
  REQUIRE(lock);
  REQUIRE(lock->evidence.size() == 4);
  CHECK(equals(lock->evidence[3].value, 0.8, 0.02));  // "the lock is held 40 ms of 50 ms per step"
  CHECK(offered(a, "more_workers"));                  // 40 of 50 ms: a quarter faster is possible
}
