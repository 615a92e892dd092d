// SPDX-License-Identifier: MIT
#include "analysis/timeline.h"

#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

// A trace and its trainer's line, which points into it.
struct Read {
  explicit Read(const std::string& text)
      : trace(traceOf(kTrainer + text)), line(readTimeline(trace, {ProcessId{1}, ThreadId{1}})) {}
  Trace trace;
  TrainerTimeline line;
};

}  // namespace

TEST_CASE("only the trainer's own fetches count, and of nested ones the outer") {
  const Read read(
      "0 thread thread=2 process=1 tid=102\n"
      "1s fetch thread=2 loader=1 pass=1 duration=5ms batch=0\n"   // a thread that looks ahead
      "1s fetch thread=1 loader=2 pass=2 duration=20ms batch=0\n"  // a data set that holds a loader
      "1005ms fetch thread=1 loader=3 pass=3 duration=10ms batch=0\n"
      "1020ms fetch thread=1 loader=2 pass=2 duration=5ms batch=1\n");
  REQUIRE(read.line.fetches.size() == 2);
  REQUIRE(read.line.passes.size() == 1);
  CHECK(read.line.passes[0].loader == 2);
  CHECK(read.line.passes[0].begin == 1s);
  CHECK(read.line.passes[0].end == 1025ms);
}

TEST_CASE("a pass ends with the fetch that brought nothing, if nothing came after it") {
  SECTION("the usual end, asked for once more") {
    const Read read(
        "1s fetch thread=1 pass=1 batch=0\n"
        "2s fetch thread=1 pass=1 duration=3ms end=1\n"
        "3s fetch thread=1 pass=1 end=1\n");
    CHECK(read.line.passes.at(0).ended);
    CHECK(read.line.passes[0].closing == 2s);
    CHECK(read.line.passes[0].fetches.size() == 1);
    CHECK(read.line.passes[0].lastFetch == 2);
  }
  SECTION("an exception that the loop went past is no end") {
    const Read read(
        "1s fetch thread=1 pass=1 batch=0\n"
        "2s fetch thread=1 pass=1 end=1\n"
        "3s fetch thread=1 pass=1 batch=2\n");
    CHECK(!read.line.passes.at(0).ended);
    const Read later(
        "1s fetch thread=1 pass=1 end=1\n"
        "3s fetch thread=1 pass=1 batch=2\n"
        "4s fetch thread=1 pass=1 end=1\n");
    CHECK(later.line.passes.at(0).ended);
    CHECK(later.line.passes[0].closing == 4s);
  }
}

TEST_CASE("an iterator gives its pass a key and a beginning; one that cannot be its own does not") {
  const Read read(
      "900ms iterator thread=1 loader=1 pass=1 key=7 duration=200ms reused=1\n"  // runs over
      "1s fetch thread=1 loader=1 pass=1 batch=0\n"
      "2s fetch thread=1 loader=1 pass=2 batch=0\n"
      "3s iterator thread=1 loader=1 pass=2 key=8 duration=1ms\n"   // after its first fetch
      "1s iterator thread=2 loader=1 pass=2 key=9 duration=1ms\n"   // another thread's
      "1s iterator thread=1 loader=2 pass=2 key=10 duration=1ms\n"  // another loader's
      "4s fetch thread=1 loader=1 pass=3 batch=0\n");               // none at all
  REQUIRE(read.line.passes.size() == 3);
  CHECK(read.line.passes[0].key == 7);
  CHECK(read.line.passes[0].reused);
  CHECK(read.line.passes[0].iterator == 900ms);
  CHECK(read.line.passes[0].iteratorEnd == 1s);
  for (std::size_t i : {1u, 2u}) {
    CHECK(read.line.passes[i].key == 0);
    CHECK(read.line.passes[i].iterator == read.line.passes[i].begin);
    CHECK(read.line.passes[i].iteratorEnd == read.line.passes[i].begin);
  }
}

