// SPDX-License-Identifier: MIT
#include "analysis/steps/timeline.h"

#include "tests/unit/analysis/trainer_timeline.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

using Read = TrainerRead;

namespace {

void checkEnded(const Read& read, Nanos closing) {
  CHECK(read.timeline.epochs.at(0).ended);
  CHECK(read.timeline.epochs[0].closing == closing);
}

}  // namespace

TEST_CASE("only the trainer's own fetches count, and of nested ones the outer") {
  const Read read(
      "0 thread thread=2 process=1 tid=102\n"
      "1s fetch thread=2 loader=1 epoch=1 duration=5ms batch=0\n"   // a thread that reads ahead
      "1s fetch thread=1 loader=2 epoch=2 duration=20ms batch=0\n"  // a data set that holds a
                                                                    // loader
      "1005ms fetch thread=1 loader=3 epoch=3 duration=10ms batch=0\n"
      "1020ms fetch thread=1 loader=2 epoch=2 duration=5ms batch=1\n");
  REQUIRE(read.timeline.fetches.size() == 2);
  REQUIRE(read.timeline.epochs.size() == 1);
  CHECK(read.timeline.epochs[0].loader == 2);
  CHECK(read.timeline.epochs[0].begin == 1s);
  CHECK(read.timeline.epochs[0].end == 1025ms);
}

TEST_CASE("an epoch ends with the fetch that brought nothing, if nothing came after it") {
  SECTION("the usual end, asked for once more") {
    const Read read(
        "1s fetch thread=1 epoch=1 batch=0\n"
        "2s fetch thread=1 epoch=1 duration=3ms end=1\n"
        "3s fetch thread=1 epoch=1 end=1\n");
    checkEnded(read, 2s);
    CHECK(read.timeline.epochs[0].fetches.size() == 1);
  }
  SECTION("an exception that the loop went past is no end") {
    const Read read(
        "1s fetch thread=1 epoch=1 batch=0\n"
        "2s fetch thread=1 epoch=1 end=1\n"
        "3s fetch thread=1 epoch=1 batch=2\n");
    CHECK(!read.timeline.epochs.at(0).ended);
    const Read later(
        "1s fetch thread=1 epoch=1 end=1\n"
        "3s fetch thread=1 epoch=1 batch=2\n"
        "4s fetch thread=1 epoch=1 end=1\n");
    checkEnded(later, 4s);
  }
}

TEST_CASE(
    "an iterator gives its epoch a key and a beginning; one that cannot be its own does not") {
  const Read read(
      "900ms iterator thread=1 loader=1 epoch=1 key=7 duration=200ms reused=1\n"  // runs over
      "1s fetch thread=1 loader=1 epoch=1 batch=0\n"
      "2s fetch thread=1 loader=1 epoch=2 batch=0\n"
      "3s iterator thread=1 loader=1 epoch=2 key=8 duration=1ms\n"   // after its first fetch
      "1s iterator thread=2 loader=1 epoch=2 key=9 duration=1ms\n"   // another thread's
      "1s iterator thread=1 loader=2 epoch=2 key=10 duration=1ms\n"  // another loader's
      "4s fetch thread=1 loader=1 epoch=3 batch=0\n");               // none at all
  REQUIRE(read.timeline.epochs.size() == 3);
  CHECK(read.timeline.epochs[0].key == 7);
  CHECK(read.timeline.epochs[0].reused);
  CHECK(read.timeline.epochs[0].iterator == 900ms);
  CHECK(read.timeline.epochs[0].iteratorEnd == 1s);
  for (std::size_t i : {1u, 2u}) {
    CHECK(read.timeline.epochs[i].key == 0);
    CHECK(read.timeline.epochs[i].iterator == read.timeline.epochs[i].begin);
    CHECK(read.timeline.epochs[i].iteratorEnd == read.timeline.epochs[i].begin);
  }
}