TEST_CASE("whether a loader has workers its settings say, or else its batches") {
  const Read read(
      "0 loader process=1 loader=1 workers=2\n"
      "0 loader process=1 loader=2 workers=0\n"
      "0 loader process=9 loader=3 workers=5\n"
      "1s fetch thread=1 loader=1 pass=1 end=1\n"
      "2s fetch thread=1 loader=2 pass=2 batch=0\n"
      "3s fetch thread=1 loader=3 pass=3 batch=0 worker=1\n"
      "4s fetch thread=1 loader=4 pass=4 batch=0\n");
  REQUIRE(read.line.passes.size() == 4);
  CHECK(read.line.passes[0].hasWorkers);
  CHECK(!read.line.passes[1].hasWorkers);
  CHECK(read.line.passes[2].hasWorkers);
  CHECK(!read.line.passes[3].hasWorkers);
}

TEST_CASE("two optimizers that take turns are one series, a new one for each fold another") {
  const Read read(
      "repeat 5 every 10ms\n"
      "1s optimizer thread=1 optimizer=1\n"  // a GAN's two
      "1005ms optimizer thread=1 optimizer=2\n"
      "end\n"
      "1010ms optimizer thread=1 optimizer=2\n"
      "repeat 3 every 10ms\n"
      "2s optimizer thread=1 optimizer=3\n"  // the next fold's
      "end\n"
      "3s optimizer thread=9 optimizer=4\n");  // another thread's
  CHECK(read.line.updates.size() == 5 + 6 + 3);
  REQUIRE(read.line.stepping.size() == 6 + 3);  // the second stepped once more than the first
  CHECK(read.line.stepping.front()->data.optimizer == 2);
  CHECK(read.line.stepping.back()->data.optimizer == 3);
}

TEST_CASE("updates are found by when they begin") {
  const Read read(
      "1s optimizer thread=1 duration=5ms optimizer=1\n"
      "2s optimizer thread=1 duration=5ms optimizer=1\n");
  CHECK(read.line.firstStep(0s, 3s)->at == 1s);
  CHECK(read.line.lastStep(0s, 3s)->at == 2s);
  CHECK(read.line.lastStep(0s, 2s)->at == 1s);  // the end is not in
  CHECK(read.line.firstStep(1001ms, 2s) == nullptr);
  CHECK(read.line.lastStep(2001ms, Nanos::max()) == nullptr);
}

TEST_CASE("a pass is followed by the next fetch of another, or by the making of its iterator") {
  const Read read(
      "1s fetch thread=1 loader=1 pass=1 batch=0\n"
      "1100ms iterator thread=1 loader=2 pass=2 duration=1ms\n"
      "1200ms fetch thread=1 loader=2 pass=2 batch=0\n"
      "1300ms fetch thread=1 loader=1 pass=1 batch=1\n"
      "2s fetch thread=1 loader=1 pass=3 batch=0\n");
  const TrainerTimeline& line = read.line;
  CHECK(line.nextPass(0, 1s) == 1100ms);
  CHECK(line.nextPass(1, 1200ms) == 1300ms);  // a fetch of a pass that was there already
  CHECK(line.nextPass(2, 2s) == Nanos::max());
  CHECK(line.nextNewPass(1200ms) == 1200ms);
  CHECK(line.nextNewPass(1201ms) == 2s);
  CHECK(line.nextNewPass(2001ms) == Nanos::max());
  CHECK(line.nested(line.passes[1]));
  CHECK(!line.nested(line.passes[0]));
  CHECK(!line.nested(line.passes[2]));
}

TEST_CASE("an iterator made long before its first batch is said to be made ahead") {
  const Read read(
      "1s iterator thread=1 loader=1 pass=1 duration=1ms\n"
      "1s iterator thread=1 loader=2 pass=2 duration=1ms\n"
      "2s fetch thread=1 loader=1 pass=1 batch=0\n"
      "3s fetch thread=1 loader=2 pass=2 batch=0\n");
  CHECK(!read.line.madeAhead(read.line.passes[0]));
  CHECK(read.line.madeAhead(read.line.passes[1]));
}