TEST_CASE("one iterator for every evaluation: each series of fetches is an epoch") {
  // Thrice `steps` batches of one loader, then `batches` of the other.
  const auto epochsOf = [](int steps, int batches, bool updates = true) {
    std::string text;
    for (const std::string at : {"1", "2", "3"}) {
      text += "repeat " + std::to_string(steps) + " every 50ms\n" + at +
              "000ms fetch thread=1 loader=1 epoch=1 duration=5ms batch=0\n";
      if (updates) text += at + "040ms optimizer thread=1 duration=5ms optimizer=1\n";
      text += "end\nrepeat " + std::to_string(batches) + " every 50ms\n" + at +
              "600ms fetch thread=1 loader=2 epoch=2 duration=5ms batch=0\nend\n";
    }
    return Read(text).timeline.epochs;
  };
  const std::vector<EpochSpan> epochs = epochsOf(8, 4);
  REQUIRE(epochs.size() == 4);
  CHECK(epochs[0].fetches.size() == 24);
  for (const std::size_t i : {1u, 2u, 3u}) {
    const Nanos begin = std::chrono::seconds(i) + 600ms;
    CHECK(epochs[i].loader == 2);
    CHECK(epochs[i].begin == begin);
    CHECK(epochs[i].end == begin + 155ms);
    CHECK(epochs[i].fetches.size() == 4);
    CHECK(epochs[i].firstFetch == 12 * i - 4);
  }
  CHECK(epochsOf(3, 4).size() == 2);         // a few of one loader, a few of the other, updates
  CHECK(epochsOf(8, 1).size() == 2);         // a batch of another kind now and then
  CHECK(epochsOf(8, 4, false).size() == 2);  // nothing is trained
}

TEST_CASE("whether a loader has workers its settings say, or else its batches") {
  const Read read(
      "0 loader process=1 loader=1 workers=2\n"
      "0 loader process=1 loader=2 workers=0\n"
      "0 loader process=9 loader=3 workers=5\n"
      "1s fetch thread=1 loader=1 epoch=1 end=1\n"
      "2s fetch thread=1 loader=2 epoch=2 batch=0\n"
      "3s fetch thread=1 loader=3 epoch=3 batch=0 worker=1\n"
      "4s fetch thread=1 loader=4 epoch=4 batch=0\n");
  REQUIRE(read.timeline.epochs.size() == 4);
  CHECK(read.timeline.epochs[0].hasWorkers);
  CHECK(!read.timeline.epochs[1].hasWorkers);
  CHECK(read.timeline.epochs[2].hasWorkers);
  CHECK(!read.timeline.epochs[3].hasWorkers);
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
  CHECK(read.timeline.updates.size() == 5 + 6 + 3);
  REQUIRE(read.timeline.stepping.size() == 6 + 3);  // the second stepped once more than the first
  CHECK(read.timeline.stepping.front()->data.optimizer == 2);
  CHECK(read.timeline.stepping.back()->data.optimizer == 3);
}

TEST_CASE("updates are found by when they begin") {
  const Read read(
      "1s optimizer thread=1 duration=5ms optimizer=1\n"
      "2s optimizer thread=1 duration=5ms optimizer=1\n");
  CHECK(read.timeline.firstStep(0s, 3s)->at == 1s);
  CHECK(read.timeline.lastStep(0s, 3s)->at == 2s);
  CHECK(read.timeline.lastStep(0s, 2s)->at == 1s);  // the end is not in
  CHECK(read.timeline.firstStep(1001ms, 2s) == nullptr);
  CHECK(read.timeline.lastStep(2001ms, Nanos::max()) == nullptr);
}

TEST_CASE("an epoch is followed by the next fetch of another, or by the making of its iterator") {
  const Read read(
      "1s fetch thread=1 loader=1 epoch=1 batch=0\n"
      "1100ms iterator thread=1 loader=2 epoch=2 duration=1ms\n"
      "1200ms fetch thread=1 loader=2 epoch=2 batch=0\n"
      "1300ms fetch thread=1 loader=1 epoch=1 batch=1\n"
      "2s fetch thread=1 loader=1 epoch=3 batch=0\n");
  const TrainerTimeline& timeline = read.timeline;
  CHECK(timeline.nextEpoch(0, 1s) == 1100ms);
  CHECK(timeline.nextEpoch(1, 1200ms) == 1300ms);  // a fetch of an epoch that was there already
  CHECK(timeline.nextEpoch(2, 2s) == Nanos::max());
  CHECK(timeline.nextNewEpoch(1200ms) == 1200ms);
  CHECK(timeline.nextNewEpoch(1201ms) == 2s);
  CHECK(timeline.nextNewEpoch(2001ms) == Nanos::max());
  CHECK(timeline.nested(timeline.epochs[1]));
  CHECK(!timeline.nested(timeline.epochs[0]));
  CHECK(!timeline.nested(timeline.epochs[2]));
}

TEST_CASE("an iterator made long before its first batch is said to be made ahead") {
  const Read read(
      "1s iterator thread=1 loader=1 epoch=1 duration=1ms\n"
      "1s iterator thread=1 loader=2 epoch=2 duration=1ms\n"
      "2s fetch thread=1 loader=1 epoch=1 batch=0\n"
      "3s fetch thread=1 loader=2 epoch=2 batch=0\n");
  CHECK(!read.timeline.madeAhead(read.timeline.epochs[0]));
  CHECK(read.timeline.madeAhead(read.timeline.epochs[1]));
}
